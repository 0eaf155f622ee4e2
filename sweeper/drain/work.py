"""What the engine keeps of a unit, and how a journal row is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio

from sweeper.ledger.contract import JournalRow
from sweeper.loop import Go, Hold
from sweeper.scheduler import messages as m
from sweeper.scheduler.journal import encode_commands, encode_event


class Journal:
    """Numbers the rows and hands them on at once."""

    def __init__(self, write: Callable[[JournalRow], None] | None, seq: int) -> None:
        self._write = write
        self.seq = seq

    def append(self, now: float, event: m.Event, commands: list[m.Command]) -> None:
        if self._write is not None:
            self._write(JournalRow(self.seq, encode_event(now, event), encode_commands(commands)))
        self.seq += 1


class Work:
    """One unit as long as the scheduler knows it; also the slot that its dispatch holds."""

    __slots__ = ("_on_free", "go", "holds_slot", "loop", "result", "rung", "scope", "unit", "weight")

    def __init__(self, loop: str, unit: Any, go: Go | Hold, on_free: Callable[[Work], None]) -> None:
        self._on_free = on_free
        self.loop = loop
        self.unit = unit
        self.go = go
        self.rung: Any = None  # of the latest dispatch
        self.result: Any = go if isinstance(go, Hold) else None
        self.scope: anyio.CancelScope | None = None
        self.weight = 0
        self.holds_slot = False

    def entry(self) -> m.Entry:
        if isinstance(self.go, Hold):
            return m.Entry(self.unit.key, held=True)
        return m.Entry(self.unit.key, self.go.weight, self.go.credential)

    def free(self) -> None:
        if self.holds_slot:
            self.holds_slot = False
            self._on_free(self)
