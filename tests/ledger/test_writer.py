"""The group-committing writer: isolation of requests, patience, cancellation, lost connections."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import psycopg
import pytest

from bench.ledger import bare_loop, through_the_ledger
from sweeper.errors import LedgerFailed
from sweeper.ledger import writer
from sweeper.ledger.connection import Connection
from sweeper.ledger.contract import JournalRow
from sweeper.ledger.postgres import PostgresConnection, without_password
from sweeper.ledger.sql import SqlLedger
from sweeper.records import UnitState
from tests.ledger.builders import RUN, SWEEP, Place, all_of, claimed, key, outcome, queued, run_row, states
from tests.waiting import PATIENCE

pytestmark = pytest.mark.anyio

NOTE = "INSERT INTO note (run, name, value) VALUES (?, ?, 'null')"


def write_note(connection: Connection, name: str) -> None:
    connection.run(NOTE, RUN, name)


def write_and_raise(connection: Connection, name: str) -> None:
    connection.run(NOTE, RUN, name)
    raise ValueError("after it wrote")


@pytest.fixture
def blocked(sqlite_place: Place) -> Iterator[sqlite3.Connection]:
    """A foreign connection; while it is in a transaction the ledger is locked."""
    sqlite_place.state.mkdir(exist_ok=True)
    raw = sqlite3.connect(sqlite_place.database, isolation_level=None, check_same_thread=False)
    raw.execute("PRAGMA journal_mode=WAL")
    yield raw
    raw.close()


async def test_a_request_that_raises_undoes_itself_alone(ledger: SqlLedger) -> None:
    results: dict[str, BaseException | None] = {}

    async def ask(work: Any, name: str) -> None:
        try:
            await ledger._writer.call(partial(work, name=name))
            results[name] = None
        except LedgerFailed as error:
            results[name] = error

    async with anyio.create_task_group() as group:
        group.start_soon(ask, write_note, "before")
        group.start_soon(ask, write_and_raise, "broken")
        group.start_soon(ask, write_note, "after")
        group.start_soon(ask, write_note, "before")
    assert set(await ledger.notes(RUN)) == {"before", "after"}
    assert results["after"] is None
    assert "after it wrote" in str(results["broken"])
    # The second "before" broke a constraint of the database itself.
    assert isinstance(results["before"], LedgerFailed)


async def test_waiting_requests_share_a_transaction(ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    commits: list[int] = []
    real = ledger._writer._transaction

    def counted(group: list[writer.Request], rows: list[tuple[Any, ...]]) -> list[writer.Settled]:
        commits.append(len(group))
        return real(group, rows)

    monkeypatch.setattr(ledger._writer, "_transaction", counted)
    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(ledger.note, RUN, str(number), number)
    assert sum(commits) == 200
    assert len(commits) < 50
    assert len(await ledger.notes(RUN)) == 200


async def test_f05_a_writer_between_read_and_write_is_waited_for(
    sqlite_place: Place, blocked: sqlite3.Connection
) -> None:
    ledger = await sqlite_place.entered()
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    assert await ledger.counts(RUN)
    blocked.execute("BEGIN IMMEDIATE")
    threading.Timer(0.5, blocked.execute, ("COMMIT",)).start()
    claim = await claimed(ledger, key(1))
    await ledger.land(claim, outcome(key(1)), UnitState.VERIFIED, 1)
    await ledger.aclose()


async def test_f05_a_transaction_holds_the_lock_before_it_reads(
    sqlite_place: Place, blocked: sqlite3.Connection
) -> None:
    ledger = sqlite_place.open()

    def read_first(connection: Connection) -> str:
        connection.rows("SELECT count(*) FROM unit")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            blocked.execute("BEGIN IMMEDIATE")
        return "alone"

    blocked.execute("PRAGMA busy_timeout=0")
    assert await ledger._writer.call(read_first) == "alone"
    await ledger.aclose()


async def test_every_commit_is_synchronous_and_logged_ahead(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()
    for call in (ledger._writer.call, ledger._reader.call):
        assert await call(lambda connection: connection.rows("PRAGMA synchronous")) == [(2,)]
        assert await call(lambda connection: connection.rows("PRAGMA journal_mode")) == [("wal",)]
    with pytest.raises(LedgerFailed, match="readonly"):
        await ledger._reader.call(partial(write_note, name="by a reader"))
    await ledger.aclose()


@pytest.mark.slow
async def test_f05_a_ledger_locked_for_ten_seconds_survives(sqlite_place: Place, blocked: sqlite3.Connection) -> None:
    ledger = await sqlite_place.entered(lease=30.0)
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(i) for i in range(20)], [], fresh=True)
    blocked.execute("BEGIN EXCLUSIVE")
    threading.Timer(10.0, blocked.execute, ("COMMIT",)).start()

    async def work(number: int) -> None:
        claim = await claimed(ledger, key(number))
        await ledger.land(claim, outcome(key(number)), UnitState.VERIFIED, 1)

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(work, number)
    assert set((await states(ledger)).values()) == {UnitState.VERIFIED}
    assert not ledger.lost
    await ledger.aclose()


async def test_locked_for_longer_than_patience_is_an_error_with_a_way_out(
    sqlite_place: Place, blocked: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = await sqlite_place.entered()
    monkeypatch.setattr(writer, "PATIENCE", 0.2)
    blocked.execute("BEGIN IMMEDIATE")
    ledger.journal("fire", JournalRow(0, ["page"], []))
    with pytest.raises(LedgerFailed, match=r"ledger\.sqlite3: database is locked") as caught:
        await ledger.create_run(run_row(RUN))
    assert "end that" in caught.value.hint
    blocked.execute("COMMIT")
    await ledger.create_run(run_row(RUN))
    assert await all_of(ledger.journal_rows("fire")) == [JournalRow(0, ["page"], [])]
    await ledger.aclose()


async def test_a_cancelled_caller_still_learns_of_its_claim(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    with anyio.CancelScope() as scope:
        scope.cancel()
        claim = await ledger.claim(key(1), RUN)
        assert claim is not None
        await ledger.release(claim)
    assert await states(ledger) == {key(1): UnitState.OPEN}


async def test_a_killed_task_harms_no_other_request(ledger: SqlLedger) -> None:
    task = asyncio.ensure_future(ledger.note(RUN, "killed", 1))
    await asyncio.sleep(0)
    task.cancel()
    await ledger.note(RUN, "next", 2)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await ledger.notes(RUN))["next"] == 2


async def test_a_thread_is_served_beside_the_event_loop(ledger: SqlLedger) -> None:
    futures = [ledger._writer.submit(partial(write_note, name=str(number))) for number in range(10)]
    await ledger.note(RUN, "loop", 1)
    assert [future.result() for future in futures] == [None] * 10
    assert len(await ledger.notes(RUN)) == 11


# --- Postgres: connections break ---


@pytest.fixture
async def shared(postgres_place: Place) -> AsyncIterator[SqlLedger]:
    ledger = await postgres_place.entered()
    await ledger.create_run(run_row(RUN))
    yield ledger
    await ledger.aclose()


async def test_postgres_a_broken_connection_is_made_anew(postgres_place: Place, shared: SqlLedger) -> None:
    await shared.open_round(RUN, 1, [queued(i) for i in range(30)], [], fresh=True)
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'sweeper ledger' AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(postgres_place.url, autocommit=True) as other:
        for number in range(30):
            if number % 6 == 0:
                other.execute(kill)
                assert await shared.latest_run(SWEEP) is not None
            claim = await claimed(shared, key(number))
            await shared.land(claim, outcome(key(number)), UnitState.VERIFIED, 1)
    rows = await all_of(shared.attempts(run=RUN))
    assert [(row.state, row.token) for row in rows] == [("landed", 1)] * 30


@pytest.mark.parametrize("stored", [True, False])
async def test_postgres_a_commit_whose_answer_was_lost_happens_once(
    shared: SqlLedger, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shared.open_round(RUN, 1, [queued(1)], [], fresh=True)
    real = PostgresConnection.commit
    broken: list[bool] = []

    def breaking(self: PostgresConnection) -> None:
        if stored:
            real(self)
        if not broken:
            broken.append(True)
            self.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        if not stored:
            real(self)

    monkeypatch.setattr(PostgresConnection, "commit", breaking)
    claim = await shared.claim(key(1), RUN)
    assert broken
    assert claim is not None
    assert claim.token == 1
    assert await states(shared) == {key(1): UnitState.CLAIMED}


async def test_postgres_a_deadlock_is_tried_again(postgres_place: Place, shared: SqlLedger) -> None:
    other = await postgres_place.entered()
    await shared.open_round(RUN, 1, [queued(i) for i in range(2)], [], fresh=True)
    meet = threading.Barrier(2)

    def both(connection: Connection, first: int, second: int, met: list[bool]) -> None:
        sql = "UPDATE unit SET why = why WHERE key = ?"
        connection.run(sql, key(first))
        if not met:
            met.append(True)
            meet.wait(PATIENCE)
        connection.run(sql, key(second))

    async with anyio.create_task_group() as group:
        group.start_soon(shared._writer.call, partial(both, first=0, second=1, met=[]))
        group.start_soon(other._writer.call, partial(both, first=1, second=0, met=[]))
    await other.aclose()


async def test_postgres_out_of_reach_is_an_error_without_the_password(
    postgres_place: Place, shared: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE", 0.1)
    nowhere = Place("postgresql://user:secret@127.0.0.1:1/sweeper", postgres_place.state)
    with pytest.raises(LedgerFailed, match=r"postgresql://user@127.0.0.1:1/sweeper") as caught:
        nowhere.open()
    assert "secret" not in str(caught.value)
    assert "[ledger] url" in caught.value.hint


def test_passwords_do_not_show() -> None:
    url = "postgresql://u:p%40ss@h:1/d?password=x&sslmode=require"
    assert without_password(url) == "postgresql://u@h:1/d?password=***&sslmode=require"
    assert without_password("postgresql:///d?host=/run") == "postgresql:///d?host=/run"


def test_nobody_waits_forever_when_the_event_loop_is_gone(sqlite_place: Place) -> None:
    ledger = sqlite_place.open()

    async def ask() -> None:
        asyncio.ensure_future(ledger.create_run(run_row(RUN))).add_done_callback(lambda _: None)
        await asyncio.sleep(0)

    blocker = sqlite3.connect(sqlite_place.database, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    loop = asyncio.new_event_loop()
    loop.run_until_complete(ask())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    blocker.execute("COMMIT")
    blocker.close()
    asyncio.run(ledger.aclose())
    assert sqlite3.connect(sqlite_place.database).execute("SELECT id FROM run").fetchall() == [(RUN,)]


def test_the_benchmark_runs_both_sides(tmp_path: Path) -> None:
    assert anyio.run(bare_loop, tmp_path / "bare", 20) > 0
    assert anyio.run(through_the_ledger, tmp_path / "ledger", 40, 8) > 0
