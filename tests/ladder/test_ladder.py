"""The ladder: history -> decision."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.config.models import RungConfig
from sweeper.ladder import ladder
from sweeper.ladder.classify import EXCHANGED, MEMORY
from sweeper.loop import Go, Hold, Park, RetryAt, Settled, Stop
from sweeper.records import MERGEABLE, Evidence, History, Kind, Outcome, UnitState

NOW = 1_000_000.0


def rungs(*attempts: int) -> list[RungConfig]:
    return [RungConfig(run="fix {files}", attempts=n) for n in attempts]


def outcome(
    kind: Kind, rung: int = 0, reason: str = "", *, attempt: int = 1, retry_after: float | None = None
) -> Outcome:
    evidence = Evidence(reason=reason)
    return Outcome("u" * 32, attempt, rung, kind, "base", evidence=evidence, retry_after=retry_after)


def follow(
    kinds: Sequence[tuple[Kind, str] | Kind], steps: list[RungConfig], *, retry_after: float | None = None
) -> tuple[ladder.Next, History, list[int]]:
    """Play kinds as a fire would: each on the rung that `place` gives. The last decision, history, rungs used."""
    history, used, following = History(), [], None
    for number, item in enumerate(kinds, 1):
        kind, reason = item if isinstance(item, tuple) else (item, "")
        at = ladder.place(history, steps)
        if kind in (Kind.CONFLICT, Kind.EJECTED) and history.outcomes:
            rung = history.outcomes[-1][0]  # the barrier appends these to the attempt that was verified
        else:
            assert isinstance(at, Go), f"held before outcome {number}: {at}"
            rung = at.rung
            used.append(rung)
        result = outcome(kind, rung, reason, attempt=number, retry_after=retry_after)
        history = History((*history.outcomes, ladder.entry(result)))
        following = ladder.after(history, steps, result, now=NOW)
    assert following is not None
    return following, history, used


@pytest.mark.parametrize(
    "kind",
    [
        Kind.NO_CHANGE,
        Kind.NOT_FIXED,
        Kind.REJECTED,
        Kind.TIMED_OUT,
        Kind.NEEDS_INPUT,
        Kind.CONTEXT_OVERFLOW,
        Kind.DECLINED,
    ],
)
def test_a_failure_goes_to_the_next_rung_in_the_next_round(kind: Kind) -> None:
    following, history, _ = follow([kind], rungs(1, 1))
    assert (following.decision, following.state, following.round_delta) == (Settled(), UnitState.OPEN, 1)
    assert ladder.place(history, rungs(1, 1)) == Go(1)
    assert "rung 2 of 2" in following.why


@pytest.mark.parametrize("kind", sorted(MERGEABLE))
def test_a_verified_change_waits_for_the_merge(kind: Kind) -> None:
    following, _, _ = follow([kind], rungs(1, 1))
    assert (following.decision, following.state, following.round_delta) == (Settled(), UnitState.VERIFIED, 0)


def test_the_rest_of_a_partial_starts_on_the_next_rung() -> None:
    _, history, _ = follow([Kind.PARTIAL], rungs(3, 1))
    assert ladder.place(history, rungs(3, 1)) == Go(1)


def test_already_clean_is_settled_without_a_merge() -> None:
    assert follow([Kind.ALREADY_CLEAN], rungs(1))[0].state is UnitState.SETTLED


def test_attempts_of_a_rung_come_before_the_next_rung() -> None:
    _, history, used = follow([Kind.NOT_FIXED] * 4, rungs(2, 1, 2))
    assert used == [0, 0, 1, 2]
    assert ladder.place(history, rungs(2, 1, 2)) == Go(2)


@pytest.mark.parametrize("kind", [Kind.NEEDS_INPUT, Kind.CONTEXT_OVERFLOW])
def test_d04_d18_no_second_try_on_a_rung_that_would_end_the_same_way(kind: Kind) -> None:
    assert ladder.place(follow([kind], rungs(5, 1))[1], rungs(5, 1)) == Go(1)


def test_an_exhausted_ladder_is_held_with_its_last_outcome() -> None:
    following, history, _ = follow([Kind.NOT_FIXED, (Kind.REJECTED, "suppression")], rungs(1, 1))
    assert isinstance(following.decision, Hold)
    assert following.state is UnitState.HELD
    assert following.why == "ladder exhausted, last outcome: rejected (suppression)"
    assert ladder.place(history, rungs(1, 1)) == Hold(following.why)


def test_a_partial_on_the_last_rung_is_merged_and_its_rest_held() -> None:
    following, history, _ = follow([Kind.PARTIAL], rungs(1))
    assert following.state is UnitState.VERIFIED
    assert ladder.place(history, rungs(1)) == Hold("ladder exhausted, last outcome: partial")


def test_a_conflict_stays_on_its_rung_uncharged_and_is_bounded() -> None:
    steps = rungs(1, 1)
    pair = [Kind.PARTIAL, Kind.CONFLICT]
    following, history, used = follow(pair * ladder.CONFLICTS, steps)
    assert used == [0] * ladder.CONFLICTS
    assert following.state is UnitState.OPEN
    assert ladder.place(history, steps) == Go(0)
    following, _, _ = follow(pair * (ladder.CONFLICTS + 1), steps)
    assert following.state is UnitState.HELD
    assert "conflict with other units" in following.why


def test_an_ejected_change_climbs_one_rung_not_two() -> None:
    for merged in MERGEABLE:
        following, history, _ = follow([merged, Kind.EJECTED], rungs(1, 1, 1))
        assert following.state is UnitState.OPEN
        assert ladder.place(history, rungs(1, 1, 1)) == Go(1)


def test_f09_transient_failures_have_a_small_budget_of_their_own() -> None:
    steps = rungs(1, 1)
    waits = []
    for count in range(1, ladder.TRANSIENTS + 1):
        following, history, _ = follow([Kind.TRANSIENT] * count, steps)
        assert isinstance(following.decision, RetryAt)
        assert following.round_delta == 0
        waits.append(following.decision.at - NOW)
        assert ladder.place(history, steps) == Go(0)
    assert waits == sorted(waits)
    assert waits[0] >= ladder.BACKOFF
    following, _, _ = follow([(Kind.TRANSIENT, "lost sandbox")] * (ladder.TRANSIENTS + 1), steps)
    assert following.state is UnitState.HELD
    assert "lost sandbox" in following.why


def test_a_real_try_gives_a_rung_its_transient_budget_back() -> None:
    lost = [Kind.TRANSIENT] * ladder.TRANSIENTS
    following, _, used = follow([*lost, Kind.NOT_FIXED, *lost], rungs(2))
    assert following.state is UnitState.OPEN
    assert set(used) == {0}


def test_d02_retry_after_is_respected_and_a_long_one_parks() -> None:
    following, _, _ = follow([Kind.TRANSIENT], rungs(1), retry_after=30.0)
    assert isinstance(following.decision, RetryAt)
    assert 30.0 <= following.decision.at - NOW <= 37.5
    following, _, _ = follow([Kind.TRANSIENT], rungs(1), retry_after=3600.0)
    assert isinstance(following.decision, Park)
    assert (following.state, following.round_delta) == (UnitState.OPEN, 1)


def test_d02_units_that_failed_together_do_not_come_back_together() -> None:
    def retry(unit: str) -> float:
        result = Outcome(unit, 1, 0, Kind.TRANSIENT, "base", retry_after=20.0)
        decision = ladder.after(History((ladder.entry(result),)), rungs(1), result, now=NOW).decision
        assert isinstance(decision, RetryAt)
        return decision.at

    assert len({retry(f"unit {n}") for n in range(16)}) > 10


def test_out_of_memory_gets_more_memory_and_then_the_next_rung() -> None:
    steps, oom = rungs(1, 1), (Kind.TRANSIENT, MEMORY)
    assert ladder.memory_factor(History()) == 1
    for count, factor in ((1, 2), (2, 4)):
        following, history, _ = follow([oom] * count, steps)
        assert following.decision == RetryAt(NOW)
        assert ladder.memory_factor(history) == factor
        assert f"{factor} times the memory" in following.why
    following, history, _ = follow([oom] * 3, steps)
    assert (following.decision, following.round_delta) == (Settled(), 1)
    assert ladder.place(history, steps) == Go(1)
    assert ladder.memory_factor(history) == 1
    assert follow([oom] * 3, rungs(1))[0].state is UnitState.HELD


def test_refused_stops_the_run_and_charges_nothing() -> None:
    following, history, _ = follow([(Kind.REFUSED, "agent cannot start")], rungs(1, 1))
    assert following.decision == Stop("refused: agent cannot start")
    assert following.state is UnitState.OPEN
    assert ladder.place(history, rungs(1, 1)) == Go(0)


def test_d23_declined_asks_one_other_rung_only() -> None:
    steps = rungs(1, 1, 1, 1)
    for second in (Kind.DECLINED, Kind.NOT_FIXED):
        following, _, used = follow([Kind.DECLINED, second], steps)
        assert used == [0, 1]
        assert following.state is UnitState.HELD
    assert follow([Kind.DECLINED, Kind.FIXED], steps)[0].state is UnitState.VERIFIED


@pytest.mark.parametrize("kind", [Kind.RULES_CONFLICT, Kind.UNCLASSIFIED])
def test_what_nobody_can_decide_is_held_at_once(kind: Kind) -> None:
    following, _, _ = follow([(kind, "why")], rungs(3, 3))
    assert following.state is UnitState.HELD
    assert "why" in following.why


def test_a22_the_same_pair_of_rules_twice_is_held() -> None:
    steps = rungs(1, 1, 1)
    seen = (Kind.NOT_FIXED, EXCHANGED + "D203/D211 E1/E2")
    assert follow([seen], steps)[0].state is UnitState.OPEN
    following, _, used = follow([seen, (Kind.NOT_FIXED, EXCHANGED + "D203/D211")], steps)
    assert used == [0, 1]
    assert following.state is UnitState.HELD
    assert following.why == "rules conflict: what mends one breaks the other: D203/D211"
    assert follow([seen, (Kind.NOT_FIXED, EXCHANGED + "D203/D400")], steps)[0].state is UnitState.OPEN


def test_f09_a_ladder_of_three_rungs_and_two_tries_costs_at_most_six_attempts() -> None:
    following, _, used = follow([Kind.NO_CHANGE] * 6, rungs(2, 2, 2))
    assert used == [0, 0, 1, 1, 2, 2]
    assert following.state is UnitState.HELD


def test_candidates_are_the_weight() -> None:
    assert ladder.place(History(), [RungConfig(run="x", candidates=3)]) == Go(0, weight=3)


def test_no_ladder_is_held() -> None:
    assert ladder.place(History(), []) == Hold("the ladder has no rung")


# --- properties ---

STEPS = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(lambda counts: rungs(*counts))
REASONS = st.sampled_from(["", MEMORY, "other", EXCHANGED + "A/B", EXCHANGED + "A/C"])
AGENT = st.sampled_from([k for k in Kind if k not in (Kind.CONFLICT, Kind.EJECTED, Kind.REFUSED)])
BARRIER = st.sampled_from([None, Kind.CONFLICT, Kind.EJECTED])


@given(STEPS, st.data())
def test_the_rung_never_falls_every_history_ends_and_a_transient_spends_no_rung(
    steps: list[RungConfig], data: st.DataObject
) -> None:
    bound = 10 + sum((s.attempts + 1) * (ladder.TRANSIENTS + ladder.MEMORY_TRIES + 2) for s in steps) * (
        ladder.CONFLICTS + 2
    )
    history, last = History(), 0
    for number in range(bound):
        at = ladder.place(history, steps)
        assert ladder.place(history, steps) == at
        if isinstance(at, Hold):
            return
        assert last <= at.rung < len(steps)
        last = at.rung
        kind = data.draw(AGENT)
        # a fixed unit leaves the queue unless the barrier throws its change out
        barrier = data.draw(BARRIER) if kind in MERGEABLE else None
        result = outcome(kind, at.rung, data.draw(REASONS), attempt=number)
        history = History((*history.outcomes, ladder.entry(result)))
        following = ladder.after(history, steps, result, now=NOW)
        if kind is Kind.TRANSIENT and isinstance(following.decision, RetryAt | Park):
            assert ladder.place(history, steps) == at
        assert (following.state is UnitState.HELD) == isinstance(following.decision, Hold)
        if barrier is not None:
            history = History((*history.outcomes, (at.rung, barrier, "")))
        elif kind in (Kind.FIXED, Kind.ALREADY_CLEAN):
            return
    pytest.fail(f"not ended after {bound} outcomes")


@given(STEPS, st.lists(st.tuples(st.integers(0, 9), st.sampled_from(list(Kind)), REASONS), max_size=30))
def test_any_history_at_all_has_a_place(steps: list[RungConfig], outcomes: list[tuple[int, Kind, str]]) -> None:
    at = ladder.place(History(tuple(outcomes)), steps)
    assert isinstance(at, Hold) or 0 <= at.rung < len(steps)
