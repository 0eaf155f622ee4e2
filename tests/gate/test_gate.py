"""What a gate says when its check does not work: the merge's fault, or nobody's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from sweeper.backlog.check import Checked
from sweeper.config.models import SweepConfig
from sweeper.gate import gate as gate_module
from sweeper.gate import suite
from sweeper.gate.bisect import GateBroken
from sweeper.gate.gate import Gate, TreeVerdict
from sweeper.ground import Ground
from sweeper.order import suppressions_reject
from sweeper.progress import Progress
from sweeper.records import Change, CheckResult, CheckState, Finding, Skip, SkipReason, Unit
from sweeper.sandbox.contract import Clock, Entry, EntryKind, Facts, Layer, Name, Ran, Role, Snapshot, Spec
from sweeper.sandbox.sandboxing import Sandboxing
from sweeper.verify.verify import Baseline, verify
from sweeper.workshop import Workshop

BROKEN = Checked(CheckResult(CheckState.BROKEN, why="it crashed"), Facts(exit_code=2))
CLEAN = Checked(CheckResult(CheckState.CLEAN), Facts(exit_code=0))
CHANGE = (Change("a.py", b"x\n"),)


@dataclass
class Check:
    """Answers in the order given, whatever is asked."""

    answers: list[Checked]
    argv: tuple[str, ...] = ("lint",)
    asked: list[tuple[Change, ...]] = field(default_factory=list)

    async def run(self, *_: Any, changes: tuple[Change, ...] = (), **__: Any) -> Checked:
        self.asked.append(changes)
        return self.answers[len(self.asked) - 1]

    unmuted_argv: tuple[str, ...] = ()
    root = "."

    def command_for(self, _: Any) -> tuple[str, ...]:
        return self.argv

    def vanished(self, *_: Any) -> list[Any]:
        return []


def gate(*answers: Checked) -> Gate:
    workshop = cast(Workshop, SimpleNamespace(check=Check(list(answers)), run="r", name="s", progress=Progress()))
    ground = Ground("c", Snapshot("c", {}), Baseline([]), CLEAN.result)
    return Gate(workshop, ground, suite.TestBase(suite.Tests.NONE), 1)


def test_a_check_that_the_merge_breaks_is_red() -> None:
    verdict = anyio.run(gate(BROKEN, CLEAN).judge, CHANGE)
    assert (verdict.red, verdict.reason) == (True, "check broken")


def test_a_check_that_is_broken_without_the_merge_too_is_nobody_s_fault() -> None:
    with pytest.raises(GateBroken):
        anyio.run(gate(BROKEN, BROKEN).judge, CHANGE)


@pytest.mark.parametrize("facts", [Facts(exit_code=None, signal=9, clock=Clock.WALL), Facts(None, 9, oom=True)])
def test_a_check_that_was_stopped_proves_nothing(facts: Facts) -> None:
    with pytest.raises(GateBroken):
        anyio.run(gate(Checked(BROKEN.result, facts)).judge, CHANGE)


CANNOT_RUN = "can't run x because of compilation errors"
UNREAD = Skip("a.py", SkipReason.NOT_PARSED, 1)
INCOMPLETE = Checked(replace(CLEAN.result, incomplete=CANNOT_RUN, skips=(UNREAD,)), Facts(exit_code=0))


def test_a12_findings_that_a_check_did_not_come_to_are_not_gone() -> None:
    """The change breaks the build: the linter finds nothing any more, and says why on the side."""
    verdict = anyio.run(gate(INCOMPLETE, CLEAN).judge, CHANGE)
    assert (verdict.red, verdict.reason) == (True, "check broken")
    assert "can't run x" in verdict.lines[0]
    assert verdict.lines[1] == "does not parse: a.py"
    with pytest.raises(GateBroken):  # without the change it doesn't any more either
        anyio.run(gate(INCOMPLETE, INCOMPLETE).judge, CHANGE)

    finding = Finding("a.py", 1, 1, "R", "m")
    unit = Unit("k", "s", "a.py", ("a.py",), (finding,))
    for baseline, broken in ((Baseline([finding]), True), (Baseline([finding], "it never looks at everything"), False)):
        check = cast(Any, Check([INCOMPLETE]))
        judged = anyio.run(verify, check, Name("r", "s", 1, Role.CHECK), Snapshot("c", {}), unit, baseline, CHANGE)
        assert judged.result.broken is broken


GREEN = suite.TestRun(True, frozenset(), ())
RED = suite.TestRun(False, None, ("1 failed",))


def failing(*tests: str) -> suite.TestRun:
    return suite.TestRun(False, frozenset(tests), ())


class Suite:
    """The tests' answers on the ground and on the changes: each in the order given, the last one for ever."""

    def __init__(self, ground: list[suite.TestRun], changed: list[suite.TestRun]) -> None:
        self.answers = {False: ground, True: changed}
        self.names: list[str] = []
        self.asked = {False: 0, True: 0}

    async def __call__(
        self, workshop: Workshop, ground: Ground, name: Name, changes: tuple[Change, ...] = ()
    ) -> suite.TestRun:
        self.names.append(str(name))
        answers, changed = self.answers[bool(changes)], bool(changes)
        self.asked[changed] += 1
        return answers.pop(0) if len(answers) > 1 else answers[0]


