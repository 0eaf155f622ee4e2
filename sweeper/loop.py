"""The frozen contract of a Loop: six methods. The engine (`sweeper.drain`) serves any Loop.

A unit is any value with a `key`; the engine reads nothing else of it. Six methods are the whole contract:
a test fails if a seventh appears. Claiming is its own interface of two.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Keyed(Protocol):
    """Anything that can wait in a queue. `key` is unique within its Loop."""

    @property
    def key(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a queue; `cursor` (opaque) fetches the next page and is None on the last one."""

    units: tuple[Any, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Go:
    """Dispatch on this rung (opaque to the engine). `weight`: agents it starts at once (k candidates: k).

    `credential`: what a `Pause` of the same name holds back; "" uses none.
    """

    rung: Any
    weight: int = 1
    credential: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """A human decides; `reason` says why."""

    reason: str


# What follows a landing. Times are seconds since the epoch.


@dataclass(frozen=True, slots=True)
class Settled:
    """Done with in this round: merged at the barrier, climbing next round, or finished."""


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again on the same rung at `at`; further off than a minute it parks until the next round."""

    at: float


@dataclass(frozen=True, slots=True)
class Park:
    """Leave it for the next round."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """Dispatch nothing that uses `credential` before `until`; the unit itself waits as after RetryAt(until)."""

    credential: str
    until: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Account-wide failure or a reached limit: nothing more is dispatched by any Loop of this fire."""

    reason: str


Decision = Settled | RetryAt | Park | Hold | Pause | Stop


class Idle(enum.Enum):
    """The answer of `on_idle`."""

    POLL_AGAIN = "poll_again"
    STOP = "stop"


class Slot(Protocol):
    """What `dispatch` holds while its agent runs. Used in the event loop's thread."""

    @property
    def weight(self) -> int:
        """Agents that may run at once: `Go.weight`, or all slots there are where it asked for more."""

    def free(self) -> None:
        """The agent has stopped: give the agent slot back now (idempotent). Verification holds no agent slot."""


class Loop(Protocol):
    """One backlog under one engine. `dispatch` raises nothing but cancellation: a failure is a result.

    `land` makes a result durable and decides; after it returned, the unit is never in flight without a new claim.
    An exception from `dispatch` is handed to `land` as the result (an `Exception` instance); a `Hold` of
    `tier_policy` is handed to `land` as the result too, without a claim. `tier_policy` is asked when a page
    comes and again after a decision that retries. `on_idle` is asked when nothing of the loop is left to do.
    An exception from any other method ends the service of this loop, never of others. After a cancel,
    `select_queue`, `on_idle` and `dispatch` are cancelled; `land`, `claim` and `release` never are.
    """

    @property
    def name(self) -> str: ...

    async def select_queue(self, cursor: str | None) -> Page: ...

    def tier_policy(self, unit: Any) -> Go | Hold: ...

    async def dispatch(self, unit: Any, rung: Any, slot: Slot) -> Any: ...

    async def land(self, unit: Any, result: Any) -> Decision: ...

    async def on_idle(self) -> Idle: ...


class Claims(Protocol):
    """The only way to a dispatch. Both are durable when they return."""

    async def claim(self, unit: Any) -> Any | None:
        """A claim (with a fencing token), or None: somebody else has it, or it is no longer open."""

    async def release(self, unit: Any) -> None:
        """Give it back; a unit that `land` has already released is fine."""


Clock = Callable[[], float]
