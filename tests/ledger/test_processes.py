"""Several coordinators at once, and coordinators that are killed: real processes."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from sweeper.ledger.sql import SqlLedger
from sweeper.records import UnitState
from tests.ledger.builders import RUN, SWEEP, Place, all_of, key, queued, run_row
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

REPOSITORY = Path(__file__).parents[2]
KILLS = 30


def spawn(mode: str, place: Place, log: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "tests.ledger.process", mode, place.url, str(place.state), str(log)]
    return subprocess.Popen(argv, cwd=REPOSITORY)


def kill_at_work(process: subprocess.Popen[bytes], log: Path) -> None:
    """SIGKILL at a random moment: after a random number of answers since it began to claim."""
    ready = f"ready {process.pid}"
    while ready not in words(log):
        assert process.poll() is None
        time.sleep(0.01)
    enough = len(words(log)) + random.randrange(60)
    while len(words(log)) < enough:
        assert process.poll() is None
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.01))
    process.kill()
    process.wait()


def words(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


async def prepared(place: Place, units: int) -> None:
    ledger = place.open()
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(i) for i in range(units)], [], fresh=True)
    await ledger.aclose()


async def test_f05_eight_processes_share_a_backlog_without_duplicates(place: Place, tmp_path: Path) -> None:
    units = 400
    await prepared(place, units)
    log = tmp_path / "log"
    processes = [spawn("drain", place, log) for _ in range(8)]
    assert [process.wait(PATIENCE) for process in processes] == [0] * 8
    lines = [line.split() for line in words(log)]
    claims = Counter(line[1] for line in lines if line[0] == "claim")
    assert set(claims) == {key(i) for i in range(units)}
    assert set(claims.values()) == {1}
    ledger = place.open()
    assert (await ledger.counts(RUN)).units == {"settled": units}
    landed = Counter([row.unit async for row in ledger.attempts(run=RUN) if row.state == "landed"])
    assert len(landed) == units
    assert set(landed.values()) == {1}
    await ledger.aclose()


@pytest.mark.kill
async def test_sigkill_at_any_moment_loses_nothing_that_was_acknowledged(place: Place, tmp_path: Path) -> None:
    units = 12
    await prepared(place, units)
    log = tmp_path / "log"
    kills = KILLS if not place.url else KILLS // 3
    for _ in range(kills):
        process = spawn("churn", place, log)
        kill_at_work(process, log)
        ledger = place.open()
        await check(ledger, log, units)
        await ledger.aclose()
    assert sum(line.startswith("land ") for line in words(log)) > kills
    if not place.url:
        assert sqlite3.connect(place.database).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def check(ledger: SqlLedger, log: Path, units: int) -> None:
    lines = [line.split() for line in words(log)]
    claims = Counter((line[1], line[2]) for line in lines if line[0] == "claim")
    assert set(claims.values()) <= {1}, "a fencing token was given twice"
    rows = await all_of(ledger.attempts(run=RUN))
    numbers = Counter((row.unit, row.number) for row in rows)
    assert set(numbers.values()) <= {1}
    by_number = {(row.unit, row.number): row for row in rows}
    for word, unit, *rest in lines:
        match word:
            case "land":
                row = by_number[unit, int(rest[0])]
                assert (row.state, row.token) == ("landed", int(rest[1]))
            case "lose":
                assert by_number[unit, int(rest[0])].state == "lost"
            case "start":
                assert (unit, int(rest[0])) in by_number
    stale = {claim.claim.unit: claim for claim in await ledger.stale_claims()}
    found = await all_of(ledger.units(SWEEP))
    assert len(found) == units
    for unit_now in found:
        mine = [row for row in rows if row.unit == unit_now.key]
        assert sorted(row.number for row in mine) == list(range(1, len(mine) + 1))
        assert len(unit_now.history.outcomes) == sum(row.state == "landed" for row in mine)
        assert sum(row.state == "started" for row in mine) <= 1
        # The killed one's claims are provably stale, at once and all of them.
        assert unit_now.state == (UnitState.CLAIMED if unit_now.key in stale else UnitState.OPEN)
    journal = [row.seq async for row in ledger.journal_rows()]
    assert journal == list(range(len(journal)))


async def test_a_killed_dispatcher_is_replaced_at_once(place: Place, tmp_path: Path) -> None:
    await prepared(place, 2)
    log = tmp_path / "log"
    process = spawn("churn", place, log)
    kill_at_work(process, log)
    ledger = await place.entered()
    await ledger.take_dispatcher(SWEEP)
    await ledger.aclose()
