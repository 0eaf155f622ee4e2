"""The gate: the whole check and the project's tests on merged changes, compared with the base. Judges trees only.

Red where the base was green names no unit: `sweeper.bisect` finds the culprits with this gate as its oracle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import anyio

from sweeper.backlog.check import Checked
from sweeper.backlog.fingerprint import compare, remaining_of
from sweeper.bisect import GateBroken
from sweeper.ground import Ground, Workshop
from sweeper.records import Change, CheckResult, CheckState, Finding, Unit
from sweeper.sandbox.contract import Name, Role
from sweeper.suite import WHOLE_SUITE, TestBase, TestRun, Tests, run_tests, seen_both_ways
from sweeper.unmuted import Unmuted
from sweeper.verify import look

MAX_LINES = 12
NOBODY: Mapping[str, Unit] = {}


@dataclass(frozen=True, slots=True)
class TreeVerdict:
    """`red` with the reason and key lines, or green with the stamped findings that remain in the tree.

    `tests`: the run that made it red, where it was the tests: those may be flaky, a check is not.
    """

    red: bool
    reason: str = ""
    lines: tuple[str, ...] = ()
    result: CheckResult = field(repr=False, default=CheckResult(CheckState.CLEAN))
    tests: TestRun | None = field(repr=False, default=None)


class Gate:
    """One gate over one ground. `runs` counts whole-tree judgements; `base` learns which tests are flaky.

    `together`: by key, the units that were verified with others only.
    """

    def __init__(
        self,
        workshop: Workshop,
        ground: Ground,
        base: TestBase,
        round_number: int,
        together: Mapping[str, Unit] = NOBODY,
    ) -> None:
        self.workshop = workshop
        self.ground = ground
        self.base = base
        self.round = round_number
        self.together = together
        self.runs = 0
        self._index = 0
        self._unmuted = Unmuted(workshop.check, ground, self._next_name)

    async def judge(self, changes: tuple[Change, ...]) -> TreeVerdict:
        """Judge the ground plus changes.

        Raises SandboxFailed or GateBroken: a gate that can't run is broken, never green and no unit's fault.
        """
        index = self._index
        self._index += 1
        self.runs += 1
        verdicts: dict[str, TreeVerdict] = {}
        unmuted: list[Checked | None] = []

        async def check() -> None:
            verdicts["check"] = await self._check(changes, index)

        async def check_unmuted() -> None:
            unmuted.append(await self._unmuted.look(changes))

        async def test() -> None:
            verdicts["test"] = await self._test(changes, index)

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(check)
                group.start_soon(check_unmuted)
                if self.base.tests not in (Tests.NONE, Tests.UNPROVEN):
                    group.start_soon(test)
        except ExceptionGroup as several:
            raise first_of(several) from several
        checked, tested = self._nothing_hidden(verdicts["check"], unmuted[0]), verdicts.get("test")
        if checked.red or tested is None or not tested.red:
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
            return TreeVerdict(True, "does not parse", tuple(sorted(unread)[:MAX_LINES]), stamped)
        if new := difference.new:
            return TreeVerdict(True, "new findings", tuple(map(_describe, new[:MAX_LINES])), stamped)
        vanished = check.vanished(difference, {change.path for change in changes})
        if vanished:
            lines = tuple(_describe(finding, "vanished") for finding in vanished[:MAX_LINES])
            return TreeVerdict(True, "findings vanished from unchanged files", lines, stamped)
        return TreeVerdict(False, result=stamped)

    async def _broken_anyway(self) -> bool:
        """Does the check not even work on the ground any more? Then no unit broke it."""
        index, self._index = self._index, self._index + 1
        checked = await self.workshop.check.run(self._name(index, Role.CHECK), self.ground.snapshot)
        return checked.result.broken

    async def _test(self, changes: tuple[Change, ...], index: int) -> TreeVerdict:
        return self._of_tests(await self._run_tests(index, changes))

    async def _run_tests(self, index: int, changes: tuple[Change, ...] = ()) -> TestRun:
        return await run_tests(self.workshop, self.ground, self._name(index, Role.GATE, tests=True), changes)

    def _of_tests(self, run: TestRun) -> TreeVerdict:
        broke = self.base.broke(run)
        if broke is None:
            return TreeVerdict(True, "tests", run.lines, tests=run)
        if not broke:
            return TreeVerdict(False)
        return TreeVerdict(True, "tests", tuple(sorted(broke)[:MAX_LINES]), tests=run)

    async def confirm(self, changes: tuple[Change, ...], verdict: TreeVerdict) -> TreeVerdict:
        """The verdict, or the green one where it was the tests' and does not stand when they run once more.

        They run on the changes and on the ground alone; what differs between two runs on one tree is flaky and is
        remembered in `base`. Raises GateBroken where the tests are flaky as a whole and stay red: then nobody can
        be blamed, and nothing is green.
        """
        if verdict.tests is None:
            return verdict
        indices = self._index, self._index + 1
        self._index += 2
        runs: dict[bool, TestRun] = {}

        async def again(on_ground: bool) -> None:
            runs[on_ground] = await self._run_tests(indices[on_ground], () if on_ground else changes)

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(again, False)
                group.start_soon(again, True)
        except ExceptionGroup as several:
            raise first_of(several) from several
        flaky = seen_both_ways(verdict.tests, runs[False])
        ground = self.base.broke(runs[True])  # the ground was green: whatever fails on it now is flaky
        flaky |= frozenset([WHOLE_SUITE]) if ground is None else ground
        self.base = self.base.knowing(flaky)
        second = self._of_tests(runs[False])
        if not second.red:
            return TreeVerdict(False, result=verdict.result)
        if WHOLE_SUITE in self.base.flaky:
            raise GateBroken(
                "the tests are flaky, and red with this round's changes: no unit can be blamed",
                hint="let them write a JUnit file and name it in `test_junit`: they are then compared test by test",
            )
        return replace(second, result=verdict.result)

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
        lines = tuple(_describe(finding, "remains") for finding in left[:MAX_LINES])
        return replace(verdict, red=True, reason="fixed only together with others", lines=lines)

    def _next_name(self) -> Name:
        index, self._index = self._index, self._index + 1
        return self._name(index, Role.GATE)

    def _name(self, index: int, role: Role, *, tests: bool = False) -> Name:
        return Name(self.workshop.run, self.workshop.name, self.round, role, 2 * index + tests)


def first_of(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first leaf of a group: what one of several tasks really raised."""
    first = several.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


def _describe(finding: Finding, word: str = "new") -> str:
    return f"{word}: {finding.path}:{finding.line}: {finding.rule} {finding.message}"
