"""Runs, rounds, the queue and the barrier, over both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeper.errors import ConfigError, LedgerFailed
from sweeper.ledger.sql import CHUNK, SqlLedger
from sweeper.records import Evidence, Finding, History, Kind, Skip, SkipReason, Unit, UnitState
from tests.ledger.builders import (
    BASE,
    RUN,
    SWEEP,
    TIP,
    all_of,
    claimed,
    key,
    land_fixed,
    outcome,
    paged,
    queued,
    run_row,
    states,
)

pytestmark = pytest.mark.anyio


async def test_a_run_is_stored_whole_and_the_newest_is_found(ledger: SqlLedger) -> None:
    later = run_row("run-2", base="d" * 40)
    await ledger.create_run(later)
    assert await ledger.latest_run(SWEEP) == later
    assert [run.id for run in await ledger.runs()] == ["run-2", RUN]
    assert [run.id for run in await ledger.runs(1)] == ["run-2"]
    assert await ledger.run("run-2") == later
    assert await ledger.run("nowhere") is None
    assert await ledger.latest_run("another sweep") is None


async def test_runs_of_one_sweep_only(ledger: SqlLedger) -> None:
    await ledger.create_run(run_row("of-types", "types"))
    await ledger.create_run(run_row("run-2"))
    assert [run.id for run in await ledger.runs(sweep=SWEEP)] == ["run-2", RUN]
    assert [run.id for run in await ledger.runs(1, "types")] == ["of-types"]
    assert await ledger.runs(sweep="another sweep") == []


async def test_a_run_and_its_first_notes_are_stored_together_or_not_at_all(ledger: SqlLedger) -> None:
    await ledger.create_run(run_row("run-2"), {"config": {"check": "ruff"}, "check": ["ruff"]})
    assert await ledger.notes("run-2") == {"config": {"check": "ruff"}, "check": ["ruff"]}
    with pytest.raises(LedgerFailed):
        await ledger.create_run(run_row("run-3"), {"good": 1, "no JSON": object()})
    assert await ledger.run("run-3") is None
    assert await ledger.notes("run-3") == {}


async def test_f10_another_base_or_configuration_is_another_run(ledger: SqlLedger) -> None:
    found = await ledger.latest_run(SWEEP, BASE, "digest")
    assert found is not None
    assert found.id == RUN
    assert await ledger.latest_run(SWEEP, "d" * 40, "digest") is None
    assert await ledger.latest_run(SWEEP, BASE, "another linter version") is None


async def test_a_reopened_run_goes_on_in_its_phase(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    await ledger.end_run(RUN, "limit: units_per_fire")
    ended = await ledger.latest_run(SWEEP)
    assert ended is not None
    assert (ended.phase, ended.ended) == ("done", "limit: units_per_fire")
    await ledger.reopen_run(RUN)
    reopened = await ledger.latest_run(SWEEP)
    assert reopened is not None
    assert (reopened.phase, reopened.ended, reopened.round) == ("fanout", "", 1)


async def test_an_unknown_run_is_an_error(ledger: SqlLedger) -> None:
    with pytest.raises(LedgerFailed, match="no run nowhere"):
        await ledger.end_run("nowhere", "x")
    with pytest.raises(LedgerFailed, match="no run nowhere"):
        await ledger.page("nowhere", 1, None)
    with pytest.raises(LedgerFailed, match="no run nowhere"):
        await ledger.open_round("nowhere", 1, [queued(1)], [], fresh=True)
    with pytest.raises(LedgerFailed, match="no run nowhere"):
        await ledger.close_round("nowhere", 1, TIP, {}, [])
    with pytest.raises(LedgerFailed, match="no run nowhere"):
        await ledger.note("nowhere", "gate", 1)


async def test_a_backlog_larger_than_a_chunk_comes_back_in_pages_most_findings_first(ledger: SqlLedger) -> None:
    count = CHUNK + 77
    await ledger.open_round(RUN, 1, (queued(i, i % 5 + 1) for i in range(count)), [], fresh=True)
    found = await paged(ledger, limit=100)
    assert len({unit.key for unit in found}) == len(found) == count
    sizes = [len(unit.unit.findings) for unit in found]
    assert sizes == sorted(sizes, reverse=True)
    page, cursor = await ledger.page(RUN, 1, None, count)
    assert (len(page), cursor) == (count, None)


async def test_a_unit_comes_back_as_it_was_stored(ledger: SqlLedger) -> None:
    path = "src/na\udcefve \x00 \ud800 ü.py"
    finding = Finding(path, 3, 4, "X\udc80", 'quo"te \x00', fingerprint="f" * 16)
    odd = Unit(key(1), SWEEP, path, (path, "b.py"), (finding,), chunk=3)
    stored = queued(1)
    await ledger.open_round(RUN, 1, [type(stored)(odd, 1, place="p")], [], fresh=True)
    found = await ledger.unit(SWEEP, path)
    assert found is not None
    assert found.unit == odd
    assert (await paged(ledger))[0].unit == odd


async def test_pages_leave_out_what_is_not_open_or_not_due(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(i) for i in range(4)], [], fresh=True)
    await claimed(ledger, key(0))
    await ledger.hold(key(1), "no rung left")
    claim = await claimed(ledger, key(2))
    await ledger.land(claim, outcome(key(2), kind=Kind.NOT_FIXED), UnitState.OPEN, 2)
    assert [unit.key for unit in await paged(ledger)] == [key(3)]
    assert {unit.key for unit in await paged(ledger, round=2)} == {key(2), key(3)}


async def test_a_unit_that_takes_turns_waits_for_its_round(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1), replace(queued(2), round=2)], [], fresh=True)
    assert [unit.key for unit in await paged(ledger)] == [key(1)]
    assert [unit.key for unit in await paged(ledger, round=2)] == [key(1), key(2)]
    await ledger.open_round(RUN, 2, [replace(queued(1), round=3), replace(queued(2), round=2)], [], fresh=False)
    assert [unit.key for unit in await paged(ledger, round=2)] == [key(2)]


async def test_skips_are_those_of_the_asked_round(ledger: SqlLedger) -> None:
    first = [Skip("a\udcff.py", SkipReason.BINARY, 3), Skip("../b", SkipReason.OUTSIDE, 1)]
    await ledger.open_round(RUN, 1, [queued(1)], first, fresh=True)
    await ledger.open_round(RUN, 1, [queued(1)], first, fresh=True)
    await ledger.open_round(RUN, 2, [queued(1)], first[:1], fresh=False)
    assert list(await ledger.skips(RUN)) == first
    assert list(await ledger.skips(RUN, 2)) == first[:1]


async def test_units_that_are_gone_are_settled_and_a_late_claim_on_them_is_void(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    await ledger.open_round(RUN, 2, [queued(2)], [], fresh=False)
    gone = await ledger.unit(SWEEP, key(1))
    assert gone is not None
    assert (gone.state, gone.why) == (UnitState.SETTLED, "gone")
    assert [unit.key for unit in await paged(ledger, round=2)] == [key(2)]


async def test_a_round_that_is_opened_once_more_settles_what_waited_for_the_next(ledger: SqlLedger) -> None:
    """Of units that take turns the first one mended all of them: no backlog is left, and no round of its own."""
    await ledger.open_round(RUN, 1, [queued(1), replace(queued(2), round=2)], [], fresh=True)
    claim = await claimed(ledger, key(1))
    await ledger.land(claim, outcome(key(1)), UnitState.VERIFIED, 1)
    await ledger.close_round(RUN, 1, "2" * 40, {key(1): "2" * 40}, [])
    for _ in range(2):  # whoever died in between does it again
        await ledger.open_round(RUN, 1, [], [], fresh=False)
        assert await states(ledger) == {key(1): UnitState.SETTLED, key(2): UnitState.SETTLED}
        assert await paged(ledger, round=2) == []


async def test_another_sweeps_units_are_left_alone(ledger: SqlLedger) -> None:
    await ledger.create_run(run_row("other-run", "types"))
    await ledger.open_round("other-run", 1, [queued(9, sweep="types")], [], fresh=True)
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    assert await states(ledger, "types") == {key(9): UnitState.OPEN}
    assert [unit.key for unit in await paged(ledger)] == [key(1)]


@pytest.mark.parametrize(("fresh", "digest", "kept"), [(True, "place", 1), (True, "new", 0), (False, "new", 1)])
async def test_history_survives_a_round_unless_the_place_changed_in_a_fresh_run(
    ledger: SqlLedger, fresh: bool, digest: str, kept: int
) -> None:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(ledger, key(1))
    await ledger.land(claim, outcome(key(1), kind=Kind.NOT_FIXED, rung=2, reason="same"), UnitState.OPEN, 2)
    await ledger.open_round(RUN, 2, [queued(1, place=digest)], [], fresh=fresh)
    unit = await ledger.unit(SWEEP, key(1))
    assert unit is not None
    assert unit.history == History(((2, Kind.NOT_FIXED, "same"),) * kept)
    assert (unit.state, unit.round, unit.place) == (UnitState.OPEN, 2, digest)


async def test_held_stays_held_until_its_place_changes_or_a_human_releases_it(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    for number in (1, 2):
        claim = await claimed(ledger, key(number))
        await ledger.land(claim, outcome(key(number), kind=Kind.DECLINED), UnitState.HELD, 1, "it \udc80 declined")
    await ledger.open_round(RUN, 2, [queued(1), queued(2)], [], fresh=True)
    assert set((await states(ledger)).values()) == {UnitState.HELD}
    held = await ledger.unit(SWEEP, key(1))
    assert held is not None
    assert held.why == "it \udc80 declined"
    assert await ledger.release_held(key(1))
    assert not await ledger.release_held(key(1))
    await ledger.open_round(RUN, 3, [queued(1), queued(2, place="edited")], [], fresh=True)
    for number in (1, 2):
        unit = await ledger.unit(SWEEP, key(number))
        assert unit is not None
        assert (unit.state, unit.history, unit.why) == (UnitState.OPEN, History(), "")


async def test_a_settled_unit_with_findings_again_starts_anew(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    await land_fixed(ledger, key(1))
    await ledger.close_round(RUN, 1, TIP, {key(1): "d" * 40}, [])
    await ledger.open_round(RUN, 2, [queued(1)], [], fresh=False)
    unit = await ledger.unit(SWEEP, key(1))
    assert unit is not None
    assert (unit.state, unit.history) == (UnitState.OPEN, History())


async def test_verified_work_of_a_run_that_was_given_up_is_open_again(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    await land_fixed(ledger, key(1))
    await ledger.create_run(run_row("run-2", base="d" * 40))
    await ledger.open_round("run-2", 1, [queued(1)], [], fresh=True)
    assert await states(ledger) == {key(1): UnitState.OPEN}
    assert await all_of(ledger.verified("run-2")) == []


async def test_the_barrier_settles_merges_sends_partials_on_and_ejects(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(i) for i in range(4)], [], fresh=True)
    await land_fixed(ledger, key(0))
    await land_fixed(ledger, key(1), Kind.PARTIAL)
    await land_fixed(ledger, key(2))
    await ledger.hold(key(3), "by hand")
    merged = {key(0): "0" * 40, key(1): "1" * 40, key(3): "3" * 40}
    await ledger.close_round(RUN, 1, TIP, merged, [outcome(key(2), kind=Kind.EJECTED, reason="tests")])
    assert await states(ledger) == {
        key(0): UnitState.SETTLED,
        key(1): UnitState.OPEN,
        key(2): UnitState.OPEN,
        key(3): UnitState.HELD,
    }
    assert [unit.key for unit in await paged(ledger, round=2)] == [key(1), key(2)]
    assert await paged(ledger) == []
    ejected = await ledger.unit(SWEEP, key(2))
    assert ejected is not None
    assert ejected.history == History(((0, Kind.FIXED, ""), (0, Kind.EJECTED, "tests")))
    rows = {row.unit: row.merged async for row in ledger.attempts(run=RUN)}
    assert rows == {key(0): "0" * 40, key(1): "1" * 40, key(2): ""}
    run = await ledger.latest_run(SWEEP)
    assert run is not None
    assert (run.tip, run.phase, run.round) == (TIP, "check", 1)


@pytest.mark.parametrize("kind", [Kind.EJECTED, Kind.CONFLICT])
async def test_what_the_barrier_says_of_an_attempt_replaces_its_outcome(ledger: SqlLedger, kind: Kind) -> None:
    await ledger.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    claim = await claimed(ledger, key(1))
    first = await ledger.start(claim, 0, 1)
    await ledger.land(claim, outcome(key(1), first.number, Kind.NOT_FIXED, reason="check"), UnitState.OPEN, 1)
    _, second = await land_fixed(ledger, key(1))
    evidence = Evidence(reason="tests", lines=("FAILED test_a", "\udc80\x00"), before=1, after=1)
    word = replace(outcome(key(1), second.number, kind, rung=0), evidence=evidence)
    await ledger.close_round(RUN, 1, TIP, {}, [word])
    # Of units that are not at the barrier (any more): nothing of them changes.
    again = outcome(key(1), second.number, kind, reason="again")
    await ledger.close_round(RUN, 1, TIP, {}, [again, outcome(key(2), kind=kind)])
    rows = await all_of(ledger.attempts(unit=key(1)))
    assert [(row.number, row.state, row.merged) for row in rows] == [(1, "landed", ""), (2, "landed", "")]
    assert rows[0].outcome == outcome(key(1), 1, Kind.NOT_FIXED, reason="check")
    assert (rows[1].outcome, rows[1].usage) == (word, word.usage)
    assert (await ledger.counts(RUN)).outcomes == {kind.value: 1, "not_fixed": 1}
    # The next round's opening keeps it for the next rung.
    await ledger.open_round(RUN, 2, [queued(1), queued(2)], [], fresh=False)
    unit, other = await ledger.unit(SWEEP, key(1)), await ledger.unit(SWEEP, key(2))
    assert unit is not None
    assert other is not None
    assert (unit.state, unit.round, unit.why) == (UnitState.OPEN, 2, f"{kind.value}: tests")
    assert unit.history.outcomes[1:] == ((0, Kind.FIXED, ""), (0, kind, "tests"))
    assert (other.why, other.history) == ("", History())


async def test_verified_units_come_in_unit_order_with_their_landed_attempt(ledger: SqlLedger) -> None:
    titles = ["b.py", "a.py", "\udc80.py", "ü.py", "x" * 3000, "x" * 3000 + "y", "a.py#2"]
    units = [queued(len(titles) - i, title=title) for i, title in enumerate(titles)]
    await ledger.open_round(RUN, 1, units, [], fresh=True)
    for unit in units:
        await land_fixed(ledger, unit.key)
    found = await all_of(ledger.verified(RUN))
    assert [unit.unit.title for unit, _ in found] == sorted(titles)
    assert all(row.outcome == outcome(unit.key) for unit, row in found)


async def test_a_unit_is_found_by_key_prefix_or_title(ledger: SqlLedger) -> None:
    keys = ["ab" * 16, "ac" * 16]
    units = [queued(1), queued(2)]
    units = [
        type(u)(Unit(k, SWEEP, u.unit.title, u.unit.paths, u.unit.findings), 1)
        for k, u in zip(keys, units, strict=True)
    ]
    await ledger.open_round(RUN, 1, units, [], fresh=True)
    for name in (keys[0], "ab", units[0].unit.title):
        found = await ledger.unit(SWEEP, name)
        assert found is not None
        assert found.key == keys[0]
    assert await ledger.unit("types", keys[0]) is None
    assert await ledger.unit(None, "nothing like it") is None
    assert await ledger.unit(None, "") is None
    assert await ledger.unit(None, "\x00\ud800") is None
    with pytest.raises(ConfigError, match=r"'a' names several units: .*module_0001.py.*module_0002.py") as caught:
        await ledger.unit(None, "a")
    assert "more of the unit's key" in caught.value.hint


async def test_units_of_some_states_only(ledger: SqlLedger) -> None:
    await ledger.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    await ledger.hold(key(2), "why")
    held = await all_of(ledger.units(SWEEP, states=[UnitState.HELD, UnitState.SETTLED]))
    assert [unit.key for unit in held] == [key(2)]
