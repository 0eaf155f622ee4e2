"""The gate: the whole check and the project's tests on merged changes, compared with the base. Judges trees only.

Red where the base was green names no unit: `sweeper.gate.bisect` finds the culprits with this gate as its oracle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import anyio

from sweeper.backlog.check import Checked
from sweeper.backlog.fingerprint import compare, remaining_of
from sweeper.errors import first_of
from sweeper.gate.bisect import GateBroken
from sweeper.gate.steady import BY_CHANCE, MOST_LOOKS, Fault, Tally, asks_the_ground, chance, fault
from sweeper.gate.suite import WHOLE_SUITE, TestBase, TestRun, Tests, run_tests
from sweeper.gate.unmuted import Unmuted
from sweeper.ground import Ground
from sweeper.logs import MAX_LINES
from sweeper.records import Change, CheckResult, CheckState, Finding, Unit
from sweeper.sandbox.contract import Name, Role
from sweeper.verify.verify import key_line, look
from sweeper.workshop import Workshop

NOBODY: Mapping[str, Unit] = {}
TOGETHER = "fixed only together with others"


@dataclass(frozen=True, slots=True)
class TreeVerdict:
    """`red` with the reason and key lines, or green with the stamped findings that remain in the tree.

    `tests`: the run of the tests that it rests on, None where a check made it red: that is never flaky.
    """

    red: bool
    reason: str = ""
    lines: tuple[str, ...] = ()
    result: CheckResult = field(repr=False, default=CheckResult(CheckState.CLEAN))
    tests: TestRun | None = field(repr=False, default=None)


class Gate:
    """One gate over one ground. `runs` counts whole-tree judgements; `base` learns which tests are flaky.

    A flaky test speaks against nobody until it is `convicted`: seen to fail because of the changes.
    `together`: by key, the units that were verified with others only. `called`: what its progress is told of, the
    round by default.
    """

    def __init__(
        self,
        workshop: Workshop,
        ground: Ground,
        base: TestBase,
        round_number: int,
        together: Mapping[str, Unit] = NOBODY,
        called: str = "",
    ) -> None:
        self.called = called or f"round {round_number}"
        self.workshop = workshop
        self.ground = ground
        self.base = base
        self.round = round_number
        self.together = together
        self.runs = 0
        self.convicted: dict[str, Tally] = {}
        self._on_ground: list[frozenset[str]] = [frozenset()]  # what failed in each run on it; it was green once
        self._index = 0
        self._unmuted = Unmuted(workshop.check, ground, self._next_name)

    async def judge(self, changes: tuple[Change, ...], patience: int = 1) -> TreeVerdict:
        """Judge the ground plus changes. `patience`: the least number of green runs that the tests are believed.

        Raises SandboxFailed or GateBroken: a gate that can't run is broken, never green and no unit's fault.
        """
        index = self._next_index()
        self.runs += 1
        verdicts: dict[str, TreeVerdict] = {}
        unmuted: list[Checked | None] = []

        async def check() -> None:
            verdicts["check"] = await self._check(changes, index)

        async def check_unmuted() -> None:
            unmuted.append(await self._unmuted.look(changes))

        async def test() -> None:
            verdicts["test"] = await self._test(changes, index, patience)

        tests = self.base.tests not in (Tests.NONE, Tests.UNPROVEN)
        what = f"{self.called}: gate run {self.runs}, the check{' and the tests' if tests else ''} on the whole"
        try:
            with self.workshop.progress.of(what):
                async with anyio.create_task_group() as group:
                    group.start_soon(check)
                    group.start_soon(check_unmuted)
                    if tests:
                        group.start_soon(test)
        except ExceptionGroup as several:
            raise first_of(several) from several
        checked, tested = self._nothing_hidden(verdicts["check"], unmuted[0]), verdicts.get("test")
        if checked.red or tested is None:
            return checked
        return replace(tested, result=checked.result)

    def _nothing_hidden(self, verdict: TreeVerdict, unmuted: Checked | None) -> TreeVerdict:
        if verdict.red or unmuted is None:
            return verdict
        if unmuted.result.broken:
            # it works on the ground, or it would not have been asked here
            if unmuted.facts.oom or unmuted.facts.clock:
                raise GateBroken(f"the gate's check without suppressions could not run: {unmuted.result.why}")
            lines = tuple(unmuted.result.why.splitlines()[:MAX_LINES])
            return replace(verdict, red=True, reason="check without suppressions broken", lines=lines)
        more = self._unmuted.more(unmuted, verdict.result)
        if not more:
            return verdict
        lines = tuple(f"hidden: {path}: {rule}" for path, rule in more[:MAX_LINES])
        return replace(verdict, red=True, reason="hidden by suppressions", lines=lines)

    async def _check(self, changes: tuple[Change, ...], index: int) -> TreeVerdict:
        ground, check = self.ground, self.workshop.check
        seen = await look(check, self._name(index, Role.GATE), ground.snapshot, check.argv, ground.baseline, changes)
        result = seen.result
        if result.broken:
            if seen.facts.oom or seen.facts.clock or await self._broken_anyway():
                raise GateBroken(f"the gate's check could not run: {result.why}")
            return TreeVerdict(True, "check broken", tuple(result.why.splitlines()[:MAX_LINES]), result)
        difference = compare(ground.baseline.all(), seen.after)
        stamped = replace(result, findings=seen.after)
        if unread := result.unread - ground.unread:
            return TreeVerdict(
                True, "does not parse", tuple(map(result.unread_line, sorted(unread)[:MAX_LINES])), stamped
            )
        if new := difference.new:
            return TreeVerdict(
                True, "new findings", tuple(key_line("new", finding) for finding in new[:MAX_LINES]), stamped
            )
        vanished = check.vanished(difference, {change.path for change in changes})
        if vanished:
            lines = tuple(key_line("vanished", finding) for finding in vanished[:MAX_LINES])
            return TreeVerdict(True, "findings vanished from unchanged files", lines, stamped)
        return TreeVerdict(False, result=stamped)

    async def _broken_anyway(self) -> bool:
        """Does the check not even work on the ground any more, or not on all of it? Then no unit broke it."""
        name = self._name(self._next_index(), Role.CHECK)
        checked = await self.workshop.check.run(name, self.ground.snapshot)
        return checked.result.broken or bool(checked.result.incomplete and not self.ground.baseline.incomplete)

    async def _test(self, changes: tuple[Change, ...], index: int, patience: int) -> TreeVerdict:
        run = await self._run_tests(index, changes)
        green, patience = 1, max(patience, *(seen.patience for seen in self.convicted.values()), 1)
        while not self._breaks(run) and green < patience:
            run = await self._run_tests(self._next_index(), changes)
            green += 1
        broke = self._breaks(run)
        lines = run.lines if broke == {WHOLE_SUITE} else tuple(sorted(broke)[:MAX_LINES])
        return TreeVerdict(bool(broke), "tests" if broke else "", lines if broke else (), tests=run)

    def _breaks(self, run: TestRun) -> frozenset[str]:
        return self.base.broke(run) - (self.base.flaky - self.convicted.keys())

    async def _run_tests(self, index: int, changes: tuple[Change, ...] = ()) -> TestRun:
        return await run_tests(self.workshop, self.ground, self._name(index, Role.GATE, tests=True), changes)

    async def confirm(self, changes: tuple[Change, ...], verdict: TreeVerdict) -> TreeVerdict:
        """The verdict, or another one where tests failed and it turns out whose fault that is.

        They run again, on the changes and on the ground alone, until it is told for each test that failed whose
        fault that is (`steady`). What is nobody's is remembered in `base` as flaky, what is the changes' in
        `convicted`. Raises GateBroken where the tests as a whole are flaky and never green with the changes: then
        nobody can be blamed, and nothing is green.
        """
        if verdict.tests is None or not self.base.broke(verdict.tests):
            return verdict
        on_tree, before = [self.base.broke(verdict.tests)], len(self._on_ground)
        while len(on_tree) < MOST_LOOKS and (
            untold := [test for test, whose in self._faults(on_tree).items() if whose is Fault.UNTOLD]
        ):
            on_both = not all(asks_the_ground(_tally(test, on_tree)) for test in untold)
            runs = await self._run_both(changes if on_both else ())
            self._on_ground.append(runs[1])
            (on_tree if on_both else self._on_ground).append(runs[0])
        faults = self._faults(on_tree)
        guilty = sorted(test for test, whose in faults.items() if whose is Fault.CHANGES)
        seen = {test: _tally(test, on_tree) for test in guilty}
        if not guilty and (whole := self._red_by_turns(on_tree, self._on_ground[before:])):
            guilty = sorted(frozenset(faults).difference(self.base.flaky, *self._on_ground))
            seen = dict.fromkeys(guilty, whole)
        self.base = self.base.knowing((frozenset(faults) - frozenset(guilty)).union(*self._on_ground))
        self.convicted = {test: seen for test, seen in self.convicted.items() if test not in faults}
        self.convicted |= seen
        if not guilty and all(WHOLE_SUITE in failed for failed in on_tree):
            raise GateBroken(
                "the tests are flaky, and red with this round's changes: no unit can be blamed",
                hint="let them write a JUnit file and name it in `test_junit`: they are then compared test by test",
            )
        if not guilty:
            return TreeVerdict(False, result=verdict.result)
        steady = guilty == [WHOLE_SUITE] and not self.unsteady
        lines = verdict.tests.lines if steady else tuple(self._evidence(test) for test in guilty[:MAX_LINES])
        return TreeVerdict(True, "tests", lines, verdict.result, verdict.tests)

    def stands(self, verdict: TreeVerdict) -> bool:
        """Does a red verdict stand, after what was learned of flaky tests since?"""
        return verdict.red and (verdict.tests is None or bool(self._breaks(verdict.tests)))

    @property
    def unsteady(self) -> bool:
        """Does a convicted test fail only now and then, so that one run says little?"""
        return any(seen.both_ways for seen in self.convicted.values())

    async def _run_both(self, changes: tuple[Change, ...]) -> list[frozenset[str]]:
        """What failed with the changes, and on the ground alone, both at once."""
        failed: list[frozenset[str]] = [frozenset(), frozenset()]
        trees = changes, ()

        async def run(place: int, index: int) -> None:
            failed[place] = self.base.broke(await self._run_tests(index, trees[place]))

        try:
            with self.workshop.progress.of(f"{self.called}: the tests once more, with the changes and without"):
                async with anyio.create_task_group() as group:
                    for place in (0, 1):
                        group.start_soon(run, place, self._next_index())
        except ExceptionGroup as several:
            raise first_of(several) from several
        return failed

    def _faults(self, on_tree: list[frozenset[str]]) -> dict[str, Fault]:
        return {test: fault(_tally(test, on_tree), self._without(test)) for test in frozenset().union(*on_tree)}

    def _red_by_turns(self, on_tree: list[frozenset[str]], on_ground: list[frozenset[str]]) -> Tally | None:
        """How often any test failed with the changes, if that is their fault though no single test fails that often.

        They break another test each time, or one whose name is another each time. `on_ground`: the runs beside them,
        as what failed in earlier ones is known as flaky.
        """
        tree, ground = (
            Tally(sum(bool(failed - self.base.flaky) for failed in runs), len(runs)) for runs in (on_tree, on_ground)
        )
        return tree if tree.red > 1 and ground.runs and chance(tree, ground) <= BY_CHANCE else None

    def _without(self, test: str) -> Tally:
        """How often it failed on the ground; at least once where it was seen to be flaky before."""
        seen = _tally(test, self._on_ground)
        return seen if seen.red or test not in self.base.flaky else Tally(1, seen.runs + 1)

    def _evidence(self, test: str) -> str:
        seen, before = self.convicted[test], _tally(test, self._on_ground)
        if not seen.both_ways and not before.red:
            return test
        return (
            f"{test}: failed in {seen.red} of {seen.runs} runs with the changes, "
            f"in {before.red} of {before.runs} without them"
        )

    def held_to(self, verdict: TreeVerdict, keys: Iterable[str]) -> TreeVerdict:
        """A green verdict turned red, if the tree still has what some of these units were fixed of with others."""
        by_path: dict[str, list[Finding]] = {}
        for finding in verdict.result.findings:
            by_path.setdefault(finding.path, []).append(finding)
        left: list[Finding] = []
        for unit in (self.together[key] for key in keys if key in self.together):
            own = [finding for path in unit.paths for finding in by_path.get(path, ())]
            left += remaining_of(unit.findings, self.ground.baseline.beside(unit), own)
        if verdict.red or not left:
            return verdict
        lines = tuple(key_line("remains", finding) for finding in left[:MAX_LINES])
        return replace(verdict, red=True, reason=TOGETHER, lines=lines, tests=None)

    def _next_index(self) -> int:
        self._index += 1
        return self._index - 1

    def _next_name(self) -> Name:
        return self._name(self._next_index(), Role.GATE)

    def _name(self, index: int, role: Role, *, tests: bool = False) -> Name:
        return Name(self.workshop.run, self.workshop.name, self.round, role, 2 * index + tests)


def _tally(test: str, runs: list[frozenset[str]]) -> Tally:
    """Of the runs that tell of this test: one that names none tells of the suite as a whole only."""
    telling = [failed for failed in runs if test == WHOLE_SUITE or WHOLE_SUITE not in failed]
    return Tally(sum(test in failed for failed in telling), len(telling))