def looked_at(
    monkeypatch: pytest.MonkeyPatch, base: suite.TestBase, *, ground: list[suite.TestRun], changed: list[suite.TestRun]
) -> tuple[TreeVerdict, Gate, Suite]:
    answers = Suite(ground, changed)
    monkeypatch.setattr(gate_module, "run_tests", answers)
    this = gate(*[CLEAN] * 9)
    this.base = base

    async def judge_twice() -> TreeVerdict:
        return await this.confirm(CHANGE, await this.judge(CHANGE))

    verdict = anyio.run(judge_twice)
    assert len(set(answers.names)) == len(answers.names)
    return verdict, this, answers


ALL_GREEN = suite.TestBase(suite.Tests.GREEN)


def test_a_test_that_always_fails_with_the_changes_and_never_without_is_broken_by_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdict, this, asked = looked_at(
        monkeypatch,
        ALL_GREEN,
        ground=[GREEN],
        changed=[failing("a"), failing("a", "b"), failing("a"), failing("a"), GREEN],
    )
    assert (verdict.red, verdict.lines) == (True, ("a",))
    assert this.base.flaky == {"b"}
    assert asked.asked[True] == 4


@pytest.mark.parametrize(
    ("ground", "again"),
    [
        ([failing("a"), GREEN], [failing("a"), GREEN]),
        ([failing("a")], [failing("a")]),
        ([GREEN], [GREEN]),
        ([GREEN], [failing("b"), GREEN]),
        ([GREEN, GREEN, GREEN, GREEN, failing("a")], [GREEN, failing("a"), GREEN]),
        ([failing("a", "b")], [failing("a", "b")]),
    ],
)
def test_a_test_that_fails_on_the_ground_or_once_only_is_flaky_and_turns_nothing_red(
    monkeypatch: pytest.MonkeyPatch, ground: list[suite.TestRun], again: list[suite.TestRun]
) -> None:
    verdict, this, _ = looked_at(monkeypatch, ALL_GREEN, ground=ground, changed=[failing("a"), *again])
    assert not verdict.red
    assert "a" in this.base.flaky


@pytest.mark.parametrize(
    ("changed", "runs", "without"),
    [
        ([failing("a"), GREEN, failing("a"), GREEN], 3, 9),
        ([failing("a"), GREEN, GREEN, failing("a")], 4, 12),
        ([failing("a"), failing("a"), GREEN, failing("a")], 3, 9),
    ],
)
def test_a_test_that_is_steady_on_the_ground_and_unsteady_with_the_changes_only_is_broken_by_them(
    monkeypatch: pytest.MonkeyPatch, changed: list[suite.TestRun], runs: int, without: int
) -> None:
    verdict, this, asked = looked_at(monkeypatch, ALL_GREEN, ground=[GREEN], changed=changed)
    assert verdict.red
    assert "a" not in this.base.flaky
    assert this.unsteady
    assert asked.asked == {True: runs, False: without - 1}
    assert verdict.lines == (f"a: failed in 2 of {runs} runs with the changes, in 0 of {without} without them",)


