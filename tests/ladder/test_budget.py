"""Reserve and settle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.budget import MICRO, Budget, Refusal, Reservation, price
from sweeper.config.models import LimitsConfig, RungConfig
from sweeper.records import Usage


def test_units_of_a_fire() -> None:
    budget = Budget(LimitsConfig(units_per_fire=2))
    first = budget.reserve()
    assert isinstance(first, Reservation)
    assert isinstance(budget.reserve(), Reservation)
    refusal = budget.reserve()
    assert isinstance(refusal, Refusal)
    assert refusal.limit == "limits.units_per_fire"
    budget.settle(first, Usage())
    assert isinstance(budget.reserve(), Refusal), "a settled unit still counts"


def test_an_uncharged_attempt_frees_its_unit_but_not_its_money() -> None:
    budget = Budget(LimitsConfig(units_per_fire=1))
    reservation = budget.reserve(MICRO)
    assert isinstance(reservation, Reservation)
    budget.settle(reservation, Usage(micro_usd=3), charged=False)
    assert isinstance(budget.reserve(), Reservation)
    assert budget.spent == 3


def test_the_reservations_of_a_fan_out_count() -> None:
    budget = Budget(LimitsConfig(usd_per_fire=1.0))
    assert isinstance(budget.reserve(600_000), Reservation)
    refusal = budget.reserve(600_000)
    assert str(refusal) == "limits.usd_per_fire: $0.60 asked, $0.40 left"


def test_the_day_counts_earlier_fires() -> None:
    budget = Budget(LimitsConfig(usd_per_day=2.0), spent_today=1_500_000)
    refusal = budget.reserve(600_000)
    assert isinstance(refusal, Refusal)
    assert refusal.limit == "limits.usd_per_day"
    assert isinstance(budget.reserve(0), Reservation), "a free attempt needs no money"


def test_settling_twice_is_an_error() -> None:
    budget = Budget(LimitsConfig())
    reservation = budget.reserve(5)
    assert isinstance(reservation, Reservation)
    budget.settle(reservation, Usage())
    with pytest.raises(KeyError):
        budget.settle(reservation, Usage())


def test_price() -> None:
    limits = LimitsConfig(usd_per_attempt=0.5)
    assert price(RungConfig(run="x"), limits, paid=False) == 0
    assert price(RungConfig(run="x", candidates=3), limits, paid=True) == 1_500_000
    assert price(RungConfig(run="x", budget_usd=0.1), limits, paid=True) == 100_000


@given(
    fire=st.integers(0, 50),
    day=st.integers(0, 50),
    today=st.integers(0, 30),
    steps=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.booleans()), max_size=40),
)
def test_spent_and_reserved_never_exceed_a_limit(
    fire: int, day: int, today: int, steps: list[tuple[int, int, bool]]
) -> None:
    budget = Budget(LimitsConfig(usd_per_fire=fire, usd_per_day=day), spent_today=today * MICRO)
    waiting: list[Reservation] = []
    for asked, used, settle in steps:
        got = budget.reserve(asked * MICRO)
        if isinstance(got, Reservation):
            waiting.append(got)
        if settle and waiting:
            reservation = waiting.pop(0)
            budget.settle(reservation, Usage(micro_usd=min(used * MICRO, reservation.micro_usd)))
        taken = budget.spent + budget.reserved
        assert budget.reserved == sum(r.micro_usd for r in waiting)
        assert taken <= fire * MICRO
        assert taken == 0 or taken + today * MICRO <= day * MICRO
