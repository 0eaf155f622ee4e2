"""The lease through the ledger: renewals (F01), failed ones (F03), clocks that step."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest

from sweeper.errors import LedgerFailed, StaleClaim
from sweeper.ledger import lease, writer
from sweeper.ledger.lease import Renewal, make_owner
from sweeper.records import Owner, UnitState
from tests.ledger.builders import (
    ELSEWHERE,
    HOUR,
    RUN,
    Place,
    all_of,
    claimed,
    crash,
    key,
    outcome,
    queued,
    run_out,
    run_row,
)
from tests.waiting import PATIENCE, until


class Hurried(threading.Event):
    """Waits a hundredth of the time: a lease that is renewed soon and lasts, however late the thread comes."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(timeout and timeout / 100)


# --- the lease, through the ledger ---


@pytest.mark.anyio
async def test_f01_a_slow_unit_keeps_its_claim_by_renewals(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "threading", SimpleNamespace(Event=Hurried, Thread=threading.Thread))
    # The owner as if on another machine: no lock file, no process id helps; the lease alone.
    slow = await place.entered(replace(ELSEWHERE, id="slow"), locks=tmp_path / "there")
    await slow.create_run(run_row(RUN))
    await slow.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(slow, key(1))
    row = await slow.start(claim, 0, 1)
    watching = await place.entered(locks=tmp_path / "here")

    async def ends() -> float:
        [(when,)] = await watching._reader.call(
            lambda reader: reader.rows("SELECT expires FROM owner WHERE id = 'slow'")
        )
        return float(when)

    with anyio.fail_after(PATIENCE):
        for _ in range(3):
            before = await ends()
            while await ends() <= before:
                await anyio.sleep(0.02)
                assert await watching.stale_claims() == []
                assert not slow.lost
    await slow.land(claim, outcome(key(1), row.number), UnitState.VERIFIED, 1)
    await watching.aclose()
    await slow.aclose()


@pytest.mark.anyio
async def test_f01_the_result_of_a_lost_lease_is_kept_and_not_merged(place: Place, tmp_path: Path) -> None:
    late = await place.entered(replace(ELSEWHERE, id="late"), locks=tmp_path / "there")
    await late.create_run(run_row(RUN))
    await late.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(late, key(1))
    row = await late.start(claim, 0, 1)
    await run_out(late)
    assert late.lost
    watching = await place.entered(locks=tmp_path / "here")
    [stale] = await watching.stale_claims()
    assert (stale.claim.token, stale.owner.host) == (claim.token, "other-host")
    await watching.break_claim(stale)
    with pytest.raises(StaleClaim):
        await late.land(claim, outcome(key(1), row.number), UnitState.VERIFIED, 1)
    assert [row.state for row in await all_of(watching.attempts(unit=key(1)))] == ["started", "stale"]
    assert await all_of(watching.verified(RUN)) == []
    await late.aclose()
    await watching.aclose()


@pytest.mark.anyio
async def test_an_owner_that_came_back_before_the_break_keeps_its_claim(place: Place, tmp_path: Path) -> None:
    paused = await place.entered(replace(ELSEWHERE, id="paused"), locks=tmp_path / "there")
    await paused.create_run(run_row(RUN))
    await paused.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(paused, key(1))
    await run_out(paused)
    watching = await place.entered(locks=tmp_path / "here")
    [stale] = await watching.stale_claims()
    assert paused._renew().result()
    await watching.break_claim(stale)
    await paused.land(claim, outcome(key(1)), UnitState.VERIFIED, 1)
    await paused.aclose()
    await watching.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("step", [HOUR, -HOUR])
async def test_a_stepped_clock_neither_steals_nor_blocks(
    place: Place, step: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    living, dead = await place.entered(), await place.entered()
    await living.create_run(run_row(RUN))
    await living.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    await claimed(living, key(1))
    await claimed(dead, key(2))
    crash(dead)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + step)
    assert living._renew().result()
    assert not living.lost
    watching = await place.entered()
    assert [stale.claim.unit for stale in await watching.stale_claims()] == [key(2)]
    assert await watching.alive(living._owner or ELSEWHERE)
    await watching.aclose()
    await living.aclose()


@pytest.mark.anyio
async def test_alive_tells_of_owners_known_and_unknown(place: Place, ended_process: Owner) -> None:
    ledger, dead = await place.entered(), await place.entered()
    assert ledger._owner is not None
    assert dead._owner is not None
    assert await ledger.alive(ledger._owner)
    assert await ledger.alive(dead._owner)
    crash(dead)
    assert await ledger.alive(dead._owner) is False
    assert await ledger.alive(ended_process) is False
    assert await ledger.alive(replace(make_owner(), id="another ledger's")) is True
    assert await ledger.alive(ELSEWHERE) is None
    await ledger.aclose()
    asking = place.open()
    assert await asking.alive(ledger._owner) is False
    await asking.aclose()


# --- F03 ---


def test_f03_a_failed_renewal_is_no_loss_until_the_local_deadline() -> None:
    failed: list[float] = []
    now = 100.0

    def renew() -> Future[bool]:
        failed.append(now)
        future: Future[bool] = Future()
        future.set_exception(LedgerFailed("database is locked"))
        return future

    renewal = Renewal(0.3, now, renew, clock=lambda: now)
    until(lambda: len(failed) >= 4, "four renewals")
    lost = []
    for step in (0.29, 0.02):
        now += step
        lost.append(renewal.lost)
    assert lost == [False, True]
    renewal.stop()


def test_f03_the_deadline_counts_from_when_the_renewal_was_sent() -> None:
    sent: list[float] = []
    now = 100.0

    def renew() -> Future[bool]:
        nonlocal now
        sent.append(now)
        future: Future[bool] = Future()
        if len(sent) == 1:
            now += 0.2  # until it was accepted
            future.set_result(True)
        else:
            future.set_exception(LedgerFailed("gone"))
        return future

    renewal = Renewal(0.6, now, renew, clock=lambda: now)
    until(lambda: len(sent) >= 2, "a second renewal")
    assert now + renewal.left == sent[0] + 0.6
    renewal.stop()


@pytest.mark.anyio
async def test_f03_a_locked_ledger_for_a_second_kills_nobody(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "PATIENCE", 0.2)
    ledger = await sqlite_place.entered()
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(ledger, key(1))
    blocker = sqlite3.connect(sqlite_place.database, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerFailed, match="database is locked"):
        await ledger.start(claim, 0, 1)
    with pytest.raises(LedgerFailed, match="database is locked"):
        ledger._renew().result()
    blocker.execute("ROLLBACK")
    blocker.close()
    assert not ledger.lost
    row = await ledger.start(claim, 0, 1)
    assert ledger._renew().result()
    assert not ledger.lost
    await ledger.land(claim, outcome(key(1), row.number), UnitState.VERIFIED, 1)
    await ledger.aclose()


@pytest.mark.anyio
async def test_f03_a_renewal_in_flight_while_a_unit_completes_is_nothing(place: Place) -> None:
    ledger = await place.entered()
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(i) for i in range(40)], [], fresh=True)
    for number in range(40):
        claim = await claimed(ledger, key(number))
        renewal = ledger._renew()
        await ledger.land(claim, outcome(key(number)), UnitState.VERIFIED, 1)
        assert renewal.result()
        assert not ledger.lost
    await ledger.aclose()
