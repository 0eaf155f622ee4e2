"""The project's tests in a sandbox, and what the base's tests are worth as a yardstick.

Which failures are flaky and which are a change's fault is the gate's to find out (`steady`).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from sweeper.backlog.junit import told
from sweeper.backlog.paths import to_root
from sweeper.commands import argv, with_files
from sweeper.ground import Ground
from sweeper.logs import end_of, tail
from sweeper.records import Change, Unit
from sweeper.sandbox.contract import Clocks, Name, Role
from sweeper.workshop import Workshop

TEST_WALL = 3600.0
WHOLE_SUITE = "the test command as a whole"


class Tests(enum.StrEnum):
    """What the base's tests are worth as a yardstick."""

    NONE = "no tests configured"
    GREEN = "green"
    BY_TEST = "red, compared test by test"
    UNPROVEN = "red, so the merged tree is unproven"


@dataclass(frozen=True, slots=True)
class TestBase:
    """The tests on the base commit. `failing`: names of the tests that fail there already.

    `flaky`: names of tests whose failures were found to be nobody's fault; WHOLE_SUITE where no JUnit file names any.
    `cases`: how many tests its JUnit file tells of.
    """

    tests: Tests
    failing: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()
    flaky: frozenset[str] = frozenset()
    cases: int = 0

    def broke(self, run: TestRun) -> frozenset[str]:
        """The tests that a run's tree seems to have broken, flaky ones too: none that fail on the base anyway."""
        if run.passed:
            return frozenset()
        broke = (run.failing or frozenset()) - self.failing
        # What ended before it came to its last test says nothing of the rest.
        return broke if broke or (run.failing and run.cases >= self.cases) else frozenset([WHOLE_SUITE])

    def knowing(self, flaky: frozenset[str]) -> TestBase:
        return replace(self, flaky=self.flaky | flaky)


@dataclass(frozen=True, slots=True)
class TestRun:
    """One run of the tests. `failing`: the names of those that failed, None where no JUnit file was written.

    `cases`: how many tests that file tells of.
    """

    passed: bool
    failing: frozenset[str] | None
    lines: tuple[str, ...]
    cases: int = 0


async def run_tests(
    workshop: Workshop,
    ground: Ground,
    name: Name,
    changes: tuple[Change, ...] = (),
    command: tuple[str, ...] = (),
) -> TestRun:
    """Run the tests, or `command` in their place, on the ground plus changes. Raises SandboxFailed."""
    junit = "" if command else workshop.config.test_junit
    wanted = junit.encode()
    spec = workshop.sandboxing.spec(
        name,
        ground.snapshot,
        command or argv(workshop.config.test),
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
    ended = ran.facts.clock or ran.facts.exit_code is None  # not by itself: what it wrote may be a part
    found = await workshop.check.parser.call(told, report) if report and not ended else None
    failing, cases = (None, 0) if found is None else (frozenset(found[0]), found[1])
    return TestRun(ran.facts.exit_code == 0, failing, lines, cases)


async def test_base(workshop: Workshop, ground: Ground) -> TestBase:
    """Run the tests on the base once, so that red can be told from already red; twice where red is all they say."""
    if not argv(workshop.config.test):
        return TestBase(Tests.NONE)
    with workshop.progress.of("the tests on the base"):
        run = await run_tests(workshop, ground, Name(workshop.run, workshop.name, 0, Role.GATE))
    if run.passed:
        return TestBase(Tests.GREEN)
    if run.failing is not None:
        return TestBase(Tests.BY_TEST, run.failing, run.lines, cases=run.cases)
    with workshop.progress.of("the tests on the base once more"):
        again = await run_tests(workshop, ground, Name(workshop.run, workshop.name, 0, Role.GATE, 1))
    if again.passed:
        return TestBase(Tests.GREEN, flaky=frozenset([WHOLE_SUITE]))
    return TestBase(Tests.UNPROVEN, lines=run.lines)


async def unit_test(
    workshop: Workshop, ground: Ground, name: Name, unit: Unit, changes: tuple[Change, ...]
) -> TestRun | None:
    """The unit's own test on its change; None where it is red on the ground too, and so proves nothing.

    Raises SandboxFailed.
    """
    files = [to_root(path, workshop.config.root) for path in unit.paths]
    command = tuple(with_files(argv(workshop.config.unit_test), files))
    run = await run_tests(workshop, ground, name, changes, command)
    if run.passed:
        return run
    before = await run_tests(workshop, ground, replace(name, index=name.index + 1), (), command)
    return run if before.passed else None
