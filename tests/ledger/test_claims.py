"""Claims, attempts, fencing and the story they leave, over both databases."""

from __future__ import annotations

import anyio
import pytest

from sweeper.errors import DispatcherBusy, LedgerFailed, StaleClaim
from sweeper.ledger import make_owner
from sweeper.ledger.contract import Counts, JournalRow
from sweeper.ledger.sql import SqlLedger
from sweeper.records import Kind, Outcome, UnitState, Usage
from tests.ledger.builders import (
    RUN,
    SWEEP,
    Place,
    all_of,
    claimed,
    crash,
    key,
    land_fixed,
    outcome,
    paged,
    queued,
    run_row,
    states,
)
from tests.waiting import PATIENCE, until_true

pytestmark = pytest.mark.anyio


@pytest.fixture
async def open_one(ledger: SqlLedger) -> str:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    return key(1)


async def test_of_many_claimers_one_gets_the_unit(ledger: SqlLedger, open_one: str) -> None:
    got = []

    async def take() -> None:
        got.append(await ledger.claim(open_one, RUN))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(take)
    assert len([claim for claim in got if claim is not None]) == 1
    assert await paged(ledger) == []
    assert await ledger.claim("no such unit", RUN) is None


async def test_tokens_only_grow(ledger: SqlLedger, open_one: str) -> None:
    tokens = []
    for _ in range(3):
        claim = await claimed(ledger, open_one)
        tokens.append(claim.token)
        await ledger.release(claim)
        await ledger.release(claim)
    assert tokens == sorted(set(tokens))
    assert await states(ledger) == {open_one: UnitState.OPEN}


async def test_landing_releases_in_the_same_motion(ledger: SqlLedger, open_one: str) -> None:
    claim, row = await land_fixed(ledger, open_one)
    assert (row.number, row.state, row.token, row.adopted) == (1, "started", claim.token, False)
    await ledger.release(claim)
    assert await states(ledger) == {open_one: UnitState.VERIFIED}
    assert await ledger.claim(open_one, RUN) is None
    [landed] = await all_of(ledger.attempts(unit=open_one))
    assert (landed.state, landed.outcome, landed.usage) == ("landed", outcome(open_one), Usage(10, 5, 100))


async def test_an_unfinished_attempt_is_adopted_in_its_round(ledger: SqlLedger, open_one: str) -> None:
    first = await claimed(ledger, open_one)
    begun = await ledger.start(first, 1, 1)
    await ledger.release(first)
    again = await claimed(ledger, open_one)
    adopted = await ledger.start(again, 3, 1)
    assert (adopted.number, adopted.rung, adopted.adopted) == (1, 1, True)
    assert (begun.token, adopted.token) == (first.token, again.token)
    with pytest.raises(StaleClaim):
        await ledger.start(first, 1, 1)


async def test_an_attempt_of_a_round_that_is_over_is_not_adopted(ledger: SqlLedger, open_one: str) -> None:
    first = await claimed(ledger, open_one)
    await ledger.start(first, 0, 1)
    await ledger.release(first)
    following = await ledger.start(await claimed(ledger, open_one), 0, 2)
    assert (following.number, following.adopted) == (2, False)
    assert [row.state for row in await all_of(ledger.attempts(unit=open_one))] == ["lost", "started"]


async def test_a_lost_attempt_is_settled_at_its_spend_and_run_again(ledger: SqlLedger, open_one: str) -> None:
    claim = await claimed(ledger, open_one)
    begun = await ledger.start(claim, 2, 1)
    following = await ledger.lose(claim, begun.number, Usage(1, 2, 300))
    assert (following.number, following.rung, following.round, following.state) == (2, 2, 1, "started")
    with pytest.raises(LedgerFailed, match="attempt 1"):
        await ledger.lose(claim, 1, Usage())
    with pytest.raises(LedgerFailed, match="attempt 1"):
        await ledger.land(claim, outcome(open_one, 1), UnitState.VERIFIED, 1)
    await ledger.land(claim, outcome(open_one, 2), UnitState.VERIFIED, 1)
    lost, landed = await all_of(ledger.attempts(unit=open_one))
    assert (lost.state, lost.usage, lost.outcome) == ("lost", Usage(1, 2, 300), None)
    assert landed.state == "landed"
    assert await ledger.spent(0.0) == 400
    assert await ledger.spent(landed.started + 3600) == 0


