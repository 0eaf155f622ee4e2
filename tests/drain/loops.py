"""A small loop in memory, and claims that notice whatever may not happen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel

from sweeper.loop import Decision, Go, Hold, Idle, Page, Settled, Slot


@dataclass(frozen=True)
class Item:
    key: str


async def quick(item: Item, slot: Slot) -> Any:
    return item.key


def settle(item: Item, result: Any) -> Decision:
    return Settled()


def go(item: Item) -> Go | Hold:
    return Go("rung")


@dataclass
class Memory:
    """A loop over `count` items; `work`, `decide` and `policy` say what happens to each."""

    count: int
    name: str = "memory"
    page: int = 7
    work: Callable[[Item, Slot], Awaitable[Any]] = quick
    decide: Callable[[Item, Any], Decision] = settle
    policy: Callable[[Item], Go | Hold] = go
    started: list[str] = field(default_factory=list)
    landed: list[tuple[str, Any]] = field(default_factory=list)
    asked: int = 0
    running: int = 0
    most: int = 0

    async def select_queue(self, cursor: str | None) -> Page:
        await anyio.lowlevel.checkpoint()
        first = int(cursor or 0)
        last = min(first + self.page, self.count)
        items = tuple(Item(f"{self.name}-{number}") for number in range(first, last))
        return Page(items, str(last) if last < self.count else None)

    def tier_policy(self, unit: Item) -> Go | Hold:
        return self.policy(unit)

    async def dispatch(self, unit: Item, rung: Any, slot: Slot) -> Any:
        self.started.append(unit.key)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self.work(unit, slot)
        finally:
            self.running -= 1

    async def land(self, unit: Item, result: Any) -> Decision:
        await anyio.lowlevel.checkpoint()
        self.landed.append((unit.key, result))
        return self.decide(unit, result)

    async def on_idle(self) -> Idle:
        self.asked += 1
        return Idle.STOP


@dataclass
class Ledger:
    """Claims in memory. `most`: claims held at once."""

    held: set[str] = field(default_factory=set)
    taken: frozenset[str] = frozenset()
    claimed: Counter[str] = field(default_factory=Counter)
    most: int = 0

    async def claim(self, unit: Item) -> object | None:
        await anyio.lowlevel.checkpoint()
        if unit.key in self.taken:
            return None
        assert unit.key not in self.held, "claimed twice"
        self.held.add(unit.key)
        self.claimed[unit.key] += 1
        self.most = max(self.most, len(self.held))
        return object()

    async def release(self, unit: Item) -> None:
        await anyio.lowlevel.checkpoint()
        self.held.discard(unit.key)
