"""The gate: the whole check and the project's tests on merged changes, compared with the base. Judges trees only.

Red where the base was green names no unit: `sweeper.bisect` finds the culprits with this gate as its oracle.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace

import anyio

from sweeper.backlog.fingerprint import compare
from sweeper.backlog.junit import failed_tests
from sweeper.bisect import GateBroken
from sweeper.commands import argv
from sweeper.ground import Ground, Workshop
from sweeper.records import Change, CheckResult, CheckState, Finding, SkipReason
from sweeper.sandbox.contract import Clocks, Name, Role
from sweeper.trial import end_of, tail

TEST_WALL = 3600.0
MAX_LINES = 12


class Tests(enum.StrEnum):
    """What the base's tests are worth as a yardstick."""

    NONE = "no tests configured"
    GREEN = "green"
    BY_TEST = "red, compared test by test"
    UNPROVEN = "red, so the merged tree is unproven"


@dataclass(frozen=True, slots=True)
class TestBase:
    """The tests on the base commit. `failing`: names of the tests that fail there already."""

    tests: Tests
    failing: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeVerdict:
    """`red` with the reason and key lines, or green with the stamped findings that remain in the tree."""

    red: bool
    reason: str = ""
    lines: tuple[str, ...] = ()
    result: CheckResult = field(repr=False, default=CheckResult(CheckState.CLEAN))


@dataclass(frozen=True, slots=True)
class TestRun:
    passed: bool
    failing: frozenset[str] | None
    lines: tuple[str, ...]


class Gate:
    """One gate over one ground. `runs` counts whole-tree judgements."""

    def __init__(self, workshop: Workshop, ground: Ground, base: TestBase, round_number: int) -> None:
        self.workshop = workshop
        self.ground = ground
        self.base = base
        self.round = round_number
        self.runs = 0

    async def judge(self, changes: tuple[Change, ...]) -> TreeVerdict:
        """Judge the ground plus changes.

        Raises SandboxFailed or GateBroken: a gate that can't run is broken, never green and no unit's fault.
        """
        index, self.runs = self.runs, self.runs + 1
        verdicts: dict[str, TreeVerdict] = {}

        async def check() -> None:
            verdicts["check"] = await self._check(changes, index)

        async def test() -> None:
            verdicts["test"] = await self._test(changes, index)

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(check)
                if self.base.tests not in (Tests.NONE, Tests.UNPROVEN):
                    group.start_soon(test)
        except ExceptionGroup as several:
            raise first_of(several) from several
        red = next((v for v in (verdicts["check"], verdicts.get("test")) if v is not None and v.red), None)
        return red or verdicts["check"]

    async def _check(self, changes: tuple[Change, ...], index: int) -> TreeVerdict:
        checked = await self.workshop.check.run(self._name(index, Role.GATE), self.ground.snapshot, changes=changes)
        result = checked.result
        if result.state is CheckState.BROKEN:
            if checked.facts.oom or checked.facts.clock or await self._broken_anyway():
                raise GateBroken(f"the gate's check could not run: {result.why}")
            return TreeVerdict(True, "check broken", tuple(result.why.splitlines()[:MAX_LINES]), result)
        contents = {change.path: change.data or b"" for change in changes}
        after = self.ground.baseline.stamp(result.findings, contents)
        difference = compare(self.ground.baseline.all(), after)
        new = difference.new
        stamped = replace(result, findings=tuple(after))
        unread = _unparsed(result) - _unparsed(self.ground.result)
        if unread:
            return TreeVerdict(True, "does not parse", tuple(sorted(unread)[:MAX_LINES]), stamped)
        if new:
            return TreeVerdict(True, "new findings", tuple(map(_describe, new[:MAX_LINES])), stamped)
        vanished = self.workshop.check.vanished(difference, contents)
        if vanished:
            lines = tuple(_describe(finding, "vanished") for finding in vanished[:MAX_LINES])
            return TreeVerdict(True, "findings vanished from unchanged files", lines, stamped)
        return TreeVerdict(False, result=stamped)

    async def _broken_anyway(self) -> bool:
        """Does the check not even work on the ground any more? Then no unit broke it."""
        checked = await self.workshop.check.run(self._name(self.runs, Role.CHECK), self.ground.snapshot)
        return checked.result.state is CheckState.BROKEN

    async def _test(self, changes: tuple[Change, ...], index: int) -> TreeVerdict:
        run = await run_tests(self.workshop, self.ground, self._name(index, Role.GATE, tests=True), changes)
        if run.passed:
            return TreeVerdict(False)
        if self.base.tests is Tests.BY_TEST and run.failing is not None:
            broke = sorted(run.failing - self.base.failing)
            return TreeVerdict(bool(broke), "tests" if broke else "", tuple(broke[:MAX_LINES]))
        return TreeVerdict(True, "tests", run.lines)

    def _name(self, index: int, role: Role, *, tests: bool = False) -> Name:
        return Name(self.workshop.run, self.workshop.name, self.round, role, 2 * index + tests)


def _unparsed(result: CheckResult) -> set[str]:
    return {skip.path for skip in result.skips if skip.reason is SkipReason.NOT_PARSED}


def first_of(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first leaf of a group: what one of several tasks really raised."""
    first = several.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first


def _describe(finding: Finding, word: str = "new") -> str:
    return f"{word}: {finding.path}:{finding.line}: {finding.rule} {finding.message}"


async def run_tests(workshop: Workshop, ground: Ground, name: Name, changes: tuple[Change, ...] = ()) -> TestRun:
    """The project's tests in a sandbox. `failing` is None where no JUnit file was written."""
    junit = workshop.config.test_junit
    wanted = junit.encode()
    spec = workshop.sandboxing.spec(
        name,
        ground.snapshot,
        argv(workshop.config.test),
        cwd=workshop.config.root,
        changes=changes,
        clocks=Clocks(wall=TEST_WALL),
        wanted=lambda path: path == wanted,
        read_layer=bool(junit),
    )
    ran = await workshop.sandboxing.backend.run(spec)
    lines = tail(end_of(spec.stdout)) or tail(end_of(spec.stderr))
    workshop.sandboxing.drop_logs(name)
    report = next((entry.data for entry in ran.layer.entries if entry.path == wanted and entry.data), None)
    failing = await workshop.check.parser.call(failed_tests, report) if report else None
    return TestRun(ran.facts.exit_code == 0, None if failing is None else frozenset(failing), lines)


async def test_base(workshop: Workshop, ground: Ground) -> TestBase:
    """Run the tests on the base once, so that red can be told from already red."""
    if not argv(workshop.config.test):
        return TestBase(Tests.NONE)
    run = await run_tests(workshop, ground, Name(workshop.run, workshop.name, 0, Role.GATE))
    if run.passed:
        return TestBase(Tests.GREEN)
    if run.failing is not None:
        return TestBase(Tests.BY_TEST, run.failing, run.lines)
    return TestBase(Tests.UNPROVEN, lines=run.lines)
