"""Parsing hostile output outside the coordinator, in a resource-limited child whose crash is an outcome.

One warm process forks workers, and a worker that is left as it was takes the next output too, so that a parse costs
neither an interpreter's start nor a fork. What ends a worker is the outcome of the one request that it worked at.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from sweeper.backlog.classify import classify
from sweeper.backlog.formats import FORMATS
from sweeper.backlog.parse_server import ANSWERED, ENDED, HEADER, TRAILER
from sweeper.backlog.pause import collection_paused
from sweeper.backlog.reading import Reading, from_wire, read
from sweeper.backlog.tools import Tool
from sweeper.errors import ConfigError, SweeperError
from sweeper.records import CheckResult, Listing
from sweeper.sandbox.contract import WORK

T = TypeVar("T")
_START = "import sys; sys.path.extend(sys.argv[1:]); from sweeper.backlog.parse_server import main; main()"
_MAX_ANSWER = 256 << 20  # bytes; MAX_FINDINGS of ordinary length take a fifth of it


class ChildFailed(SweeperError):
    """The limited child could not finish what it was asked; about the data, not about this machine."""


class _Asked:
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


class Parser:
    """Parses outputs, several at once. `memory` in bytes, `cpu` and `wall` in seconds, all per output."""

    def __init__(
        self, *, memory: int = 1 << 30, cpu: int = 60, wall: float = 120.0, at_once: int = os.cpu_count() or 2
    ) -> None:
        self._limits = {"memory": memory, "cpu": cpu}
        self._wall = wall
        self._slots = at_once
        self._limiter: anyio.CapacityLimiter | None = None
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._idle: list[socket.socket] = []  # connections of workers that wait for a request

    async def parse(
        self,
        stdout: Path,
        stderr: Path,
        *,
        exit_code: int | None,
        signal: int | None = None,
        truncated: bool = False,
        format: str = "auto",
        pattern: str = "",
        tool: Tool,
        root: str = ".",
        listing: Listing | None = None,
        checkouts: Sequence[str] = (WORK,),
        foreign: bool = False,
    ) -> CheckResult:
        """What a check said whose output lies in two files (a missing file is an empty one).

        `listing` is the tree that was checked, with its changes: paths are resolved against it; without it
        only by name. `pattern`: a user's expression for lines of text; `format` is not asked then.
        `checkouts`: the absolute directories where the repository's root was. `foreign`: the check ran in some
        other checkout. Raises ConfigError for an unknown format; everything else is a state.
        """
        if format != "auto" and format not in FORMATS and not pattern:
            raise ConfigError(f"unknown format {format!r}", hint=f"Known formats: auto, {', '.join(sorted(FORMATS))}.")
        result = partial(
            classify,
            exit_code=exit_code,
            signal=signal,
            truncated=truncated,
            tool=tool,
            root=root,
            listing=listing,
            checkouts=checkouts,
            foreign=foreign,
        )
        if truncated or signal is not None:
            return result(Reading())
        how = tool.how(format, pattern)
        if _is_empty(stdout) and _is_empty(stderr):
            return result(read(b"", b"", how))  # nothing was printed, so there is nothing to be careful with
        request = {
            "what": "reading",
            "stdout": os.fspath(stdout),
            "stderr": os.fspath(stderr),
            "how": asdict(how),
        }
        return await self._ask(request, lambda answer: result(_reading(answer)))

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """`function(*arguments)`, a module-level function of this package, in the child; its value comes as JSON.

        Raises ChildFailed if the child crashed or ran into a limit.
        """
        data = pickle.dumps(arguments)
        request = {"what": "call", "module": function.__module__, "function": function.__name__, "size": len(data)}

        def value(answer: dict[str, Any]) -> Any:
            if "error" in answer:
                raise ChildFailed(f"{function.__name__}: {answer['error']}")
            return answer["value"]

        return await self._ask(request, value, data)

    async def aclose(self) -> None:
        """Stop the server; outputs in work are given up."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._stop)

    async def _ask(self, request: dict[str, Any], then: Callable[[dict[str, Any]], T], data: bytes = b"") -> T:
        """Ask the child and give its answer to `then`, both in a thread: a large answer takes seconds."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._slots)
        line = json.dumps({**request, **self._limits}).encode("ascii") + b"\n" + data
        asked = _Asked()
        try:
            return await anyio.to_thread.run_sync(
                lambda: self._answered(asked, line, then), limiter=self._limiter, abandon_on_cancel=True
            )
        except anyio.get_cancelled_exc_class():
            asked.cancel()  # ends the worker, and with it the abandoned thread
            raise

    def _answered(self, asked: _Asked, line: bytes, then: Callable[[dict[str, Any]], T]) -> T:
        connection = self._worker()
        stays = False
        try:
            asked.by(connection)
            data, stays = self._exchange(connection, line)
        finally:
            asked.by(None)
            self._give_back(connection, stays=stays)
        with collection_paused():
            return then({"error": data} if isinstance(data, str) else json.loads(data))

    def _exchange(self, connection: socket.socket, line: bytes) -> tuple[bytearray | str, bool]:
        """The answer, or why there is none, and whether the worker takes another request."""
        until = time.monotonic() + self._wall
        data = bytearray()
        try:
            connection.settimeout(self._wall)
            connection.sendall(line)
            while not _complete(data):
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
        del data[: HEADER.size]
        return data, stays

    def _worker(self) -> socket.socket:
        """The connection of a worker that waits, or of a new one."""
        with self._lock:
            if self._server is not None and self._server.poll() is not None:
                self._discard()  # nobody would end its workers
            while self._idle:
                connection = self._idle.pop()
                if _waits(connection):
                    return connection
                connection.close()
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
            if stays and self._server is not None and len(self._idle) < self._slots:
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
        paths = [path for path in dict.fromkeys([_package_parent(), *sys.path]) if os.path.isabs(path)]
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, *paths],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # Ctrl-C in the terminal is the coordinator's alone
            )

    def _stop(self) -> None:
        with self._lock:
            self._discard()

    def _discard(self) -> None:
        while self._idle:
            self._idle.pop().close()
        if self._control is not None:
            self._control.close()
        if self._server is not None:
            try:
                self._server.wait(timeout=2)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
        self._control = self._server = None


def _is_empty(path: Path) -> bool:
    """Whether there is nothing to read; of what is no file, only reading tells."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def _package_parent() -> str:
    return str(Path(__file__).resolve().parent.parent.parent)


def _reading(answer: dict[str, Any]) -> Reading:
    return Reading(failed=answer["error"]) if "error" in answer else from_wire(answer)


def _complete(data: bytearray) -> bool:
    """Whether it is a whole answer."""
    if len(data) < HEADER.size or not data.startswith(ANSWERED):
        return False
    return len(data) == HEADER.size + int(HEADER.unpack_from(data)[1])


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