def test_where_a_convicted_test_is_unsteady_a_green_run_is_not_believed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, this, asked = looked_at(
        monkeypatch,
        ALL_GREEN,
        ground=[GREEN],
        changed=[failing("a"), GREEN, failing("a"), GREEN, failing("a"), GREEN],
    )
    assert anyio.run(this.judge, CHANGE).red
    assert asked.asked[True] == 5
    assert not anyio.run(this.judge, CHANGE).red
    assert asked.asked[True] == 9


def test_tests_that_ended_before_their_last_one_are_red_though_nothing_new_failed() -> None:
    base = suite.TestBase(suite.Tests.BY_TEST, frozenset(["a"]), cases=3)
    assert base.broke(suite.TestRun(False, frozenset(["a"]), (), 3)) == frozenset()
    assert base.broke(suite.TestRun(False, frozenset(["a"]), (), 4)) == frozenset()
    assert base.broke(suite.TestRun(False, frozenset(["a"]), (), 2)) == {suite.WHOLE_SUITE}
    assert base.broke(suite.TestRun(False, frozenset(["a", "b"]), (), 2)) == {"b"}


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        (Facts(exit_code=1), {"a::b"}),
        (Facts(exit_code=None, signal=9, clock=Clock.WALL), None),
        (Facts(exit_code=None, signal=11), None),
    ],
)
def test_what_tests_wrote_that_were_ended_tells_nothing(facts: Facts, names: set[str] | None, tmp_path: Path) -> None:
    report = b'<testsuite><testcase classname="a" name="b"><failure/></testcase></testsuite>'

    class Backend:
        async def run(self, spec: Spec) -> Ran:
            return Ran(facts, Layer((Entry(b"r.xml", EntryKind.FILE, data=report),)))

    class Parser:
        async def call(self, function: Any, *arguments: Any) -> Any:
            return function(*arguments)

    workshop = SimpleNamespace(
        config=SimpleNamespace(test="t", test_junit="r.xml", root="."),
        sandboxing=Sandboxing(cast(Any, Backend()), tmp_path),
        check=SimpleNamespace(parser=Parser()),
    )
    ground = SimpleNamespace(snapshot=Snapshot("c", {}))
    run = anyio.run(suite.run_tests, cast(Any, workshop), cast(Any, ground), Name("r", "s", 1, Role.GATE))
    assert run.failing == names


