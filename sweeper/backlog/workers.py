"""The coordinator's side of the parsing process: its workers, and what becomes of a request.

One warm process forks workers, and a worker that is left as it was takes the next request too, so that a parse costs
neither an interpreter's start nor a fork. What a worker that had others before can't answer is asked of a new one, so
that only a request's own doing is its outcome.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from sweeper.backlog.parse_server import ANSWERED, ENDED, HEADER, TRAILER

_START = "import sys; sys.path.extend(sys.argv[1:]); from sweeper.backlog.parse_server import main; main()"
_MAX_ANSWER = 256 << 20  # bytes; MAX_FINDINGS of ordinary length take a fifth of it


class Asked:
    """A request that another thread may cancel: the connection of the worker that is at it ends then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._cancelled = False

    def by(self, connection: socket.socket | None) -> None:
        """Whose it is now; nobody's once it was answered."""
        with self._lock:
            self._connection = connection
            self._end()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            self._end()

    def _end(self) -> None:
        if self._cancelled and self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)


class Workers:
    """Its methods block and may be called from any thread. `keep`: how many workers wait for the next request.

    `wall`: seconds that a request may take. `server`: the process that forks them, once there was a request.
    """

    def __init__(self, keep: int, wall: float) -> None:
        self._keep = keep
        self._wall = wall
        self._lock = threading.Lock()
        self.server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._idle: list[socket.socket] = []  # connections of workers that wait

    def ask(self, asked: Asked, line: bytes) -> bytearray | str:
        """The answer to a request, as a document of JSON, or why there is none."""
        until = time.monotonic() + self._wall
        used = self._idle_one()
        data = self._asked(asked, used, line, until) if used is not None else ""
        return self._asked(asked, self._new(), line, until) if isinstance(data, str) else data

    def _asked(self, asked: Asked, connection: socket.socket, line: bytes, until: float) -> bytearray | str:
        stays = False
        try:
            asked.by(connection)
            data, stays = self._exchange(connection, line, until)
        finally:
            asked.by(None)
            self._give_back(connection, stays=stays)
        return data

    def close(self) -> None:
        """Stop the server and every worker; requests in work are given up."""
        with self._lock:
            self._discard()

    def _exchange(self, connection: socket.socket, line: bytes, until: float) -> tuple[bytearray | str, bool]:
        """The answer, or why there is none, and whether the worker takes another request."""
        data = bytearray()
        try:
            connection.settimeout(max(0.001, until - time.monotonic()))
            connection.sendall(line)
            while len(data) < (size := _size(data)):
                connection.settimeout(max(0.001, until - time.monotonic()))
                chunk = connection.recv(1 << 20)
                if not chunk:
                    return _ending(data), False
                data += chunk
                if len(data) > _MAX_ANSWER:
                    return "there are too many findings to hold: narrow the check", False
        except TimeoutError:
            return f"parsing took longer than {self._wall:g} s", False
        except OSError as error:
            return f"the parsing process did not answer: {error}", False
        _, _, stays = HEADER.unpack_from(data)
        # A worker that leaves after its answer is gone at once: how it ended may come along with the answer.
        stays = stays and len(data) == size
        del data[int(size) :]
        del data[: HEADER.size]
        return data, stays

    def _idle_one(self) -> socket.socket | None:
        """The connection of a worker that waits."""
        with self._lock:
            if self.server is not None and self.server.poll() is not None:
                self._discard()  # nobody would end its workers
            while self._idle:
                connection = self._idle.pop()
                if _waits(connection):
                    return connection
                connection.close()
        return None

    def _new(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._hand_over(theirs)
        except BaseException:
            ours.close()
            raise
        return ours

    def _give_back(self, connection: socket.socket, *, stays: bool) -> None:
        """Keep the worker for the next request; one that does not stay ends with its connection."""
        with self._lock:
            if stays and self.server is not None and len(self._idle) < self._keep:
                self._idle.append(connection)
                return
        connection.close()

    def _hand_over(self, theirs: socket.socket) -> None:
        """Give one end to the server, starting it anew if it is not there."""
        with self._lock:
            for again in (True, False):
                if self._control is None:
                    self._start()
                assert self._control is not None
                try:
                    socket.send_fds(self._control, [b"r"], [theirs.fileno()])
                    return
                except OSError:
                    if not again:
                        raise
                    self._discard()

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        # The interpreter runs without site and environment: only the paths that this process has imported from.
        paths = [
            path
            for path in dict.fromkeys([str(Path(__file__).resolve().parent.parent.parent), *sys.path])
            if os.path.isabs(path)
        ]
        with theirs:
            self.server = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, *paths],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # Ctrl-C in the terminal is the coordinator's alone
            )

    def _discard(self) -> None:
        while self._idle:
            self._idle.pop().close()
        if self._control is not None:
            self._control.close()
        if self.server is not None:
            try:
                self.server.wait(timeout=2)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()
        self._control = self.server = None


def _size(data: bytearray) -> float:
    """Bytes of the answer that begins here, with its header; infinite while, or because, none does."""
    if len(data) < HEADER.size or not data.startswith(ANSWERED):
        return math.inf
    return HEADER.size + int(HEADER.unpack_from(data)[1])


def _ending(data: bytearray) -> str:
    """How a worker ended that broke off."""
    tail = data[-TRAILER.size :]
    magic, status = TRAILER.unpack(tail) if len(tail) == TRAILER.size else (b"", 0)
    if magic != ENDED:
        return "the parsing process died"
    code = os.waitstatus_to_exitcode(status)
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "parsing used too much processor time or memory and was stopped"
    return f"the parser crashed ({f'signal {-code}' if code < 0 else f'exit code {code}'})"


def _waits(connection: socket.socket) -> bool:
    """Whether a worker that was left waiting is still there: it would have said how it ended."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
