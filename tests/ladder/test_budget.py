"""Reserve and settle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.budget import MICRO, Budget, Reservation
from sweeper.config.models import LimitsConfig
from sweeper.records import Usage


def test_the_reservations_of_a_fan_out_count() -> None:
    budget = Budget(LimitsConfig(usd_per_fire=1.0))
    assert budget.reserve(600_000) is not None
    assert budget.reserve(600_000) is None
    assert budget.room == ("limits.usd_per_fire", 400_000)


def test_the_day_counts_earlier_fires() -> None:
    budget = Budget(LimitsConfig(usd_per_day=2.0), spent_today=1_500_000)
    assert budget.reserve(600_000) is None
    assert budget.room == ("limits.usd_per_day", 500_000)
    assert budget.reserve(0) is not None, "a free call needs no money"


def test_settling_twice_is_an_error() -> None:
    budget = Budget(LimitsConfig())
    reservation = budget.reserve(5)
    assert reservation is not None
    budget.settle(reservation, Usage())
    with pytest.raises(KeyError):
        budget.settle(reservation, Usage())


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
        if got is not None:
            waiting.append(got)
        if settle and waiting:
            reservation = waiting.pop(0)
            budget.settle(reservation, Usage(micro_usd=min(used * MICRO, reservation.micro_usd)))
        taken = budget.spent + budget.reserved
        assert budget.reserved == sum(r.micro_usd for r in waiting)
        assert taken <= fire * MICRO
        assert taken == 0 or taken + today * MICRO <= day * MICRO
