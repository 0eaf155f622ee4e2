"""What a drain tells its caller: at its end, and on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sweeper.errors import SweeperError
from sweeper.loop import Decision
from sweeper.scheduler import Tally, Why

NoticeKind = Literal["started", "freed", "landed", "ended"]


@dataclass(frozen=True, slots=True)
class Drained:
    """Why a drain ended, and what happened. `reason`: the limit ("units", "wall") or what a Stop said.

    `next_seq`: where the journal goes on, should another drain of the same fire follow.
    """

    why: Why
    reason: str
    tally: Tally
    next_seq: int


@dataclass(frozen=True, slots=True)
class Notice:
    """For a live view. `result` and `decision` come with "landed"; `agents` and `total` are the weights in flight.

    started: its dispatch begins; freed: its agents have stopped; landed: its result is durable; ended: its
    dispatch was cancelled without a result.
    """

    kind: NoticeKind
    at: float
    loop: str
    unit: Any
    rung: Any
    agents: int
    total: int
    result: Any = None
    decision: Decision | None = None


class LoopFailed(SweeperError):
    """A loop or its claims raised: it was served no more, the others were. `failures`: loop -> exception."""

    def __init__(self, failures: Mapping[str, Exception], drained: Drained) -> None:
        first = next(iter(failures.values()))
        each = "; ".join(f"{loop}: {said(problem)}" for loop, problem in failures.items())
        super().__init__(f"no longer served: {each}", hint=getattr(first, "hint", ""))
        self.exit_code = getattr(first, "exit_code", SweeperError.exit_code)
        self.failures = dict(failures)
        self.drained = drained


def said(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"
