"""Whom the search blames where tests fail now and then: the change that makes them, and nobody where the base does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import anyio
import hypothesis.strategies as st
import pytest
from hypothesis import given

from sweeper.backlog.check import Checked
from sweeper.gate import gate as gate_module
from sweeper.gate import green as green_module
from sweeper.gate import suite
from sweeper.gate.bisect import GateBroken
from sweeper.gate.gate import Gate
from sweeper.gate.green import merge_green
from sweeper.gate.merge import Merged, Verified
from sweeper.gate.steady import BY_CHANCE, Fault, Tally, chance, fault
from sweeper.ground import Ground
from sweeper.progress import Progress
from sweeper.records import Change, CheckResult, CheckState
from sweeper.sandbox.contract import Facts, Snapshot
from sweeper.verify.verify import Baseline
from sweeper.workshop import Workshop

CLEAN = Checked(CheckResult(CheckState.CLEAN), Facts(exit_code=0))
UNITS = [f"u{number}" for number in range(16)]
Failing = Callable[[set[str], Random], set[str]]


class Repo:
    async def changes_between(self, _: str, tip: str) -> list[Change]:
        return [Change(key, b"x") for key in tip.split()]


async def merge(_: Repo, base: str, pieces: Sequence[Verified]) -> Merged:
    keys = [piece.key for piece in pieces]
    return Merged(" ".join(keys) or base, dict.fromkeys(keys, "c"), (), {})


def blamed(
    monkeypatch: pytest.MonkeyPatch, failing: Failing, seed: int, known: frozenset[str], units: Sequence[str] = UNITS
) -> tuple[set[str], Gate]:
    """The units that are ejected, where `failing` says which tests fail of the units that are on the tree."""
    random = Random(seed)

    async def run_tests(_: Workshop, __: Ground, ___: Any, changes: tuple[Change, ...] = ()) -> suite.TestRun:
        failed = frozenset(failing({change.path for change in changes}, random))
        return suite.TestRun(not failed, failed, ())

    async def prepare(*_: Any) -> None:
        return

    class Check:
        argv = ("lint",)
        unmuted_argv = ()

        async def run(self, *_: Any, **__: Any) -> Checked:
            return CLEAN

        def vanished(self, *_: Any) -> list[Any]:
            return []

    monkeypatch.setattr(gate_module, "run_tests", run_tests)
    monkeypatch.setattr(green_module, "merge", merge)
    monkeypatch.setattr(green_module, "prepare", prepare)
    workshop = cast(Workshop, SimpleNamespace(check=Check(), run="r", name="s", progress=Progress(), repo=Repo()))
    ground = Ground("base", Snapshot("base", {}), Baseline([]), CLEAN.result)
    gate = Gate(workshop, ground, suite.TestBase(suite.Tests.GREEN, flaky=known), 1)
    green = anyio.run(merge_green, workshop, gate, [Verified(key, "c", key) for key in units])
    assert green.merged.merged.keys() == set(units) - green.culprits.keys()
    return set(green.culprits), gate


def test_a_change_that_makes_a_test_unsteady_is_ejected_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the test is green at the first look, nothing can be seen; of the others most are found."""

    def failing(units: set[str], random: Random) -> set[str]:
        return {"t"} if "u5" in units and random.random() < 0.6 else set()

    ejected = [blamed(monkeypatch, failing, seed, frozenset())[0] for seed in range(100)]
    seen = [units for units in ejected if units]
    assert len(seen) > 45
    assert sum(units == {"u5"} for units in seen) > 0.85 * len(seen)


