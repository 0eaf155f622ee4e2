"""What a run will take, rung by rung: from what this sweep's attempts took before, else from the limits. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sweeper.config.models import LimitsConfig, RungConfig
from sweeper.ladder.ladder import CHARGED, HELD, NEXT_RUNG
from sweeper.records import Kind, Usage

MENDED = frozenset({Kind.FIXED, Kind.ALREADY_CLEAN})
COUNTED = MENDED | {Kind.PARTIAL} | CHARGED | NEXT_RUNG | HELD.keys()
NO_HISTORY = "no history: limits"


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of a rung: attempts that came to a verdict, how many of them left nothing, and what all took.

    `usage` and `seconds` are sums, with those of attempts that came to none.
    """

    attempts: int = 0
    mended: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    def plus(self, kind: Kind | None, usage: Usage, seconds: float) -> Past:
        """With one more attempt; `kind` is None for one that was lost."""
        return Past(
            self.attempts + (kind in COUNTED),
            self.mended + (kind in MENDED),
            self.usage + usage,
            self.seconds + seconds,
        )


@dataclass(frozen=True, slots=True)
class Expected:
    """One rung's share. `basis` says where each number comes from; with `at_most` they are bounds.

    `attempts`: over all units. `tokens`: in and out, None where nothing bounds them. `usd`: dollars. `minutes`: of wall
    time with all slots at work. `mended`: share of attempts that leave nothing, None where nobody knows.
    """

    rung: int
    attempts: float
    tokens: int | None
    usd: float
    minutes: float
    basis: str
    at_most: bool
    mended: float | None = None


def forecast(
    ladder: Sequence[RungConfig],
    paid: Sequence[bool],
    starts: Mapping[int, int],
    past: Mapping[int, Past],
    limits: LimitsConfig,
    slots: int,
) -> tuple[Expected, ...]:
    """One for each rung, in order. `paid`: whether a rung asks a model. `starts`: rung -> units that begin there.

    What a rung leaves goes to the next one: by the share it left before, or all of it where nobody knows.
    """
    found: list[Expected] = []
    arriving = 0.0
    for number, rung in enumerate(ladder):
        arriving += starts.get(number, 0)
        known = past.get(number, Past())
        if known.attempts:
            one = _from_history(number, rung, known, arriving, slots)
            arriving *= (1 - known.mended / known.attempts) ** rung.attempts
        else:
            one = _from_limits(number, rung, limits, arriving, slots, paid=paid[number])
        found.append(one)
    return tuple(found)


def _from_history(number: int, rung: RungConfig, known: Past, arriving: float, slots: int) -> Expected:
    left = 1 - known.mended / known.attempts
    attempts = arriving * sum(left**again for again in range(rung.attempts))
    times = attempts / known.attempts
    usage = known.usage
    return Expected(
        rung=number,
        attempts=round(attempts, 1),
        tokens=round((usage.input_tokens + usage.output_tokens) * times),
        usd=round(usage.micro_usd * times / 1e6, 4),
        minutes=_minutes(attempts, known.seconds / known.attempts, rung, slots),
        basis=f"from {known.attempts:,} attempt{'' if known.attempts == 1 else 's'} of this sweep",
        at_most=False,
        mended=round(known.mended / known.attempts, 3),
    )


def _from_limits(
    number: int, rung: RungConfig, limits: LimitsConfig, arriving: float, slots: int, *, paid: bool
) -> Expected:
    attempts = arriving * rung.attempts
    runs = attempts * rung.candidates
    tokens = None if rung.max_tokens is None else round(runs * rung.max_tokens)
    return Expected(
        rung=number,
        attempts=round(attempts, 1),
        tokens=tokens if paid else 0,
        usd=round(runs * rung.usd(limits.usd_per_attempt), 4) if paid else 0.0,
        minutes=_minutes(attempts, rung.clocks.wall, rung, slots),
        basis=NO_HISTORY,
        at_most=True,
    )


def _minutes(attempts: float, seconds: float, rung: RungConfig, slots: int) -> float:
    """Wall time of so many attempts, each of `seconds`; no less than one takes."""
    total = attempts * rung.candidates * seconds / slots
    return round(max(total, seconds if attempts >= 1 else attempts * seconds) / 60, 2)
