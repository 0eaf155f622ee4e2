"""Peak resident memory of the coordinator: draining 100,000 synthetic units (no-op dispatch) against 1,000.

Each drain runs in a child process of its own, through the real ledger (SQLite on disk), claims, scheduler, engine and
journal; only the dispatch does nothing.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio

from bench.ledger import outcome, queued
from bench.rows import Row
from sweeper.drain import EngineLimits, drain
from sweeper.ledger import make_owner, open_ledger
from sweeper.ledger.contract import Ledger, Queued, Run
from sweeper.loop import Decision, Go, Idle, Page, Settled, Slot
from sweeper.records import Outcome, UnitState
from sweeper.sweep.claims import SweepClaims

FEW, MANY = 1_000, 100_000
SLOTS = 5
RUN = "run"


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


class Synthetic:
    """The units of a ledger's run, each dispatched to nothing."""

    name = "bench"

    def __init__(self, ledger: Ledger, claims: SweepClaims) -> None:
        self._ledger, self._claims = ledger, claims

    async def select_queue(self, cursor: str | None) -> Page:
        units, following = await self._ledger.page(RUN, 1, cursor)
        return Page(tuple(units), following)

    def tier_policy(self, unit: Queued) -> Go:
        return Go(0)

    async def dispatch(self, unit: Queued, rung: int, slot: Slot) -> Outcome:
        slot.free()
        await self._ledger.start(self._claims.of(unit), rung, 1)
        return outcome(unit.key)

    async def land(self, unit: Queued, result: Outcome) -> Decision:
        await self._ledger.land(self._claims.of(unit), result, UnitState.SETTLED, 1)
        self._claims.landed(unit)
        return Settled()

    async def on_idle(self) -> Idle:
        return Idle.STOP


async def _drain(count: int, state: Path) -> None:
    ledger, owner = open_ledger("", state), make_owner()
    await ledger.enter(owner, 60.0)
    await ledger.create_run(Run(RUN, Synthetic.name, "b" * 40, "digest", tip="b" * 40))
    await ledger.open_round(RUN, 1, _units(count), [], fresh=True)
    claims = SweepClaims(ledger, RUN)
    limits = EngineLimits(agents=SLOTS)
    journal = ledger.journal
    drained = await drain([Synthetic(ledger, claims)], claims, limits, journal=lambda row: journal(owner.id, row))
    await ledger.aclose()
    if drained.tally.settled != count:
        raise AssertionError(f"{drained.tally} of {count} units")


def _units(count: int) -> Iterator[Queued]:
    return (queued(number) for number in range(count))


def main(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sweeper-bench-") as state:
        began = time.perf_counter()
        anyio.run(_drain, count, Path(state))
        seconds = time.perf_counter() - began
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"peak": kilobytes << 10, "seconds": seconds}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
