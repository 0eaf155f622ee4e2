"""What goes in and out of the scheduler: events are facts that happened, commands are what has to be done next.

Both name a unit by (loop, key).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from sweeper.errors import ConfigError
from sweeper.loop import Decision


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """The limits of one drain. Weights count agents, times are seconds since the epoch, `ramp` is seconds.

    agents: agents in flight weigh at most this. A unit (or a loop's slots) that asks for more gets all of it.
    verifiers: agents and verifiers together weigh at most agents + verifiers; None: as many as agents.
    loop_slots: loop name -> its own, smaller limit on agents.
    units: dispatches at most, retries included. deadline: nothing is dispatched from then on.
    ramp: the slots open one by one over so many seconds.
    """

    agents: int = 4
    verifiers: int | None = None
    loop_slots: Mapping[str, int] = field(default_factory=dict)
    units: int | None = None
    deadline: float | None = None
    ramp: float = 0.0

    def __post_init__(self) -> None:
        at_least = {"agents": (self.agents, 1), "verifiers": (self.verifiers or 0, 0), "units": (self.units or 0, 0)}
        at_least |= {f"loop_slots[{name!r}]": (slots, 1) for name, slots in self.loop_slots.items()}
        for name, (value, least) in at_least.items():
            if value < least:
                raise ConfigError(f"{name} is {value}", hint=f"It has to be at least {least}.")
        if not (0 <= self.ramp < math.inf):
            raise ConfigError(f"ramp is {self.ramp} seconds", hint="It has to be a number of seconds from 0 on.")

    @property
    def total(self) -> int:
        """What agents and verifiers may weigh together."""
        return self.agents + (self.agents if self.verifiers is None else self.verifiers)

    def slots_of(self, loop: str) -> int:
        return min(self.agents, self.loop_slots.get(loop, self.agents))


@dataclass(frozen=True, slots=True)
class Entry:
    """A unit in a queue, as much of it as the scheduler keeps. `held`: the tier policy said hold."""

    key: str
    weight: int = 1
    credential: str = ""
    held: bool = False


# --- events ---
@dataclass(frozen=True, slots=True)
class Started:
    """The first event."""

    loops: tuple[str, ...]
    limits: EngineLimits


@dataclass(frozen=True, slots=True)
class Paged:
    """A page of the queue came; `cursor` None: it was the last one."""

    loop: str
    entries: tuple[Entry, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Claimed:
    loop: str
    key: str


@dataclass(frozen=True, slots=True)
class ClaimLost:
    loop: str
    key: str


@dataclass(frozen=True, slots=True)
class SlotFreed:
    """The unit's agents have stopped; what is still to come is verification."""

    loop: str
    key: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A dispatch ended with a result (`failed`: with an exception, which is a result too)."""

    loop: str
    key: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A dispatch ended by cancellation, without a result."""

    loop: str
    key: str


@dataclass(frozen=True, slots=True)
class Landed:
    """The result is durable. `again`: the unit as the tier policy sees it now, for a decision that retries."""

    loop: str
    key: str
    decision: Decision
    again: Entry | None


@dataclass(frozen=True, slots=True)
class Released:
    loop: str
    key: str


@dataclass(frozen=True, slots=True)
class IdleAnswered:
    loop: str
    again: bool


@dataclass(frozen=True, slots=True)
class LoopFailed:
    """The loop (or its claims) raised: while working on unit `key`, or None: on its queue."""

    loop: str
    key: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Time:
    """The asked-for time has come."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Somebody wants an end, now."""


Event = (
    Started
    | Paged
    | Claimed
    | ClaimLost
    | SlotFreed
    | Finished
    | Interrupted
    | Landed
    | Released
    | IdleAnswered
    | LoopFailed
    | Time
    | Cancelled
)


# --- commands ---
class Why(enum.StrEnum):
    """Why a drain ended."""

    DRAINED = "drained"
    STOPPED = "stopped"
    LIMIT = "limit"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Poll:
    loop: str
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Claim:
    loop: str
    key: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    """`weight`: agents that it may start at once."""

    loop: str
    key: str
    weight: int


@dataclass(frozen=True, slots=True)
class Land:
    loop: str
    key: str


@dataclass(frozen=True, slots=True)
class Release:
    loop: str
    key: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel the unit's dispatch; None: the loop's poll or idle question, whose answer nobody waits for."""

    loop: str
    key: str | None


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send `Time` at `at` or soon after; an earlier asked-for time is forgotten."""

    at: float


@dataclass(frozen=True, slots=True)
class AskIdle:
    loop: str


@dataclass(frozen=True, slots=True)
class End:
    """The last command. `reason`: which limit, or what the loop that stopped said."""

    why: Why
    reason: str


Command = Poll | Claim | Dispatch | Land | Release | Cancel | WakeAt | AskIdle | End


@dataclass(frozen=True, slots=True)
class Tally:
    """What happened, in units. `dispatched` counts every dispatch, `failed` those that raised, `interrupted`
    those that were cancelled without a result. The next four are what followed the landings; `parked`
    includes what still waited in memory at the end."""

    dispatched: int = 0
    failed: int = 0
    interrupted: int = 0
    settled: int = 0
    retried: int = 0
    parked: int = 0
    held: int = 0
    claims_lost: int = 0
