"""Which lines of two versions stand in the same place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sweeper.policy.lines import gaps


def test_a_replaced_line_stands_in_the_gap_of_the_old_one() -> None:
    before, after = gaps(["a", "b", "c"], ["a", "b2", "b3", "c"])
    assert before(1) == after(1)
    assert before(2) == after(2) == after(3)
    assert before(3) == after(4)
    assert len({before(1), before(2), before(3)}) == 3


def test_a_line_that_is_not_unique_in_both_is_no_anchor() -> None:
    before, after = gaps(["x", "old", "x", "tail"], ["new", "x", "tail"])
    assert before(1) == before(2) == before(3) == after(1) == after(2)
    before, after = gaps(["old", "x"], ["x", "new", "x"])
    assert before(1) == before(2) == after(1) == after(3)


def test_lines_that_changed_places_are_not_all_anchors() -> None:
    before, after = gaps(["a", "b", "c", "d"], ["d", "a", "b", "c"])
    assert [before(n) for n in (1, 2, 3)] == [after(n) for n in (2, 3, 4)]
    assert before(4) != after(1)


@given(st.lists(st.sampled_from("abcdefgh "), max_size=12), st.lists(st.sampled_from("abcdefgh "), max_size=12))
def test_gaps_rise_and_anchors_hold_equal_lines(old: list[str], new: list[str]) -> None:
    before, after = gaps(old, new)
    for gap, lines in ((before, old), (after, new)):
        numbers = [gap(n) for n in range(1, len(lines) + 1)]
        assert numbers == sorted(numbers)
    anchors = {before(n): line for n, line in enumerate(old, 1) if before(n) % 2}
    assert {after(n): line for n, line in enumerate(new, 1) if after(n) % 2} == anchors
