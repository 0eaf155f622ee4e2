"""History -> decision: where a unit stands on its ladder and what follows an outcome. Pure.

A place is computed from the outcomes alone, so that it survives any restart. Lost attempts are not part of a
history. Nothing here sleeps, logs or spawns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sweeper.config.models import RungConfig
from sweeper.ladder.classify import MEMORY, MONEY, came, exchanged
from sweeper.loop import Decision, Go, Hold, Park, Pause, RetryAt, Settled, Stop
from sweeper.records import MERGEABLE, History, Kind, Outcome, UnitState

CONFLICTS = 3
TRANSIENTS = 5
MEMORY_TRIES = 2
BACKOFF = 2.0  # seconds before the first retry, doubled by each further one
LONGEST_WAIT = 60.0  # a retry further off waits for the next round, so that no barrier waits for it

# One more try on the same rung would end the same way, whatever its `attempts`.
NEXT_RUNG = frozenset({Kind.PARTIAL, Kind.NEEDS_INPUT, Kind.CONTEXT_OVERFLOW, Kind.DECLINED})
CHARGED = frozenset({Kind.NO_CHANGE, Kind.NOT_FIXED, Kind.REJECTED, Kind.TIMED_OUT, Kind.EJECTED})
HELD = {
    Kind.RULES_CONFLICT: "rules conflict: what mends one breaks the other",
    Kind.UNCLASSIFIED: "an outcome that fits no class",
}

Entry = tuple[int, Kind, str]


@dataclass(frozen=True, slots=True)
class Next:
    """What follows an outcome. `round_delta`: rounds until the unit is queued again (0: this round, or never).

    `why`: one line for a person.
    """

    decision: Decision
    state: UnitState
    round_delta: int
    why: str


@dataclass(slots=True)
class _Place:
    end: int
    rung: int = 0
    tries: int = 0
    transients: int = 0
    memory: int = 0
    conflicts: int = 0
    held: str = ""
    exchanged: set[str] = field(default_factory=set)

    def climb(self) -> None:
        self.rung += 1
        self.tries = self.transients = self.memory = 0


def entry(outcome: Outcome) -> Entry:
    """What a history keeps of an outcome."""
    return outcome.rung, outcome.kind, outcome.evidence.reason


def place(history: History, ladder: Sequence[RungConfig], credentials: Sequence[str] = ()) -> Go | Hold:
    """Where the unit stands: Go with the rung's index, weight and credential, or Hold with the reason.

    `credentials`: one for each rung, "" for a rung without a model.
    """
    at = _place(history, ladder)
    if at.held:
        return Hold(at.held)
    return Go(at.rung, weight=ladder[at.rung].candidates, credential=credentials[at.rung] if credentials else "")


def memory_factor(history: History) -> int:
    """How many times the configured memory the next attempt gets: doubled by each out-of-memory on its rung."""
    outcomes = history.outcomes
    exceeded = sum(rung == outcomes[-1][0] and reason == MEMORY for rung, _, reason in outcomes)
    return 1 << exceeded if exceeded <= MEMORY_TRIES else 1


def after(
    history: History, ladder: Sequence[RungConfig], outcome: Outcome, *, now: float, credential: str = ""
) -> Next:
    """What follows `outcome`, the last one of `history`. `now`: seconds since the epoch. `credential`: its rung's."""
    at = _place(history, ladder)
    kind, reason = outcome.kind, outcome.evidence.reason
    said = came(str(kind), reason)
    if kind is Kind.ALREADY_CLEAN:
        return Next(Settled(), UnitState.SETTLED, 0, "not reproducible on the base: nothing to do")
    if kind in MERGEABLE:
        then = "" if kind is Kind.FIXED else "; what is left goes on"
        return Next(Settled(), UnitState.VERIFIED, 0, f"{kind}: verified{then}")
    if kind is Kind.REFUSED:
        return Next(Stop(f"refused: {reason}" if reason else "refused"), UnitState.OPEN, 0, f"{said}: the run stops")
    if at.held:
        return Next(Hold(at.held), UnitState.HELD, 0, at.held)
    if kind is Kind.TRANSIENT and reason.startswith(MONEY):
        stop = Stop(f"{reason} is reached")
        return Next(stop, UnitState.OPEN, 0, f"{stop.reason}: parked, same rung next time")
    if kind is Kind.TRANSIENT and at.rung == outcome.rung:
        return _retry(at, memory_factor(history), outcome, said, now, credential)
    return Next(Settled(), UnitState.OPEN, 1, f"{said}: rung {at.rung + 1} of {len(ladder)} next round")


