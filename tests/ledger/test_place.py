"""Where the ledger lies: disk full, network file systems, torn files, schema versions."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sweeper.errors import ConfigError, LedgerFailed
from sweeper.ledger import open_ledger, sqlite, writer
from sweeper.ledger.contract import JournalRow
from sweeper.ledger.schema import MIGRATIONS, migrate
from sweeper.ledger.sql import SqlLedger
from sweeper.records import Evidence, Kind, Outcome, UnitState
from tests.conftest import User
from tests.ledger.builders import BASE, RUN, SWEEP, Place, all_of, claimed, key, outcome, queued, run_row, states

pytestmark = pytest.mark.anyio


@pytest.fixture
def small_disk(ordinary_user: User, tmp_path: Path) -> Iterator[Path]:
    """A file system of 5 MB; asking for the ordinary user says that only root can mount it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


async def test_c24_a_full_disk_is_an_error_and_nothing_is_half_written(small_disk: Path) -> None:
    place = Place("", small_disk / "state")
    ledger = await place.entered()
    filler = small_disk / "filler"
    filler.write_bytes(bytes(2 << 20))
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(i) for i in range(200)], [], fresh=True)
    stored: list[str] = []
    evidence = Evidence(lines=("x" * 30_000,))

    async def until_full() -> None:
        for number in range(200):
            claim = await claimed(ledger, key(number))
            result = Outcome(key(number), 1, 0, Kind.FIXED, BASE, evidence=evidence)
            await ledger.land(claim, result, UnitState.VERIFIED, 1)
            stored.append(key(number))

    with pytest.raises(LedgerFailed, match=str(place.database)) as caught:
        await until_full()
    assert "free space" in caught.value.hint
    assert stored
    filler.unlink()
    assert {row.unit async for row in ledger.attempts(run=RUN)} == set(stored)
    following = await claimed(ledger, key(199))
    await ledger.land(following, outcome(following.unit), UnitState.VERIFIED, 1)
    await ledger.aclose()
    with contextlib.closing(sqlite3.connect(place.database)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_c24_no_room_even_to_open(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(bytes(6 << 20))
    with pytest.raises(LedgerFailed, match=str(small_disk)) as caught:
        open_ledger("", small_disk / "state")
    assert "space" in caught.value.hint


async def test_c24_a_quota_of_pages(sqlite_place: Place) -> None:
    """The same where nobody may mount: SQLite's own limit raises the same error."""
    ledger = await sqlite_place.entered()
    await ledger.create_run(run_row(RUN))
    await ledger._writer.call(lambda connection: connection.rows("PRAGMA max_page_count=60"))
    with pytest.raises(LedgerFailed, match="full"):
        await ledger.open_round(RUN, 1, [queued(i, 20) for i in range(400)], [], fresh=True)
    assert await states(ledger) == {}
    await ledger._writer.call(lambda connection: connection.rows("PRAGMA max_page_count=100000"))
    await ledger.open_round(RUN, 1, [queued(i, 20) for i in range(400)], [], fresh=True)
    assert len(await states(ledger)) == 400
    await ledger.aclose()


async def test_f05_no_write_ahead_log_on_a_network_file_system(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "shared_type", lambda path: "nfs4")
    ledger = await sqlite_place.entered()
    assert "nfs4" in ledger.notice
    assert "$SWEEPER_STATE" in ledger.notice
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(ledger, key(1))
    await ledger.land(claim, outcome(key(1)), UnitState.VERIFIED, 1)
    assert len(await all_of(ledger.verified(RUN))) == 1
    assert await ledger.unit(None, "module_0001.py") is not None
    assert not list(sqlite_place.state.glob("*-wal"))
    monkeypatch.setattr(writer, "PATIENCE", 0.2)
    with pytest.raises(LedgerFailed, match="locked") as caught:
        sqlite_place.open()
    assert "one process at a time" in caught.value.hint
    await ledger.aclose()
    sqlite_place.open()._close()


async def test_on_a_local_disk_there_is_nothing_to_say(place: Place) -> None:
    ledger = place.open()
    assert ledger.notice == ""
    await ledger.aclose()


async def test_f10_a_torn_tail_loses_only_itself(sqlite_place: Place, tmp_path: Path) -> None:
    ledger = await sqlite_place.entered()
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(i) for i in range(10)], [], fresh=True)
    for number in range(10):
        ledger.journal("fire", JournalRow(number, ["landed", number], []))
        claim = await claimed(ledger, key(number))
        await ledger.land(claim, outcome(key(number)), UnitState.VERIFIED, 1)
    log = sqlite_place.database.with_name("ledger.sqlite3-wal").read_bytes()
    for cut in (1, 100, 4096, 9000, 40_000, len(log) // 2):
        torn = Place("", tmp_path / f"torn-{cut}")
        torn.state.mkdir()
        shutil.copy(sqlite_place.database, torn.database)
        torn.database.with_name("ledger.sqlite3-wal").write_bytes(log[:-cut])
        after = torn.open()
        units = await states(after)
        landed = {row.unit async for row in after.attempts(run=RUN)}
        assert landed == {key for key, state in units.items() if state == UnitState.VERIFIED}
        seqs = [row.seq async for row in after.journal_rows("fire")]
        assert seqs == list(range(len(seqs)))
        await after.aclose()
    await ledger.aclose()


async def test_a_damaged_file_is_named(sqlite_place: Place) -> None:
    sqlite_place.state.mkdir()
    sqlite_place.database.write_bytes(b"no database at all, though long enough to look at" * 100)
    with pytest.raises(LedgerFailed, match="not a database") as caught:
        sqlite_place.open()
    assert "damaged" in caught.value.hint


async def test_a_place_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerFailed, match="file") as caught:
        open_ledger("", tmp_path / "file" / "state")
    assert "$SWEEPER_STATE" in caught.value.hint


async def test_an_unknown_kind_of_url_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mysql") as caught:
        open_ledger("mysql://x", tmp_path)
    assert caught.value.exit_code == 2


async def test_a_newer_schema_is_an_error_that_names_both_versions(place: Place) -> None:
    ledger = place.open()
    known = len(MIGRATIONS)
    newer = (*MIGRATIONS, ("ALTER TABLE run ADD COLUMN later TEXT NOT NULL DEFAULT 'x'",))
    await ledger.create_run(run_row(RUN))
    await ledger._writer.call(partial(migrate, where="here", migrations=newer))
    await ledger._writer.call(partial(migrate, where="here", migrations=newer))
    run = await ledger.latest_run(SWEEP)
    assert run is not None
    assert run.id == RUN
    await ledger.aclose()
    with pytest.raises(LedgerFailed, match=rf"schema version {known + 1}.*up to {known}") as caught:
        place.open()
    assert "newer sweeper" in caught.value.hint


async def test_a_migration_that_fails_changes_nothing(ledger: SqlLedger) -> None:
    broken = (*MIGRATIONS, ("CREATE TABLE extra (x BIGINT)", "CREATE TABLE run (x BIGINT)"))
    with pytest.raises(LedgerFailed):
        await ledger._writer.call(partial(migrate, where="here", migrations=broken))
    with pytest.raises(LedgerFailed):
        await ledger._writer.call(lambda connection: connection.rows("SELECT * FROM extra"))
    assert await ledger.latest_run(SWEEP) is not None


async def test_many_open_a_new_ledger_at_once(place: Place) -> None:
    opened: list[SqlLedger] = []
    threads = [threading.Thread(target=lambda: opened.append(place.open())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6
    for ledger in opened:
        await ledger.aclose()
