"""Units, outcomes and ledgers for the tests of the ledger."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sweeper.ledger import make_owner, open_ledger
from sweeper.ledger.connection import Connection
from sweeper.ledger.contract import AttemptRow, Queued, Run
from sweeper.ledger.lease import since_boot
from sweeper.ledger.sql import SqlLedger
from sweeper.records import Claim, Evidence, Finding, Kind, Outcome, Owner, Unit, UnitState, Usage

T = TypeVar("T")

SWEEP = "lint"
RUN = "run-1"
BASE = "b" * 40
TIP = "c" * 40
HOUR = 3600.0
ELSEWHERE = Owner("f" * 32, "other-host", 4242, 10.0, "another-boot:1")


@dataclass(frozen=True)
class Place:
    """Where a test's ledger lies; every `open` is another coordinator's view of it."""

    url: str
    state: Path

    def open(self, locks: Path | None = None) -> SqlLedger:
        """`locks`: as if on a machine that sees other lock files."""
        ledger = open_ledger(self.url, self.state)
        assert isinstance(ledger, SqlLedger)
        if locks is not None:
            ledger._locks = locks
        return ledger

    async def entered(self, owner: Owner | None = None, lease: float = 60.0, locks: Path | None = None) -> SqlLedger:
        ledger = self.open(locks)
        await ledger.enter(owner or make_owner(), lease)
        return ledger

    @property
    def database(self) -> Path:
        return self.state / "ledger.sqlite3"


def run_row(id: str, sweep: str = SWEEP, base: str = BASE, digest: str = "digest") -> Run:
    return Run(id, sweep, base, digest, tip=base, created=time.time())


def key(number: int) -> str:
    return f"{number:032x}"


def queued(number: int, findings: int = 1, *, title: str = "", sweep: str = SWEEP, place: str = "place") -> Queued:
    path = title or f"module_{number:04}.py"
    found = tuple(Finding(path, line, 1, "E501", "Line too long") for line in range(1, findings + 1))
    return Queued(Unit(key(number), sweep, path, (path,), found), 1, place=place)


def outcome(unit: str, attempt: int = 1, kind: Kind = Kind.FIXED, *, rung: int = 0, reason: str = "") -> Outcome:
    usage = Usage(10, 5, 100)
    evidence = Evidence(("ruff", "check"), 0, reason, before=1)
    return Outcome(unit, attempt, rung, kind, BASE, commit=TIP, evidence=evidence, usage=usage, seconds=1.5)


def crash(ledger: SqlLedger) -> None:
    """What is left of a coordinator after SIGKILL: its rows and its lock file, and the lock is free."""
    assert ledger._renewal is not None
    assert ledger._lock is not None
    ledger._renewal.stop()
    ledger._reader.close()
    ledger._writer.close()
    ledger._lock.release(remove=False)
    ledger._closed = True


async def land_fixed(ledger: SqlLedger, unit: str, kind: Kind = Kind.FIXED) -> tuple[Claim, AttemptRow]:
    claim = await claimed(ledger, unit)
    row = await ledger.start(claim, 0, 1)
    await ledger.land(claim, outcome(unit, row.number, kind), UnitState.VERIFIED, 1)
    return claim, row


async def claimed(ledger: SqlLedger, unit: str, run: str = RUN) -> Claim:
    claim = await ledger.claim(unit, run)
    assert claim is not None
    return claim


async def run_out(ledger: SqlLedger) -> None:
    """As if the lease of this coordinator, which does not renew it any more, had ended a while ago."""
    assert ledger._renewal is not None
    ledger._renewal.stop()
    ledger._renewal._deadline = since_boot() - 1

    def end(connection: Connection) -> int:
        sql = "UPDATE owner SET expires = ?, beat = ? WHERE id = ?"
        return connection.run(sql, connection.now() - 1, since_boot() - HOUR, ledger._me)

    assert await ledger._writer.call(end) == 1


async def all_of(stream: AsyncIterator[T]) -> list[T]:
    return [item async for item in stream]


async def states(ledger: SqlLedger, sweep: str = SWEEP) -> dict[str, UnitState]:
    return {queued.key: queued.state async for queued in ledger.units(sweep)}


async def paged(ledger: SqlLedger, run: str = RUN, round: int = 1, limit: int = 200) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    while True:
        page, cursor = await ledger.page(run, round, cursor, limit)
        found += page
        if cursor is None:
            return found