def _retry(at: _Place, factor: int, outcome: Outcome, said: str, now: float, credential: str) -> Next:
    if outcome.evidence.reason == MEMORY:
        return Next(RetryAt(now), UnitState.OPEN, 0, f"{said}: again with {factor} times the memory")
    wait = max(outcome.retry_after or 0.0, BACKOFF * 2 ** (at.transients - 1))
    wait *= 1 + _spread(outcome) / 4
    if credential and outcome.retry_after is not None:
        # the provider named a time: nothing else that asks the same of it before
        rounds = int(wait > LONGEST_WAIT)
        return Next(Pause(credential, now + wait), UnitState.OPEN, rounds, f"{said}: {credential} rests {wait:.0f} s")
    if wait > LONGEST_WAIT:
        return Next(Park(f"retry in {wait:.0f} s"), UnitState.OPEN, 1, f"{said}: same rung next round")
    return Next(RetryAt(now + wait), UnitState.OPEN, 0, f"{said}: same rung in {wait:.0f} s")


def _spread(outcome: Outcome) -> float:
    """0 to 1, fixed by unit and attempt: units that failed together don't come back together."""
    return hashlib.sha256(f"{outcome.unit} {outcome.attempt}".encode()).digest()[0] / 255


def _place(history: History, ladder: Sequence[RungConfig]) -> _Place:
    at = _Place(end=len(ladder))
    last = ""
    if not ladder:
        at.held = "the ladder has no rung"
    for rung, kind, reason in _lasting(history.outcomes):
        if at.held:
            break
        last = came(str(kind), reason)
        while at.rung < min(rung, at.end - 1):
            at.climb()
        _step(at, kind, reason, ladder)
        if not at.held and at.rung >= at.end:
            at.held = f"ladder exhausted, last outcome: {last}"
    return at


def _lasting(outcomes: Sequence[Entry]) -> Iterator[Entry]:
    """Without the verified changes that did not stay: the conflict or ejection after one says what became of it."""
    for index, outcome in enumerate(outcomes):
        following = outcomes[index + 1][1] if index + 1 < len(outcomes) else None
        if not (outcome[1] in MERGEABLE and following in (Kind.CONFLICT, Kind.EJECTED)):
            yield outcome


def _step(at: _Place, kind: Kind, reason: str, ladder: Sequence[RungConfig]) -> None:
    if kind is Kind.TRANSIENT:
        if not reason.startswith(MONEY):
            _transient(at, reason)
        return
    if kind is Kind.REFUSED:
        return
    at.transients = 0
    if kind is Kind.CONFLICT:
        at.conflicts += 1
        if at.conflicts > CONFLICTS:
            at.held = f"in conflict with other units {at.conflicts} times"
    elif kind in HELD:
        at.held = f"{HELD[kind]}: {reason}" if reason else HELD[kind]
    elif again := exchanged(reason) & at.exchanged:
        at.held = f"{HELD[Kind.RULES_CONFLICT]}: {', '.join(sorted(again))}"
    elif kind in NEXT_RUNG:
        if kind is Kind.DECLINED:
            # One other rung is asked; a second refusal or failure there is a human's.
            at.end = min(at.end, at.rung + 2)
        at.climb()
    elif kind in CHARGED:
        at.exchanged |= exchanged(reason)
        at.tries += 1
        if at.tries >= ladder[at.rung].attempts:
            at.climb()


def _transient(at: _Place, reason: str) -> None:
    if reason == MEMORY:
        at.memory += 1
        if at.memory > MEMORY_TRIES:
            at.climb()
        return
    at.transients += 1
    if at.transients > TRANSIENTS:
        at.held = f"{at.transients} transient failures on one rung, last: {reason or 'unknown'}"
