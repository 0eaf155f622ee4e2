from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence

import anyio
import anyio.lowlevel
import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from sweeper.gate.bisect import GREEN, RED, Culprits, GateBroken, Verdict, broken, find_culprits

Combination = frozenset[int]


class Gate:
    """Red for every set that holds one of the combinations as a whole."""

    def __init__(self, *combinations: Sequence[int]) -> None:
        self.combinations = [frozenset(each) for each in combinations]
        self.seen: list[tuple[Combination, Verdict]] = []
        self.together = self.most = 0

    async def __call__(self, units: Sequence[int]) -> Verdict:
        self.together += 1
        self.most = max(self.most, self.together)
        await anyio.lowlevel.checkpoint()
        self.together -= 1
        verdict = RED if self.red(units) else GREEN
        self.seen.append((frozenset(units), verdict))
        return verdict

    def red(self, units: Sequence[int]) -> bool:
        return any(each <= set(units) for each in self.combinations)


def search(
    units: Sequence[int],
    gate: Callable[[Sequence[int]], Awaitable[Verdict]],
    *,
    parallel: int = 1,
) -> Culprits[int]:
    async def main() -> Culprits[int]:
        return await find_culprits(units, gate, parallel=parallel)

    return anyio.run(main)


def check(units: Sequence[int], gate: Gate, found: Culprits[int]) -> None:
    """The promises: a partition in order, the kept set seen green, each ejected one spoils it, no run twice."""
    assert sorted([*found.ejected, *found.kept]) == sorted(units)
    order = {unit: i for i, unit in enumerate(units)}
    for part in (found.ejected, found.kept):
        assert part == sorted(part, key=order.__getitem__)
    assert not gate.red(found.kept)
    if found.kept:
        assert (frozenset(found.kept), GREEN) in gate.seen
    for culprit in found.ejected:
        assert gate.red([*found.kept, culprit])
    assert found.runs == len(gate.seen) == len(set(gate.seen))


def test_one_culprit() -> None:
    for culprit in range(9):
        gate = Gate([culprit])
        found = search(range(9), gate)
        check(range(9), gate, found)
        assert found.ejected == [culprit]


def test_the_only_unit_is_the_culprit_without_a_run() -> None:
    gate = Gate([0])
    assert search([0], gate) == Culprits([0], [], 0)


def test_all_are_culprits() -> None:
    gate = Gate(*([i] for i in range(6)))
    found = search(range(6), gate)
    check(range(6), gate, found)
    assert found.kept == []


def test_128_units_of_which_three_break_the_tests_one_only_with_another() -> None:
    """At most 40 runs for two culprits alone and one that breaks only together with a fourth unit."""
    most = 0
    for seed in range(200):
        one, two, three, partner = random.Random(seed).sample(range(128), 4)
        gate = Gate([one], [two], [three, partner])
        found = search(range(128), gate)
        check(range(128), gate, found)
        assert len(found.ejected) == 3
        assert len(found.kept) == 125
        most = max(most, found.runs)
    assert most <= 25


def test_b_probes_run_at_once() -> None:
    gate = Gate([40], [90, 17])
    found = search(range(128), gate, parallel=3)
    check(range(128), gate, found)
    assert gate.most == 3
    assert found.ejected == [40, 90]


def test_a_gate_that_cannot_run_is_nobodys_fault() -> None:
    async def gate(units: Sequence[int]) -> Verdict:
        return broken("the tool is gone")

    with pytest.raises(GateBroken, match="the tool is gone"):
        search(range(4), gate)


@pytest.mark.parametrize("parallel", [1, 3])
def test_an_error_of_the_caller_is_passed_on_as_it_is(parallel: int) -> None:
    class Lost(Exception):
        pass

    async def gate(units: Sequence[int]) -> Verdict:
        raise Lost

    with pytest.raises(Lost):
        search(range(9), gate, parallel=parallel)


COMBINATIONS = st.lists(st.lists(st.integers(0, 39), min_size=1, max_size=2, unique=True), min_size=1, max_size=6)


@settings(max_examples=300, deadline=None)
@given(
    combinations=COMBINATIONS,
    count=st.integers(1, 40),
    parallel=st.integers(1, 5),
)
def test_any_culprits(combinations: list[list[int]], count: int, parallel: int) -> None:
    """Random single culprits and pairs, any number at once: the promises hold and the set is maximal."""
    inside = [[unit % count for unit in each] for each in combinations]
    gate = Gate(*inside)
    found = search(range(count), gate, parallel=parallel)
    check(range(count), gate, found)
    assert gate.most <= parallel
    assert {unit for each in inside if len(set(each)) == 1 for unit in each} <= set(found.ejected)
