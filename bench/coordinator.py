"""Peak resident memory of the coordinator: draining 100,000 synthetic units (no-op dispatch) against 1,000.

Each drain runs in a child process of its own, through the real scheduler, engine and journal encoding; the loop
and its claims are the smallest there can be, so what grows would be the engine's.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import anyio

from bench.rows import Row
from sweeper.drain import EngineLimits, drain
from sweeper.ledger.contract import JournalRow
from sweeper.loop import Decision, Go, Idle, Page, Settled, Slot
from sweeper.replay import to_line

FEW, MANY = 1_000, 100_000
PAGE = 200
SLOTS = 5


def measure() -> list[Row]:
    few, many = _child(FEW), _child(MANY)
    ratio = many["peak"] / few["peak"]
    detail = f"{many['peak'] >> 20} MB against {few['peak'] >> 20} MB; {MANY / many['seconds']:,.0f} units/s"
    return [Row(f"coordinator's peak memory, {MANY:,} units : {FEW:,}", ratio, 1.25, at_least=False, detail=detail)]


def _child(count: int) -> dict[str, Any]:
    argv = [sys.executable, "-m", "bench.coordinator", str(count)]
    ran = subprocess.run(argv, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@dataclass(slots=True)
class Synthetic:
    key: str


class Endless:
    """`count` units whose dispatch does nothing."""

    name = "synthetic"

    def __init__(self, count: int) -> None:
        self._count = count

    async def select_queue(self, cursor: str | None) -> Page:
        first = int(cursor or 0)
        last = min(first + PAGE, self._count)
        units = tuple(Synthetic(f"{number:032x}") for number in range(first, last))
        return Page(units, str(last) if last < self._count else None)

    def tier_policy(self, unit: Any) -> Go:
        return Go(0)

    async def dispatch(self, unit: Any, rung: Any, slot: Slot) -> None:
        slot.free()

    async def land(self, unit: Any, result: Any) -> Decision:
        return Settled()

    async def on_idle(self) -> Idle:
        return Idle.STOP

    async def claim(self, unit: Any) -> str:
        return "claim"

    async def release(self, unit: Any) -> None:
        pass


def _drain(count: int) -> None:
    size = 0

    def journal(row: JournalRow) -> None:
        nonlocal size
        size += len(to_line(row))

    async def run() -> None:
        loop = Endless(count)
        drained = await drain([loop], loop, EngineLimits(agents=SLOTS), journal=journal)
        if drained.tally.settled != count:
            raise AssertionError(f"{drained.tally} of {count} units")

    began = time.perf_counter()
    anyio.run(run)
    seconds = time.perf_counter() - began
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"peak": kilobytes << 10, "seconds": seconds, "journal": size}))


if __name__ == "__main__":
    _drain(int(sys.argv[1]))
