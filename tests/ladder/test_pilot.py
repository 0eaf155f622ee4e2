"""A few units of a rule try a paid rung before all of them do."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from sweeper.config.models import RungConfig
from sweeper.ladder.pilot import SIZE, Pilot, Wait, size_of
from sweeper.loop import Hold
from sweeper.records import Kind

RUNG = RungConfig(run="x", pilot=3, pilot_floor=0.5)


def pilot(**more: object) -> Pilot:
    return Pilot.of([RUNG.model_copy(update=more)], [""], {})


def fly(this: Pilot, kinds: dict[str, Kind], rule: str = "A") -> None:
    for key, kind in kinds.items():
        assert this.admit(key, 0, [rule]) is None
        this.landed(key, kind)


def test_a_rung_without_a_model_has_no_pilot_unless_it_says_so() -> None:
    assert size_of(RungConfig(run="x"), "") == 0
    assert size_of(RungConfig(agent="claude"), "anthropic") == SIZE
    assert size_of(RungConfig(agent="claude", pilot=0), "anthropic") == 0
    assert size_of(RUNG, "") == 3


def test_as_many_fly_ahead_as_the_rung_says() -> None:
    this = pilot()
    assert [this.admit(str(n), 0, ["A"]) for n in range(5)] == [None, None, None, Wait(), Wait()]
    assert this.admit("b", 0, ["B"]) is None
    assert this.admit("both", 0, ["A", "B"]) == Wait()
    assert this.settle()
    assert not this.settle()


def test_the_rest_follows_a_pilot_that_passes() -> None:
    this = pilot()
    fly(this, {"1": Kind.FIXED, "2": Kind.NOT_FIXED, "3": Kind.PARTIAL})
    assert this.admit("4", 0, ["A"]) is None


def test_the_rule_is_paused_below_the_floor() -> None:
    this = pilot()
    fly(this, {"1": Kind.FIXED, "2": Kind.NOT_FIXED, "3": Kind.REJECTED})
    held = this.admit("4", 0, ["A", "B"])
    assert isinstance(held, Hold)
    assert held.reason == "pilot: command (rung 1) mended 1 of 3 units of A, fewer than 50%"
    assert this.admit("5", 0, ["B"]) is None


def test_what_says_nothing_of_the_rung_does_not_count() -> None:
    this = pilot()
    fly(this, {"1": Kind.TRANSIENT, "2": Kind.ALREADY_CLEAN, "3": Kind.REFUSED})
    assert this.counts == {}
    assert this.admit("4", 0, ["A"]) is None


def test_a_later_coordinator_goes_on_with_the_counts() -> None:
    this = pilot()
    fly(this, {"1": Kind.NOT_FIXED, "2": Kind.NOT_FIXED, "3": Kind.NOT_FIXED})
    after = Pilot.of([RUNG], [""], this.counts)
    assert isinstance(after.admit("4", 0, ["A"]), Hold)


@given(
    units=st.lists(
        st.tuples(
            st.sets(st.sampled_from("ABC"), min_size=1),
            st.sampled_from([Kind.FIXED, Kind.NOT_FIXED, Kind.TRANSIENT, Kind.UNCLASSIFIED]),
        ),
        max_size=40,
    ),
    size=st.integers(1, 6),
    floor=st.floats(0, 1),
)
def test_every_unit_flies_or_is_held_and_no_more_than_the_pilot_before_it_is_settled(
    units: list[tuple[set[str], Kind]], size: int, floor: float
) -> None:
    this = pilot(pilot=size, pilot_floor=floor)
    left = {str(number): (sorted(rules), kind) for number, (rules, kind) in enumerate(units)}
    for _ in range(len(units) + 1):
        flying = []
        for key, (rules, _) in list(left.items()):
            settled = {rule: sum(this.counts.get("0", {}).get(rule, [0, 0])) >= size for rule in rules}
            match this.admit(key, 0, rules):
                case None:
                    flying.append(key)
                    for rule in rules:
                        ahead = sum(rule in left[each][0] for each in flying)
                        assert settled[rule] or ahead <= size
                case Hold():
                    del left[key]
        for key in flying:
            this.landed(key, left.pop(key)[1])
        if not this.settle():
            break
    assert left == {}
