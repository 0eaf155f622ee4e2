"""What a gate says when its check does not work: the merge's fault, or nobody's."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from sweeper.backlog.check import Checked
from sweeper.bisect import GateBroken
from sweeper.gate import Gate, TestBase, Tests
from sweeper.ground import Ground, Workshop
from sweeper.records import Change, CheckResult, CheckState
from sweeper.sandbox.contract import Clock, Facts, Snapshot
from sweeper.verify import Baseline

BROKEN = Checked(CheckResult(CheckState.BROKEN, why="it crashed"), Facts(exit_code=2))
CLEAN = Checked(CheckResult(CheckState.CLEAN), Facts(exit_code=0))
CHANGE = (Change("a.py", b"x\n"),)


@dataclass
class Check:
    """Answers in the order given, whatever is asked."""

    answers: list[Checked]
    asked: list[tuple[Change, ...]] = field(default_factory=list)

    async def run(self, *_: Any, changes: tuple[Change, ...] = (), **__: Any) -> Checked:
        self.asked.append(changes)
        return self.answers[len(self.asked) - 1]


def gate(*answers: Checked) -> Gate:
    workshop = cast(Workshop, SimpleNamespace(check=Check(list(answers)), run="r", name="s"))
    ground = Ground("c", Snapshot("c", {}), Baseline([]), CLEAN.result)
    return Gate(workshop, ground, TestBase(Tests.NONE), 1)


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