def test_changes_that_break_another_test_each_time_are_not_green(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or one whose name is another each time: a time, an address, a number by chance."""
    turns = [failing(f"t[{number}]") for number in range(40)]
    verdict, this, asked = looked_at(monkeypatch, ALL_GREEN, ground=[GREEN], changed=turns)
    assert verdict.red
    assert verdict.lines == tuple(f"t[{number}]" for number in range(asked.asked[True]))
    assert anyio.run(this.judge, CHANGE).red
    assert not this.unsteady

    turns = [failing(f"t[{number}]") for number in range(40)]
    verdict, _, _ = looked_at(monkeypatch, ALL_GREEN, ground=turns[20:], changed=turns[:20])
    assert not verdict.red


def test_a_flaky_test_that_the_changes_break_for_good_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ALL_GREEN.knowing(frozenset(["a"]))
    verdict, this, _ = looked_at(monkeypatch, known, ground=[GREEN], changed=[failing("a")])
    assert verdict.red
    assert verdict.lines == ("a",)
    assert "a" in this.convicted


def test_a_flaky_test_alone_turns_no_tree_red(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ALL_GREEN.knowing(frozenset(["a"]))
    verdict, this, _ = looked_at(monkeypatch, known, ground=[GREEN], changed=[failing("a"), failing("a"), GREEN])
    assert not verdict.red
    assert this.base.flaky == {"a"}


def test_without_names_the_suite_as_a_whole_is_flaky(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, this, _ = looked_at(monkeypatch, ALL_GREEN, ground=[GREEN], changed=[RED, GREEN])
    assert not verdict.red
    assert this.base.flaky == {suite.WHOLE_SUITE}


def test_a_flaky_suite_without_names_that_stays_red_blames_nobody_and_is_not_green(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(GateBroken, match="no unit can be blamed"):
        looked_at(monkeypatch, ALL_GREEN, ground=[RED], changed=[RED])


def test_a_run_that_names_no_failed_test_and_fails_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, _, _ = looked_at(
        monkeypatch,
        suite.TestBase(suite.Tests.BY_TEST, frozenset(["a"])),
        ground=[failing("a")],
        changed=[failing()],
    )
    assert verdict.red


def finds(*rules: str) -> Checked:
    found = tuple(Finding("a.py", number, 1, rule, "bad") for number, rule in enumerate(rules, 1))
    return Checked(CheckResult(CheckState.FINDINGS if found else CheckState.CLEAN, found), Facts(exit_code=0))


@dataclass
class Muting:
    """`unmuted`: what each run with suppressions switched off says, the ground's first; `muted` the others."""

    unmuted: list[Checked]
    muted: Checked
    argv: tuple[str, ...] = ("lint",)
    unmuted_argv: tuple[str, ...] = ("lint", "--all")

    async def run(self, name: Name, snapshot: Snapshot, argv: Any = None, **__: Any) -> Checked:
        return self.unmuted.pop(0) if argv == self.unmuted_argv else self.muted

    def vanished(self, *_: Any) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("unmuted", "red"),
    [
        ([finds("A"), finds("A")], False),  # what was suppressed may stay, wherever it moved
        ([finds("A"), finds()], False),
        ([finds("A"), finds("A", "A")], True),
        ([finds("A"), finds("B")], True),
        ([BROKEN], False),  # no such option in this version
    ],
)
def test_suppressions_may_not_hide_more_than_before(unmuted: list[Checked], red: bool) -> None:
    this = gate(CLEAN)
    this.workshop.check = Muting(unmuted, CLEAN)  # type: ignore[misc,assignment]
    this = Gate(this.workshop, this.ground, suite.TestBase(suite.Tests.NONE), 1)
    verdict = anyio.run(this.judge, CHANGE)
    assert verdict.red is red
    assert verdict.reason == ("hidden by suppressions" if red else "")
    assert unmuted == []


@pytest.mark.parametrize(("facts", "raised"), [(Facts(exit_code=2), False), (Facts(None, 9, oom=True), True)])
def test_an_unmuted_check_that_only_the_merge_breaks_is_not_green(facts: Facts, raised: bool) -> None:
    this = gate(CLEAN)
    this.workshop.check = Muting([finds("A"), Checked(BROKEN.result, facts)], CLEAN)  # type: ignore[misc,assignment]
    this = Gate(this.workshop, this.ground, suite.TestBase(suite.Tests.NONE), 1)
    if raised:
        with pytest.raises(GateBroken):
            anyio.run(this.judge, CHANGE)
        return
    verdict = anyio.run(this.judge, CHANGE)
    assert (verdict.red, verdict.reason) == (True, "check without suppressions broken")


@pytest.mark.parametrize(("level", "looks"), [("", True), ("reject", True), ("review", False), ("off", False)])
def test_only_who_lets_suppressions_pass_keeps_the_gate_from_looking_behind_them(level: Any, looks: bool) -> None:
    policy = {"suppression": level} if level else {}
    assert suppressions_reject(SweepConfig(check="ruff check .", policy=policy)) is looks
