"""Claim + land through the ledger with 64 tasks, beside a bare single-writer loop of the same SQL, both at
synchronous=FULL, in turns on the same disk. `python -m bench ledger`."""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import anyio

from bench.rows import Row
from sweeper.ledger import make_owner, open_ledger
from sweeper.ledger.claims import CLAIM_SQL, LAND_UNIT_SQL, NEW_ATTEMPT_SQL
from sweeper.ledger.contract import Ledger, Queued, Run
from sweeper.ledger.encode import history_line, outcome_to, to_json
from sweeper.records import Finding, Kind, Outcome, Unit, UnitState, Usage

UNITS = 4000
TASKS = 64
TURNS = 3
RUN = "run"


def queued(number: int) -> Queued:
    path = f"package/module_{number}.py"
    findings = tuple(Finding(path, line, 1, "E501", "Line too long (130 > 120)") for line in range(1, 6))
    return Queued(Unit(f"{number:032x}", "bench", path, (path,), findings), 1, place="place")


def outcome(key: str) -> Outcome:
    return Outcome(key, 1, 0, Kind.FIXED, "b" * 40, commit="c" * 40, usage=Usage(1000, 100, 2000), seconds=1.0)


async def filled(state: Path, units: int) -> tuple[Ledger, str]:
    """A ledger with an open round, and the id of the owner that entered it."""
    ledger = open_ledger("", state)
    owner = make_owner()
    await ledger.enter(owner, 60.0)
    await ledger.create_run(Run(RUN, "bench", "b" * 40, "digest", created=time.time()))
    await ledger.open_round(RUN, 1, map(queued, range(units)), [], fresh=True)
    return ledger, owner.id


async def through_the_ledger(state: Path, units: int = UNITS, tasks: int = TASKS) -> float:
    """Units a second: claimed and landed, each durable before its task goes on."""
    ledger, _ = await filled(state, units)
    keys = iter([queued(number).key for number in range(units)])

    async def task() -> None:
        for key in keys:
            claim = await ledger.claim(key, RUN)
            assert claim is not None
            await ledger.land(claim, outcome(key), UnitState.VERIFIED, 1)

    begun = time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(tasks):
            group.start_soon(task)
    seconds = time.perf_counter() - begun
    await ledger.aclose()
    return units / seconds


async def bare_loop(state: Path, units: int = UNITS) -> float:
    """Units a second: the same statements, one transaction a claim and one a landing, from one connection."""
    ledger, owner = await filled(state, units)
    raw = sqlite3.connect(state / "ledger.sqlite3", isolation_level=None)
    raw.execute("PRAGMA synchronous=FULL")
    claim_sql = CLAIM_SQL.format(skip_locked="")
    begun = time.perf_counter()
    for number in range(units):
        key = queued(number).key
        raw.execute("BEGIN IMMEDIATE")
        token = raw.execute(claim_sql, (owner, RUN, key, owner)).fetchall()[0][0]
        raw.execute("COMMIT")
        result = outcome(key)
        text, line = outcome_to(result), history_line(result.rung, result.kind, "")
        raw.execute("BEGIN IMMEDIATE")
        raw.execute(LAND_UNIT_SQL, ("verified", 1, to_json(""), line, key, token, owner)).fetchall()
        row = (key, 1, 0, RUN, 1, 0, "landed", time.time(), token, result.kind.value, 1000, 100, 2000, text)
        raw.execute(NEW_ATTEMPT_SQL, row)
        raw.execute("COMMIT")
    seconds = time.perf_counter() - begun
    raw.close()
    await ledger.aclose()
    return units / seconds


def measure(folder: Path | None = None) -> list[Row]:
    """Medians of three turns."""
    ledger: list[float] = []
    bare: list[float] = []
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory(dir=folder) as one, tempfile.TemporaryDirectory(dir=folder) as other:
            bare.append(anyio.run(bare_loop, Path(one)))
            ledger.append(anyio.run(through_the_ledger, Path(other)))
    through, alone = statistics.median(ledger), statistics.median(bare)
    detail = f"{through:,.0f}/s against {alone:,.0f}/s at synchronous=FULL"
    return [Row("claim + land, 64 tasks, against a bare single writer", through / alone, 0.8, detail=detail)]
