"""What a sandbox prints: two capped files and the clocks that watch them. Passive: the backend feeds it.

Each file keeps the head of its stream and, once the cap is passed, the tail as well, with one line between them that
says how much is missing. A stream that is many times the cap is `overflowing`: the backend ends that sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sweeper.redact import Redactor
from sweeper.sandbox.contract import Clock, Clocks

TAIL = 64 << 10
MARK = 64
OVERFLOW = 4


class Capped:
    """One stream into one file of at most `cap` bytes."""

    def __init__(self, path: Path, cap: int) -> None:
        self._file: Any = path.open("wb", buffering=0)
        self._cap = cap
        self._room = min(TAIL, cap // 2)  # for the tail and the line before it
        self._head = cap - self._room
        self._rest = bytearray()
        self._dropped = 0
        self.total = 0

    @property
    def truncated(self) -> bool:
        return self.total > self._cap

    def write(self, data: bytes) -> None:
        room = max(0, self._head - self.total)
        self.total += len(data)
        if room:
            self._file.write(data[:room])
            data = data[room:]
        self._rest += data
        # What does not fit is dropped in large steps: a tail that moves by a few bytes would copy itself each time.
        if self.truncated and len(self._rest) > 4 * self._room:
            self._drop()

    def _drop(self) -> None:
        surplus = len(self._rest) - max(0, self._room - MARK)
        if surplus > 0:
            del self._rest[:surplus]
            self._dropped += surplus

    def close(self) -> None:
        if self._file.closed:
            return
        try:
            if self.truncated:
                self._drop()
                self._file.write(b"\n[... %d bytes left out ...]\n" % self._dropped)
            self._file.write(self._rest)
        finally:
            self._file.close()


class Output:
    """stdout and stderr of one command, and which of its clocks has run out.

    `cap` bounds each file, in bytes. `started` and every `now` are seconds of one monotonic clock. No file holds one of
    `secrets`.
    """

    def __init__(
        self, stdout: Path, stderr: Path, cap: int, clocks: Clocks, started: float, secrets: Iterable[bytes] = ()
    ) -> None:
        redactor = Redactor(secrets)
        self._redacted = {1: redactor.stream(), 2: redactor.stream()}
        self._streams = {1: Capped(stdout, cap), 2: Capped(stderr, cap)}
        self._cap = cap
        self._clocks = clocks
        self._started = started
        self._last: float | None = None

    def write(self, stream: int, data: bytes, now: float) -> None:
        """`stream` is 1 (stdout) or 2 (stderr)."""
        if data:
            self._last = now
            self._streams[stream].write(self._redacted[stream].feed(data))

    def start(self, now: float) -> None:
        """The command starts now: the clocks count from here."""
        self._started = now

    @property
    def truncated(self) -> bool:
        return any(stream.truncated for stream in self._streams.values())

    @property
    def overflowing(self) -> bool:
        return any(stream.total > OVERFLOW * self._cap for stream in self._streams.values())

    def _ends(self) -> list[tuple[float, Clock]]:
        ends = [(self._started + self._clocks.wall, Clock.WALL)]
        if self._last is None and self._clocks.first_output is not None:
            ends.append((self._started + self._clocks.first_output, Clock.FIRST_OUTPUT))
        elif self._clocks.idle is not None:
            ends.append(((self._started if self._last is None else self._last) + self._clocks.idle, Clock.IDLE))
        return ends

    def left(self, now: float) -> float:
        """Seconds until the next clock runs out, never negative."""
        return max(0.0, min(end for end, _ in self._ends()) - now)

    def expired(self, now: float) -> Clock | None:
        """The clock that has run out (the earliest of several), or None."""
        end, clock = min(self._ends(), key=lambda pair: pair[0])
        return clock if now >= end else None

    def close(self) -> None:
        """Write what is held back and close both files (idempotent)."""
        for number, stream in self._streams.items():
            if rest := self._redacted[number].end():
                stream.write(rest)
            stream.close()