async def test_one_stale_result_does_not_undo_the_others_of_its_group(place: Place, ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(i) for i in range(20)], [], fresh=True)
    claims = [await claimed(ledger, key(i)) for i in range(20)]
    await ledger.release(claims[7])
    refused = []

    async def land(number: int) -> None:
        try:
            await ledger.land(claims[number], outcome(key(number)), UnitState.VERIFIED, 1)
        except StaleClaim:
            refused.append(number)

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(land, number)
    assert refused == [7]
    found = await states(ledger)
    assert found.pop(key(7)) == UnitState.OPEN
    assert set(found.values()) == {UnitState.VERIFIED}


async def test_a_late_result_is_kept_as_evidence_and_never_counts(place: Place, ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    late = await place.entered()
    stuck = await claimed(late, key(1))
    begun = await late.start(stuck, 0, 1)
    crash(late)
    [stale] = await ledger.stale_claims()
    assert (stale.claim.unit, stale.claim.token, stale.attempt) == (key(1), stuck.token, begun)
    await ledger.break_claim(stale)
    claim = await claimed(ledger, key(1))
    assert (await ledger.start(claim, 0, 1)).adopted
    back = place.open()
    for _ in range(2):
        with pytest.raises(StaleClaim, match="no longer stands"):
            await back.land(stuck, outcome(key(1), 1, Kind.PARTIAL), UnitState.VERIFIED, 1)
    await back.aclose()
    await ledger.land(claim, outcome(key(1), 1), UnitState.VERIFIED, 1)
    own, kept = await all_of(ledger.attempts(unit=key(1)))
    assert (own.state, own.token, own.outcome) == ("landed", claim.token, outcome(key(1), 1))
    assert (kept.state, kept.token, kept.outcome) == ("stale", stuck.token, outcome(key(1), 1, Kind.PARTIAL))
    assert (await ledger.counts(RUN)).outcomes == {"fixed": 1}
    unit = await ledger.unit(SWEEP, key(1))
    assert unit is not None
    assert len(unit.history.outcomes) == 1


async def test_breaking_a_claim_that_changed_meanwhile_is_nothing(place: Place, ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    dead = await place.entered()
    await claimed(dead, key(1))
    crash(dead)
    [stale] = await ledger.stale_claims()
    await ledger.break_claim(stale)
    ours = await claimed(ledger, key(1))
    await ledger.break_claim(stale)
    await ledger.land(ours, outcome(key(1)), UnitState.VERIFIED, 1)


async def test_a_dead_owner_can_neither_claim_nor_renew(place: Place, ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    zombie = await place.entered(lease=3.0)
    await claimed(zombie, key(1))
    assert zombie._lock is not None
    zombie._lock.release(remove=False)
    [stale] = await ledger.stale_claims()
    await ledger.break_claim(stale)
    assert await zombie.claim(key(2), RUN) is None
    await until_true(lambda: zombie.lost, "the loss")
    assert zombie._renewal is not None
    zombie._renewal.stop()


async def test_nothing_is_claimed_without_an_owner(place: Place) -> None:
    ledger = place.open()
    with pytest.raises(LedgerFailed, match="no owner"):
        await ledger.claim(key(1), RUN)
    await ledger.aclose()
    await ledger.aclose()
    with pytest.raises(LedgerFailed, match="is closed"):
        await ledger.hold(key(1), "late")


async def test_a_second_dispatcher_hears_who_holds_the_sweep(place: Place, ledger: SqlLedger) -> None:
    await ledger.take_dispatcher(SWEEP)
    await ledger.take_dispatcher(SWEEP)
    owner = make_owner()
    other = await place.entered(owner)
    with pytest.raises(DispatcherBusy, match=rf"'lint'.*host {owner.host}, pid {owner.pid}, since 2\d\d\d-") as caught:
        await other.take_dispatcher(SWEEP)
    assert caught.value.exit_code == 7
    assert "stop that process" in caught.value.hint
    await other.take_dispatcher("types")
    await ledger.drop_dispatcher(SWEEP)
    await other.take_dispatcher(SWEEP)
    await other.aclose()
    await ledger.take_dispatcher(SWEEP)
    await ledger.take_dispatcher("types")


async def test_a_dead_dispatcher_is_replaced(place: Place, ledger: SqlLedger) -> None:
    dead = await place.entered()
    await dead.take_dispatcher(SWEEP)
    crash(dead)
    await ledger.take_dispatcher(SWEEP)
    other = await place.entered()
    with pytest.raises(DispatcherBusy):
        await other.take_dispatcher(SWEEP)
    await other.aclose()


async def test_owners_and_lock_files_of_the_dead_do_not_pile_up(place: Place, ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    holder = await place.entered()
    await claimed(holder, key(1))
    crash(holder)
    for _ in range(3):
        crash(await place.entered())
    final = await place.entered()
    files = {path.stem for path in (place.state / "owners").iterdir()}
    assert files == {ledger._me, holder._me, final._me}
    assert [stale.owner.id for stale in await final.stale_claims()] == [holder._me]
    await final.aclose()
    assert {path.stem for path in (place.state / "owners").iterdir()} == {ledger._me, holder._me}


async def test_counts_and_notes(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(i) for i in range(3)], [], fresh=True)
    await land_fixed(ledger, key(0))
    claim = await claimed(ledger, key(1))
    await ledger.land(claim, outcome(key(1), kind=Kind.NO_CHANGE), UnitState.OPEN, 2)
    assert await ledger.counts(RUN) == Counts({"open": 2, "verified": 1}, {"fixed": 1, "no_change": 1}, later=1)
    await ledger.note(RUN, "gate", {"ok": False})
    await ledger.note(RUN, "gate", {"ok": True, "path": "\udc80\x00"})
    assert await ledger.notes(RUN) == {"gate": {"ok": True, "path": "\udc80\x00"}}
    assert await ledger.notes("another") == {}


async def test_attempts_by_run_and_by_unit(ledger: SqlLedger) -> None:
    await ledger.create_run(run_row("run-2"))
    await ledger.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    await land_fixed(ledger, key(1))
    await ledger.start(await claimed(ledger, key(2), "run-2"), 0, 1)
    assert [row.unit for row in await all_of(ledger.attempts(run=RUN))] == [key(1)]
    assert [row.run for row in await all_of(ledger.attempts(unit=key(2)))] == ["run-2"]
    assert len(await all_of(ledger.attempts())) == 2
    assert await all_of(ledger.attempts(run=RUN, unit=key(2))) == []


async def test_an_outcome_comes_back_as_it_landed(ledger: SqlLedger, open_one: str) -> None:
    claim = await claimed(ledger, open_one)
    odd = Outcome(open_one, 1, 3, Kind.TRANSIENT, "", claimed="I \udcff\x00 did", reviews=("a",), retry_after=2.5)
    await ledger.land(claim, odd, UnitState.OPEN, 1)
    [row] = await all_of(ledger.attempts(unit=open_one))
    assert row.outcome == odd


async def test_the_journal_comes_back_in_order_and_by_fire(place: Place, ledger: SqlLedger) -> None:
    rows = [JournalRow(seq, ["landed", f"unit \udc80 {seq}"], [["CLAIM", seq]]) for seq in range(1100)]
    for row in rows:
        ledger.journal("fire-1", row)
    await ledger.note(RUN, "any", "transaction carries them")
    assert await all_of(ledger.journal_rows("fire-1")) == rows
    ledger.journal("fire-2", JournalRow(0, ["page"], []))
    other = place.open()
    with anyio.fail_after(PATIENCE):
        while not await all_of(other.journal_rows("fire-2")):  # noqa: ASYNC110 it is another coordinator's
            await anyio.sleep(0.02)
    latest = await all_of(other.journal_rows())
    await other.aclose()
    assert latest == [JournalRow(0, ["page"], [])]
    assert await all_of(ledger.journal_rows("no such fire")) == []


async def test_the_journal_is_written_at_the_end(place: Place) -> None:
    ledger = place.open()
    assert await all_of(ledger.journal_rows()) == []
    ledger.journal("fire", JournalRow(0, ["cancelled"], []))
    await ledger.aclose()
    ledger = place.open()
    assert await all_of(ledger.journal_rows()) == [JournalRow(0, ["cancelled"], [])]
    await ledger.aclose()


async def test_f10_behind_a_gap_of_the_journal_nothing_is_replayed(ledger: SqlLedger) -> None:
    for seq in (0, 1, 3):
        ledger.journal("fire", JournalRow(seq, ["time"], []))
    await ledger.note(RUN, "carry", None)
    assert [row.seq for row in await all_of(ledger.journal_rows("fire"))] == [0, 1]
