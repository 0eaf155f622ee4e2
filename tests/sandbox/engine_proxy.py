"""A proxy in front of the engine's socket that can be late, answer by itself, or be away."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

REQUEST = re.compile(rb"^(GET|HEAD|POST|PUT|DELETE) (\S+) HTTP/1\.1\r\n")
ENGINE = "/var/run/docker.sock"


@dataclass(frozen=True)
class Late:
    """The engine does it at once, and its answer comes when nobody waits for it any more."""


@dataclass(frozen=True)
class Says:
    """The engine never hears of it; this is the answer."""

    status: int
    message: str


Rule = Callable[[str, str], Late | Says | None]


class Proxy:
    """`rule(method, path)` decides about each request; `seen` has all of them, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rule: Rule = lambda method, path: None
        self.seen: list[tuple[str, str]] = []
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.come_back()

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def come_back(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._serve, args=(self._listener,), daemon=True).start()

    def go_away(self) -> None:
        """Refuse new connections and cut all that are open."""
        assert self._listener is not None
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.path.unlink(missing_ok=True)
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            engine = socket.socket(socket.AF_UNIX)
            engine.connect(ENGINE)
            self._open |= {client, engine}
            state = _Connection(self, client, engine)
            for pump in (state.to_engine, state.to_client):
                threading.Thread(target=pump, daemon=True).start()

    def closed(self, *socks: socket.socket) -> None:
        for sock in socks:
            self._open.discard(sock)
            sock.close()


class _Connection:
    def __init__(self, proxy: Proxy, client: socket.socket, engine: socket.socket) -> None:
        self.proxy, self.client, self.engine = proxy, client, engine
        self.late = False
        self.given_up = threading.Event()

    def to_engine(self) -> None:
        with contextlib.suppress(OSError):
            swallow = False
            while data := self.client.recv(1 << 16):
                if found := REQUEST.match(data):
                    swallow = self._decide(found[1].decode(), found[2].decode())
                if not swallow:
                    self.engine.sendall(data)
            self.given_up.set()
            self.engine.shutdown(socket.SHUT_WR)

    def _decide(self, method: str, path: str) -> bool:
        """Whether the engine must not get this request."""
        self.proxy.seen.append((method, path))
        answer = self.proxy.rule(method, path)
        if isinstance(answer, Late):
            self.late = True
        if isinstance(answer, Says):
            body = b'{"message": "%s"}\n' % answer.message.encode()
            head = b"HTTP/1.1 %d Said\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            self.client.sendall(head % (answer.status, len(body)) + body)
            return True
        return False

    def to_client(self) -> None:
        with contextlib.suppress(OSError):
            while data := self.engine.recv(1 << 16):
                if self.late:
                    self.given_up.wait()
                self.client.sendall(data)
            self.client.shutdown(socket.SHUT_WR)
        self.proxy.closed(self.client, self.engine)


@contextlib.contextmanager
def proxied(folder: Path) -> Iterator[Proxy]:
    proxy = Proxy(folder / "engine.sock")
    try:
        yield proxy
    finally:
        proxy.go_away()
