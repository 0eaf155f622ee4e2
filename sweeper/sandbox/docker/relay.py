"""Many connections over one pair of byte streams: the way to a socket of ours where an engine sees none of our files.

As a program, `python3 -I -c SOURCE SOCKET`, it runs in a container of its own: it listens on SOCKET and speaks frames
on its standard input and output, until the input ends. The coordinator has the other end of such a `Mux`, and dials.

Standard library only, Python 3.8 or newer: nothing is installed. A frame is `HEADER` (kind, connection, size) and
`size` bytes; an ACK's size is how many bytes were passed on instead. Neither end sends more than WINDOW bytes that are
not acknowledged, so that a connection that nobody reads holds up no other, and no end keeps more than MOST windows.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import threading
from collections import deque
from typing import Callable, Deque, Dict, Optional  # noqa: UP035

HEADER = struct.Struct("!BII")
READY, OPEN, DATA, END, ACK, RESET = range(6)
CHUNK = 32 << 10
WINDOW = 256 << 10
MOST = 32  # connections at once; more wait to be accepted


class Broken(Exception):
    """The other end is gone, or speaks something else."""


class Connection:
    """One connection as one end sees it. `credit`: bytes that may still be sent; `queue`: what came for the socket."""

    def __init__(self, number: int, near: Optional[socket.socket]) -> None:  # noqa: UP045
        self.number, self.near = number, near
        self.changed = threading.Condition()
        self.credit, self.queued, self.open_ways = WINDOW, 0, 2
        self.queue: Deque[bytes] = deque()  # noqa: UP006
        self.closed = self.ended = False

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()
        if self.near is not None:
            try:
                self.near.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def room(self) -> int:
        """Wait until something may be sent: how much; 0 once it is closed."""
        with self.changed:
            while not self.closed and self.credit <= 0:
                self.changed.wait()
            return 0 if self.closed else self.credit

    def take(self) -> Optional[bytes]:  # noqa: UP045
        """Wait for what comes next: b"" is the end, None that it is closed."""
        with self.changed:
            while not self.closed and not self.queue:
                self.changed.wait()
            return None if self.closed else self.queue.popleft()


class Mux:
    """`read(n)` gives n bytes or raises Broken; `write(data)` sends all of it. `dial`: how an OPEN is answered, where
    the other end may send one. `run` blocks until the other end is gone; `accepted` adds a connection of this end.
    """

    def __init__(
        self,
        read: Callable[[int], bytes],
        write: Callable[[bytes], None],
        dial: Optional[Callable[[], socket.socket]] = None,  # noqa: UP045
    ) -> None:
        self._read, self._write, self._dial = read, write, dial
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._connections: Dict[int, Connection] = {}  # noqa: UP006
        self._count = 0
        self.free = threading.Semaphore(MOST)
        self.ready = threading.Event()

    def run(self) -> None:
        try:
            while True:
                kind, number, size = HEADER.unpack(self._read(HEADER.size))
                if size > (WINDOW if kind == ACK else CHUNK):
                    raise Broken("a frame of %d bytes" % size)  # noqa: UP031
                self._frame(kind, number, size, self._read(size) if kind != ACK else b"")
        except (Broken, OSError):
            return
        finally:
            with self._lock:
                left = list(self._connections.values())
            for each in left:
                each.close()

    def send(self, kind: int, number: int = 0, data: bytes = b"", size: int = 0) -> None:
        with self._writing:
            self._write(HEADER.pack(kind, number, size or len(data)) + data)

    def accepted(self, near: socket.socket) -> None:
        """Pass on a connection that was made here; `free` was acquired for it."""
        with self._lock:
            self._count += 1
            connection = self._connections[self._count] = Connection(self._count, near)
        self.send(OPEN, connection.number)
        self._start(connection)

    def _frame(self, kind: int, number: int, size: int, data: bytes) -> None:
        if kind == READY:
            self.ready.set()
            return
        if kind == OPEN:
            self._opened(number)
            return
        with self._lock:
            connection = self._connections.get(number)
        if connection is None:
            return  # it was closed at this end meanwhile
        if kind == RESET:
            connection.close()
        elif kind in (DATA, END):
            if connection.ended or connection.queued + len(data) > WINDOW or bool(data) is (kind == END):
                raise Broken("more than was granted")
            connection.ended = kind == END
            with connection.changed:
                connection.queue.append(data)
                connection.queued += len(data)
                connection.changed.notify_all()
        elif kind == ACK:
            with connection.changed:
                connection.credit += size
                connection.changed.notify_all()

    def _opened(self, number: int) -> None:
        if self._dial is None or number in self._connections or not self.free.acquire(blocking=False):
            raise Broken("a connection that is not granted")
        connection = Connection(number, None)
        with self._lock:
            self._connections[number] = connection
        threading.Thread(target=self._dialled, args=(connection,), daemon=True).start()

    def _dialled(self, connection: Connection) -> None:
        assert self._dial is not None
        try:
            connection.near = self._dial()
        except OSError:
            connection.open_ways = 1
            self._over(connection, RESET)
            return
        self._start(connection)

    def _start(self, connection: Connection) -> None:
        for way in (self._up, self._down):
            threading.Thread(target=way, args=(connection,), daemon=True).start()

    def _up(self, connection: Connection) -> None:
        """From the socket to the other end."""
        assert connection.near is not None
        last = RESET
        try:
            while room := connection.room():
                data = connection.near.recv(min(CHUNK, room))
                if not data:
                    last = END
                    break
                with connection.changed:
                    connection.credit -= len(data)
                self.send(DATA, connection.number, data)
        except (Broken, OSError):
            pass
        self._over(connection, last)

    def _down(self, connection: Connection) -> None:
        """From the other end to the socket."""
        assert connection.near is not None
        last = RESET
        try:
            while (data := connection.take()) is not None:
                if not data:
                    connection.near.shutdown(socket.SHUT_WR)
                    last = -1
                    break
                connection.near.sendall(data)
                with connection.changed:
                    connection.queued -= len(data)
                self.send(ACK, connection.number, size=len(data))
        except (Broken, OSError):
            pass
        self._over(connection, last)

    def _over(self, connection: Connection, last: int) -> None:
        """One way is over, with `last` for the other end; after a RESET both are."""
        try:
            if last == END or (last == RESET and not connection.closed):
                self.send(last, connection.number)
        except (Broken, OSError):
            pass
        if last == RESET:
            connection.close()
        with self._lock:
            connection.open_ways -= 1
            if connection.open_ways:
                return
            del self._connections[connection.number]
        if connection.near is not None:
            connection.near.close()
        self.free.release()


def main(path: str) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o600)
    listener.listen(128)
    mux = Mux(_standard_input, _standard_output)

    def accept() -> None:
        while True:
            mux.free.acquire()
            mux.accepted(listener.accept()[0])

    mux.send(READY)
    threading.Thread(target=accept, daemon=True).start()
    mux.run()
    os._exit(0)


def _standard_input(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(0, size - len(data))
        if not more:
            raise Broken("the input has ended")
        data += more
    return data


def _standard_output(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    main(sys.argv[1])
