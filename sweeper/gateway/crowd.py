"""How many connections one door has at once: a sandbox that opens thousands takes no descriptor from anybody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

MOST = 64


class Crowd:
    """A protocol factory for what `make` makes, while there are fewer than `most`; whoever comes then is hung up on."""

    def __init__(self, make: Callable[[], asyncio.Protocol], most: int = MOST) -> None:
        self._make, self._most = make, most
        self._count = 0

    def __call__(self) -> asyncio.Protocol:
        if self._count >= self._most:
            return _TurnedAway()
        self._count += 1
        return _Counted(self._make(), self._left)

    def _left(self) -> None:
        self._count -= 1


class _TurnedAway(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.abort()


class _Counted(asyncio.Protocol):
    """Passes everything on to `inner`."""

    def __init__(self, inner: asyncio.Protocol, left: Callable[[], None]) -> None:
        self._inner, self._left = inner, left

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._left()
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
