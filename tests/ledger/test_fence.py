"""A coordinator whose dispatcher lease another one holds by now changes no run, over both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import psycopg
import pytest

from sweeper.errors import StaleClaim
from sweeper.ledger.sql import SqlLedger
from sweeper.records import Kind, UnitState
from tests.ledger.builders import (
    RUN,
    SWEEP,
    TIP,
    Place,
    all_of,
    crash,
    key,
    land_fixed,
    outcome,
    queued,
    run_row,
)
from tests.waiting import until_true

pytestmark = pytest.mark.anyio

WRITES: dict[str, Callable[[SqlLedger], Awaitable[None]]] = {
    "close_round": lambda ledger: ledger.close_round(
        RUN, 1, TIP, {key(0): "0" * 40}, [outcome(key(1), kind=Kind.EJECTED, reason="tests")]
    ),
    "open_round": lambda ledger: ledger.open_round(RUN, 2, [], [], fresh=False),
    "end_run": lambda ledger: ledger.end_run(RUN, "drained"),
    "reopen_run": lambda ledger: ledger.reopen_run(RUN),
    "note": lambda ledger: ledger.note(RUN, "gate", "of the first"),
}


@pytest.fixture
async def first(place: Place, ledger: SqlLedger) -> AsyncIterator[SqlLedger]:
    """A coordinator at its barrier whose place `ledger` took, because it had it for dead."""
    first = await place.entered()
    await first.take_dispatcher(SWEEP)
    await first.open_round(RUN, 1, [queued(0), queued(1)], [], fresh=True)
    await land_fixed(first, key(0))
    await land_fixed(first, key(1))
    await first.note(RUN, "gate", "kept")
    await first.end_run(RUN, "kept")
    await mark_dead(first)
    await ledger.take_dispatcher(SWEEP)
    yield first
    await first.aclose()


async def mark_dead(ledger: SqlLedger) -> None:
    sql = "UPDATE owner SET dead = 1 WHERE id = ?"
    me = ledger._me
    await ledger._writer.call(lambda connection: connection.run(sql, me))


async def everything(ledger: SqlLedger) -> tuple[Any, ...]:
    units, attempts = await all_of(ledger.units(SWEEP)), await all_of(ledger.attempts())
    return await ledger.run(RUN), await ledger.notes(RUN), units, attempts, await ledger.skips(RUN)


@pytest.mark.parametrize("write", WRITES)
async def test_a_coordinator_that_lost_its_sweep_changes_no_run(
    ledger: SqlLedger, first: SqlLedger, write: str
) -> None:
    before = await everything(ledger)
    with pytest.raises(
        StaleClaim, match=f"dispatcher lease of sweep '{SWEEP}' is not held by this coordinator any more"
    ):
        await WRITES[write](first)
    assert await everything(ledger) == before
    await WRITES[write](ledger)
    assert await everything(ledger) != before


async def test_holding_and_releasing_units_and_other_sweeps_stay_free(ledger: SqlLedger, first: SqlLedger) -> None:
    await ledger.close_round(RUN, 1, TIP, {}, [outcome(key(1), kind=Kind.EJECTED)])
    await first.hold(key(1), "by hand")
    assert await first.release_held(key(1))
    await first.create_run(run_row("of-types", "types"))
    await first.open_round("of-types", 1, [queued(9, sweep="types")], [], fresh=True)
    await first.close_round("of-types", 1, TIP, {}, [])


async def test_without_any_dispatcher_everybody_may_write(place: Place, ledger: SqlLedger) -> None:
    unentered = place.open()
    await unentered.open_round(RUN, 1, [queued(1)], [], fresh=True)
    await unentered.note(RUN, "by", "nobody")
    await unentered.aclose()
    await ledger.end_run(RUN, "drained")


async def test_a_crashed_coordinators_lease_fences_until_it_is_taken(place: Place, ledger: SqlLedger) -> None:
    dead = await place.entered()
    await dead.take_dispatcher(SWEEP)
    crash(dead)
    with pytest.raises(StaleClaim):
        await ledger.end_run(RUN, "drained")
    await ledger.take_dispatcher(SWEEP)
    await ledger.end_run(RUN, "drained")


async def test_postgres_nobody_takes_the_sweep_between_the_look_and_the_commit(
    postgres_place: Place, postgres_url: str
) -> None:
    ledger = await postgres_place.entered()
    await ledger.create_run(run_row(RUN))
    await ledger.take_dispatcher(SWEEP)
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    with psycopg.connect(postgres_url) as taking:
        taking.execute("UPDATE sweeper.dispatcher SET owner = 'another' WHERE sweep = %s", (SWEEP,))
        async with anyio.create_task_group() as group:

            async def close() -> None:
                with pytest.raises(StaleClaim):
                    await ledger.close_round(RUN, 1, TIP, {}, [])

            group.start_soon(close)
            await waiting(postgres_url)
            taking.commit()
    run = await ledger.run(RUN)
    assert run is not None
    assert (run.phase, run.round) == ("fanout", 1)
    assert [unit.state for unit in await all_of(ledger.units(SWEEP))] == [UnitState.OPEN]
    await ledger.aclose()


async def waiting(url: str) -> None:
    """Until some session of the ledger waits for a lock; fails if none does."""
    sql = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'sweeper ledger' AND wait_event_type = 'Lock'"
    with psycopg.connect(url, autocommit=True) as looking:
        await until_true(lambda: looking.execute(sql).fetchone(), "a session that waits for the dispatcher's row")