@pytest.mark.parametrize("rate", [0.03, 0.1, 0.3, 0.6])
def test_a_test_that_is_flaky_on_the_base_is_blamed_on_nobody(monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
    def failing(_: set[str], random: Random) -> set[str]:
        return {"t"} if random.random() < rate else set()

    wrong = broken = 0
    for seed in range(200):
        try:
            wrong += bool(blamed(monkeypatch, failing, seed, frozenset())[0])
        except GateBroken:
            broken += 1
    assert wrong <= 3
    assert broken <= 4


@pytest.mark.parametrize("known", [frozenset(), frozenset("t")])
def test_a_flaky_test_that_a_change_breaks_for_good_is_found(
    monkeypatch: pytest.MonkeyPatch, known: frozenset[str]
) -> None:
    def failing(units: set[str], random: Random) -> set[str]:
        return {"t"} if "u5" in units or random.random() < 0.1 else set()

    ejected = [blamed(monkeypatch, failing, seed, known)[0] for seed in range(100)]
    assert sum("u5" in units for units in ejected) > 70
    assert sum(bool(units - {"u5"}) for units in ejected) <= 4


def test_who_breaks_a_test_whose_name_is_another_each_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(units: set[str], random: Random) -> set[str]:
        return {f"t[{random.random()}]"} if "u5" in units else set()

    assert blamed(monkeypatch, failing, 1, frozenset())[0] == {"u5"}


def test_no_innocent_is_blamed_by_a_culprit_s_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a flaky test misled a search, what it saw of the culprit's sets speaks against the culprit alone."""

    def failing(units: set[str], random: Random) -> set[str]:
        return ({"x"} if "u5" in units else set()) | {f"t{test}" for test in range(50) if random.random() < 0.01}

    for seed in range(12):
        with contextlib.suppress(GateBroken):
            assert blamed(monkeypatch, failing, seed, frozenset(), UNITS[:6])[0] == {"u5"}


def test_steady_culprits_are_found_beside_a_flaky_test(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(units: set[str], random: Random) -> set[str]:
        broken = {"t"} if "u3" in units or {"u7", "u12"} <= units else set()
        return broken | ({"flaky"} if random.random() < 0.1 else set())

    wrong, runs = 0, []
    for seed in range(100):
        ejected, gate = blamed(monkeypatch, failing, seed, frozenset())
        assert {"u3", "u12"} <= ejected
        wrong += bool(ejected - {"u3", "u12"})
        runs.append(gate.runs)
    assert wrong <= 4
    assert sorted(runs)[89] <= 40


@pytest.mark.parametrize("seed", range(10))
def test_three_culprits_of_128_take_at_most_40_runs_wherever_they_are(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    units = [f"u{number}" for number in range(128)]
    first, second, *pair = Random(seed).sample(units, 4)

    def failing(on_tree: set[str], _: Random) -> set[str]:
        return {"t"} if on_tree & {first, second} or on_tree >= set(pair) else set()

    ejected, gate = blamed(monkeypatch, failing, seed, frozenset(), units)
    assert ejected == {first, second, max(pair, key=units.index)}
    assert gate.runs <= 40
    assert not gate.base.flaky


@given(st.integers(1, 6), st.integers(0, 5), st.integers(1, 12), st.integers(0, 11))
def test_more_failures_with_the_changes_make_chance_less_likely_and_more_without_likelier(
    runs: int, red: int, ground_runs: int, ground_red: int
) -> None:
    red, ground_red = min(red, runs - 1), min(ground_red, ground_runs - 1)
    now = chance(Tally(red, runs), Tally(ground_red, ground_runs))
    assert 0 < now <= 1
    assert chance(Tally(red + 1, runs), Tally(ground_red, ground_runs)) <= now
    assert chance(Tally(red, runs), Tally(ground_red + 1, ground_runs)) >= now


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 12), st.integers(0, 12))
def test_blame_is_never_laid_where_chance_would_do_or_the_ground_fails_as_often(
    red: int, runs: int, ground_runs: int, ground_red: int
) -> None:
    tree, ground = Tally(min(red, runs), runs), Tally(min(ground_red, ground_runs), ground_runs)
    if fault(tree, ground) is Fault.CHANGES:
        assert chance(tree, ground) <= BY_CHANCE
        assert tree.red / tree.runs > ground.red / ground.runs
