"""The waiting room: whoever waits is judged as if alone, in few checks, whoever is cancelled meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.backlog.check import Checked
from sweeper.errors import SandboxFailed
from sweeper.gate import suite
from sweeper.gate.gate import Gate, TreeVerdict
from sweeper.ground import Ground
from sweeper.records import Unit
from sweeper.sandbox.contract import Facts, Snapshot
from sweeper.verify.verify import Judgement
from sweeper.workshop import Workshop
from tests.verify.world import Effect, World, is_fixed
from tests.waiting import PATIENCE

EFFECTS = st.builds(
    Effect,
    fixes=st.sampled_from([True, True, True, False]),
    breaks_own=st.sampled_from([False, False, False, True]),
    breaks_stranger=st.sampled_from([False, False, False, True]),
    breaks_check=st.sampled_from([False] * 7 + [True]),
    unreadable=st.sampled_from([False] * 7 + [True]),
    mends=st.lists(st.integers(0, 11), max_size=2).map(tuple),
)
WORLDS = st.lists(EFFECTS, min_size=1, max_size=12)


def judge_all(
    world: World, slots: int = 1, most: int = 16, cancelled: frozenset[int] = frozenset()
) -> dict[int, Judgement]:
    """Everybody's judgement; the `cancelled` give up after a few steps."""
    verifiers = world.verifiers(slots, most)
    judged: dict[int, Judgement] = {}

    async def one(number: int, scope: anyio.CancelScope) -> None:
        with scope:
            judged[number] = await verifiers.judge(world.candidate(number))

    async def stop(number: int, scope: anyio.CancelScope) -> None:
        for _ in range(number % 5):
            await anyio.lowlevel.checkpoint()
        scope.cancel()

    async def everybody() -> None:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                for number in range(len(world.effects)):
                    scope = anyio.CancelScope()
                    group.start_soon(one, number, scope)
                    if number in cancelled:
                        group.start_soon(stop, number, scope)

    anyio.run(everybody)
    return judged


@settings(deadline=None)
@given(WORLDS, st.integers(1, 4), st.integers(1, 16), st.booleans())
def test_the_verdict_is_the_one_by_one_verdict(effects: list[Effect], slots: int, most: int, crosses: bool) -> None:
    world = World(effects, crosses=crosses)
    judged = judge_all(world, slots, most)
    one_by_one = judge_all(World(effects, crosses=crosses), slots, 1)
    assert {number: is_fixed(each) for number, each in judged.items()} == {
        number: is_fixed(each) for number, each in one_by_one.items()
    }
    assert len(world.asked) < 2 * len(effects)
    assert world.at_once <= slots
    assert len({each for judgement in judged.values() for each in judgement.checks}) == len(world.asked)


@settings(deadline=None)
@given(WORLDS, st.integers(1, 4), st.frozensets(st.integers(0, 11)))
def test_nobody_waits_for_one_that_was_cancelled(effects: list[Effect], slots: int, cancelled: frozenset[int]) -> None:
    judged = judge_all(World(effects, pauses=3), slots, 4, cancelled)
    assert set(range(len(effects))) - judged.keys() <= cancelled
    for number, each in judged.items():
        assert is_fixed(each) == World(effects).alone(number) or each.together > 1


@settings(deadline=None)
@given(WORLDS, st.frozensets(st.integers(0, 11)))
def test_what_is_true_of_all_together_is_held_against_what_is_merged(
    effects: list[Effect], left_out: frozenset[int]
) -> None:
    """Also where one unit mends another's finding without a trace in either's text."""
    world = World(effects, named=False)
    judged = judge_all(world)
    fixed = [number for number, each in judged.items() if is_fixed(each)]
    for number in fixed:
        assert world.alone(number) or judged[number].together > 1
    kept = frozenset(fixed) - left_out
    tree = world.result(kept)
    units = [world.candidate(number).unit for number in kept if judged[number].together > 1]
    remains = {finding.path for finding in tree.findings} & {unit.title for unit in units}
    verdict = held_to(world, kept, units)
    assert verdict.red == bool(remains)
    assert len(verdict.lines) == len(remains)


