"""The frames between a relay and its coordinator: many connections at once, none of which can hold up another."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from sweeper.sandbox.docker.relay import ACK, CHUNK, DATA, END, HEADER, MOST, OPEN, RESET, WINDOW, Broken, Mux
from tests.waiting import PATIENCE, until

SERVER = Callable[[socket.socket], None]


def reader(sock: socket.socket) -> Callable[[int], bytes]:
    def read(size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = sock.recv(size - len(data))
            if not more:
                raise Broken("over")
            data += more
        return data

    return read


class Pair:
    """Two ends with a wire between them; what the far end dials is served by `server`."""

    def __init__(self, server: SERVER) -> None:
        self.server = server
        self.wires = socket.socketpair()
        near, far = self.wires
        self.near = Mux(reader(near), near.sendall)
        self.far = Mux(reader(far), far.sendall, self._dial)
        self.threads = [threading.Thread(target=each.run, daemon=True) for each in (self.near, self.far)]
        for thread in self.threads:
            thread.start()

    def _dial(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        threading.Thread(target=self.server, args=(theirs,), daemon=True).start()
        return ours

    def connect(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE)
        self.near.free.acquire()
        self.near.accepted(theirs)
        return ours

    def close(self) -> None:
        for wire in self.wires:
            wire.shutdown(socket.SHUT_RDWR)
            wire.close()
        for thread in self.threads:
            thread.join(PATIENCE)


def echo(sock: socket.socket) -> None:
    with sock:
        while data := sock.recv(5000):
            sock.sendall(data)


@pytest.fixture
def pairs() -> Iterator[Callable[[SERVER], Pair]]:
    made: list[Pair] = []

    def make(server: SERVER = echo) -> Pair:
        made.append(Pair(server))
        return made[-1]

    yield make
    for each in made:
        each.close()


def everything(sock: socket.socket) -> bytes:
    parts = []
    while data := sock.recv(65536):
        parts.append(data)
    return b"".join(parts)


def test_bytes_come_back_and_the_end_too(pairs: Callable[..., Pair]) -> None:
    pair = pairs()
    sent = [bytes([number]) * (WINDOW * 2 + number) for number in range(4)]
    near = [pair.connect() for _ in sent]
    got: dict[int, bytes] = {}
    threads = [
        threading.Thread(target=lambda number=number: got.update({number: everything(near[number])}))
        for number in range(len(sent))
    ]
    for thread in threads:
        thread.start()
    for sock, data in zip(near, sent, strict=True):
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
    for thread in threads:
        thread.join(PATIENCE)
    assert [got[number] for number in range(len(sent))] == sent


def test_one_that_nobody_reads_holds_up_no_other(pairs: Callable[..., Pair]) -> None:
    def flood(sock: socket.socket) -> None:
        with sock:
            if sock.recv(1) == b"f":
                try:
                    while True:
                        sock.sendall(b"x" * 65536)
                except OSError:
                    return
            sock.sendall(b"answer")

    pair = pairs(flood)
    unread, other = pair.connect(), pair.connect()
    unread.sendall(b"f")
    until(lambda: [each.credit for each in list(pair.far._connections.values())].count(0) == 1, "a window that is full")
    other.sendall(b"a")
    assert everything(other) == b"answer"
    unread.close()


def test_more_than_there_is_room_for_wait(pairs: Callable[..., Pair]) -> None:
    pair = pairs()
    first = [pair.connect() for _ in range(MOST)]
    assert not pair.near.free.acquire(blocking=False)
    for sock in first:
        sock.sendall(b"x")
        assert sock.recv(1) == b"x"
        sock.close()
    again = pair.connect()
    again.sendall(b"y")
    assert again.recv(1) == b"y"


def test_a_socket_that_is_not_there_ends_the_connection(pairs: Callable[..., Pair]) -> None:
    pair = pairs()

    def refuse() -> socket.socket:
        raise ConnectionRefusedError

    pair.far._dial = refuse
    for _ in range(2 * MOST):
        near = pair.connect()
        assert near.recv(1) == b""
        near.close()


def send(sock: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        sock.sendall(data)


@pytest.mark.parametrize(
    "frames",
    [
        HEADER.pack(DATA, 1, CHUNK + 1),
        HEADER.pack(OPEN, 1, 0) * 2,
        b"".join(HEADER.pack(OPEN, number, 0) for number in range(MOST + 1)),
        struct.pack("!B", 255) * HEADER.size,
        HEADER.pack(OPEN, 1, 0) + (HEADER.pack(DATA, 1, CHUNK) + b"x" * CHUNK) * 100,
        HEADER.pack(OPEN, 1, 0) + HEADER.pack(END, 1, 0) * 2,
        HEADER.pack(OPEN, 1, 0) + HEADER.pack(DATA, 1, 0),
    ],
    ids=["large", "twice", "many", "noise", "ungranted", "two ends", "nothing"],
)
def test_a_relay_that_breaks_the_rules_is_left(frames: bytes) -> None:
    """It runs in a container with an image that the repository had a hand in."""
    ours, theirs = socket.socketpair()
    kept: list[socket.socket] = []

    def dial() -> socket.socket:
        kept.extend(pair := socket.socketpair())
        return pair[0]

    mux = Mux(reader(ours), lambda data: None, dial)
    thread = threading.Thread(target=mux.run, daemon=True)
    thread.start()
    sending = threading.Thread(target=send, args=(theirs, frames), daemon=True)
    sending.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    ours.close()
    sending.join(PATIENCE)
    for each in (theirs, *kept):
        each.close()


def test_late_frames_of_a_closed_connection_are_nothing(pairs: Callable[..., Pair]) -> None:
    pair = pairs()
    for kind in (RESET, ACK, DATA):
        pair.near.send(kind, 77)
    near = pair.connect()
    near.sendall(b"still")
    assert near.recv(5) == b"still"
