"""Prices: from history where there is one, else from the limits; each number says which."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from sweeper.config.models import ClocksConfig, LimitsConfig, RungConfig
from sweeper.ladder.forecast import COUNTED, MENDED, NO_HISTORY, Past, forecast
from sweeper.records import Kind, Usage

FREE = RungConfig(run="fix {files}")
PAID = RungConfig(agent="claude", model="m", attempts=2, candidates=2, budget_usd=0.25, max_tokens=1000)
LIMITS = LimitsConfig(usd_per_attempt=0.5)
HOUR = ClocksConfig(wall=3600)


def test_without_history_every_number_is_a_limit() -> None:
    free, paid = forecast([FREE, PAID], [False, True], {0: 10}, {}, LIMITS, 4)
    assert (free.attempts, free.tokens, free.usd, free.minutes) == (10, 0, 0.0, 25.0)  # 10 x 600 s in 4 slots
    # whatever the first leaves may come here: all 10, twice, two candidates each
    assert (paid.attempts, paid.tokens, paid.usd) == (20, 40_000, 10.0)
    assert {free.basis, paid.basis} == {NO_HISTORY}
    assert free.at_most
    assert paid.at_most
    assert paid.mended is None


def test_tokens_that_nothing_bounds_are_not_made_up() -> None:
    (one,) = forecast([RungConfig(agent="claude")], [True], {0: 3}, {}, LIMITS, 1)
    assert (one.tokens, one.usd) == (None, 1.5)


def test_history_says_what_comes_through_and_what_it_costs() -> None:
    past = {0: Past(10, 8, Usage(), 50.0), 1: Past(4, 1, Usage(3000, 1000, 2_000_000), 120.0)}
    free, paid = forecast([FREE, PAID], [False, True], {0: 20}, past, LIMITS, 2)
    assert (free.attempts, free.minutes, free.mended) == (20, 0.83, 0.8)
    # 4 of 20 are left; a quarter of them is mended at once, three go through a second try
    assert (paid.attempts, paid.tokens, paid.usd) == (7.0, 7000, 3.5)
    assert paid.basis == "from 4 attempts of this sweep"
    assert not paid.at_most


def test_one_attempt_is_named_as_one() -> None:
    (one,) = forecast([FREE], [False], {0: 1}, {0: Past(1, 1, Usage(), 2.0)}, LIMITS, 1)
    assert one.basis == "from 1 attempt of this sweep"


def test_one_attempt_takes_its_time_however_many_slots_there_are() -> None:
    (one,) = forecast([RungConfig(run="x", clocks=HOUR)], [False], {0: 1}, {}, LIMITS, 16)
    assert one.minutes == 60.0


def test_an_attempt_without_a_verdict_costs_and_counts_for_nothing() -> None:
    past = Past().plus(Kind.TRANSIENT, Usage(1, 1, 500), 3.0).plus(None, Usage(0, 0, 500), 0.0)
    assert past == Past(0, 0, Usage(1, 1, 1000), 3.0)
    assert Kind.TRANSIENT not in COUNTED
    assert past.plus(Kind.PARTIAL, Usage(), 1.0) == Past(1, 0, Usage(1, 1, 1000), 4.0)
    assert past.plus(Kind.FIXED, Usage(), 1.0).mended == 1


KINDS = st.one_of(st.none(), st.sampled_from(Kind))
PASTS = st.lists(st.tuples(KINDS, st.integers(0, 10**6), st.floats(0, 1000)), max_size=20)
RUNGS = st.builds(
    RungConfig,
    run=st.just("x"),
    attempts=st.integers(1, 10),
    candidates=st.integers(1, 16),
    budget_usd=st.none() | st.floats(0, 10),
)


@given(st.lists(st.tuples(RUNGS, PASTS, st.booleans(), st.integers(0, 50)), max_size=5), st.integers(1, 20))
def test_no_rung_gets_more_units_than_there_are(rows: list[tuple[RungConfig, list, bool, int]], slots: int) -> None:  # type: ignore[type-arg]
    past: dict[int, Past] = {}
    for number, (_, tried, _, _) in enumerate(rows):
        for kind, micro_usd, seconds in tried:
            past[number] = past.get(number, Past()).plus(kind, Usage(micro_usd=micro_usd), seconds)
    ladder = [rung for rung, _, _, _ in rows]
    starts = {number: units for number, (_, _, _, units) in enumerate(rows)}
    found = forecast(ladder, [paid for _, _, paid, _ in rows], starts, past, LIMITS, slots)
    assert [one.rung for one in found] == list(range(len(rows)))
    arrived = 0
    for one, (rung, tried, paid, units) in zip(found, rows, strict=True):
        arrived += units
        assert 0 <= one.attempts <= arrived * rung.attempts + 0.1
        assert min(one.usd, one.minutes) >= 0
        assert math.isfinite(one.usd + one.minutes)
        assert one.at_most is (one.basis == NO_HISTORY) is not any(kind in COUNTED for kind, _, _ in tried)
        if one.at_most and not paid:
            assert (one.tokens, one.usd) == (0, 0.0)
        if tried and all(kind in MENDED for kind, _, _ in tried):
            assert one.mended == 1
            arrived = 0