def held_to(world: World, merged: frozenset[int], units: Sequence[Unit]) -> TreeVerdict:
    """A green verdict on the tree with `merged`, held to what `units` were verified for with others."""
    ground = Ground("c", Snapshot("c", {}), world.candidate(0).baseline, world.result(frozenset()))
    together = {unit.key: unit for unit in units}
    gate = Gate(
        cast(Workshop, SimpleNamespace(check=SimpleNamespace(unmuted_argv=()))),
        ground,
        suite.TestBase(suite.Tests.NONE),
        1,
        together,
    )
    return gate.held_to(TreeVerdict(False, result=world.result(merged)), together)


def test_who_was_mended_by_another_one_is_red_without_it() -> None:
    world = World([Effect(), Effect(mends=(2,)), Effect(fixes=False), Effect()], named=False)
    judged = judge_all(world)
    assert is_fixed(judged[2])
    assert judged[2].together > 1
    units = [world.candidate(number).unit for number in (0, 2, 3)]
    assert not held_to(world, frozenset({0, 1, 2, 3}), units).red
    without = held_to(world, frozenset({0, 2, 3}), units)
    assert without.red
    assert without.lines == ("remains: f2.py:1: BAD bad 2",)


def test_what_waits_is_judged_by_one_check() -> None:
    world = World([Effect()] * 16)
    judged = judge_all(world, most=16)
    assert all(is_fixed(each) for each in judged.values())
    assert len(world.asked) <= 2  # whoever came first, and the rest
    assert {each.together for each in judged.values()} <= {1, 15, 16}


def test_one_that_breaks_its_own_file_costs_nobody_else_a_check() -> None:
    world = World([Effect(breaks_own=number == 5) for number in range(16)])
    judged = judge_all(world)
    assert [number for number, each in judged.items() if not is_fixed(each)] == [5]
    assert len(world.asked) <= 4  # the first, all others, all but the bad one, the bad one


def test_a_broken_check_is_narrowed_down() -> None:
    world = World([Effect(breaks_check=number == 5) for number in range(16)])
    judged = judge_all(world)
    assert [number for number, each in judged.items() if not is_fixed(each)] == [5]
    assert len(world.asked) <= 10
    assert judged[5].together == 1


def test_a_pair_that_names_each_other_is_judged_apart() -> None:
    world = World([Effect(mends=(1,)), Effect(fixes=False), *[Effect()] * 6])
    judged = judge_all(world)
    assert not is_fixed(judged[1])
    assert is_fixed(judged[0])
    assert not any({0, 1} <= asked for asked in world.asked)


def test_a_lost_sandbox_of_a_batch_is_no_member_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World([Effect()] * 6)
    run = World.run

    async def loses_batches(self: World, *args: object, **more: object) -> Checked:
        checked = await run(self, *args, **more)  # type: ignore[arg-type]
        if len(self.asked[-1]) > 1:
            raise SandboxFailed("the sandbox was lost")
        return checked

    monkeypatch.setattr(World, "run", loses_batches)
    assert all(is_fixed(each) for each in judge_all(world).values())


def test_a_leader_that_fails_gives_the_others_back(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World([Effect()] * 6)
    failed: list[str] = []
    changes_of = World.changes_of

    async def fails_once(self: World, commit: str) -> list[object]:
        await anyio.lowlevel.checkpoint()
        if not failed:
            failed.append(commit)
            raise SandboxFailed("git is gone")
        return list(await changes_of(self, commit))

    monkeypatch.setattr(World, "changes_of", fails_once)
    verifiers = world.verifiers(1, 16)
    ended: list[object] = []

    async def one(number: int) -> None:
        try:
            ended.append(await verifiers.judge(world.candidate(number)))
        except SandboxFailed as problem:
            ended.append(problem)

    async def everybody() -> None:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                for number in range(6):
                    group.start_soon(one, number)

    anyio.run(everybody)
    assert sum(isinstance(each, SandboxFailed) for each in ended) == 1
    assert sum(isinstance(each, Judgement) and is_fixed(each) for each in ended) == 5
    assert Facts(exit_code=0) in {each.facts for each in ended if isinstance(each, Judgement)}
