"""One ledger, twice: everything that takes `place` or `ledger` runs over SQLite and over Postgres."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from sweeper.ledger import make_owner
from sweeper.ledger.sql import SqlLedger
from sweeper.records import Owner
from tests.ledger.builders import BASE, RUN, SWEEP, Place, run_row


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    return Place("", tmp_path / "state")


@pytest.fixture
def postgres_place(postgres_url: str, tmp_path: Path) -> Place:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS sweeper CASCADE")
    return Place(postgres_url, tmp_path / "state")


@pytest.fixture
async def ledger(place: Place) -> AsyncIterator[SqlLedger]:
    """An entered ledger with one run, no round open yet."""
    ledger = place.open()
    await ledger.enter(make_owner(), 60.0)
    await ledger.create_run(run_row(RUN, SWEEP, BASE))
    yield ledger
    await ledger.aclose()


@pytest.fixture
def ended_process() -> Owner:
    """The owner that a process, now gone, made of itself."""
    code = "from sweeper.ledger import make_owner as m; o = m(); print(o.id, o.host, o.pid, o.started, o.boot)"
    id, host, pid, started, boot = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    return Owner(id, host, int(pid), float(started), boot)
