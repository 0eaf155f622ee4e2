"""Pilot, then sweep: a few units of a rule try a paid rung before all of them do. Pure.

A rung's promise is a pass rate per rule. The first `size` results of a rule on a rung settle it once: below the floor
the rule is paused there and its units are held with the figure; otherwise the rest may follow. A unit of several rules
waits for the last of them, and its result counts for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sweeper.config.models import RungConfig
from sweeper.ladder.ladder import CHARGED, HELD, NEXT_RUNG
from sweeper.loop import Hold
from sweeper.records import MERGEABLE, Kind

SIZE = 5
FAILED = CHARGED | NEXT_RUNG | HELD.keys()

Counts = dict[str, dict[str, list[int]]]


@dataclass(frozen=True, slots=True)
class Wait:
    """Not before the pilot that is under way is settled."""


def size_of(rung: RungConfig, credential: str) -> int:
    """How many units of each rule fly ahead on this rung: none where it costs nothing, unless it says so."""
    if rung.pilot is not None:
        return rung.pilot
    return SIZE if credential else 0


@dataclass(slots=True)
class Pilot:
    """The pilots of one run. `counts`: rung -> rule -> [passed, failed], at most the rung's size together."""

    ladder: Sequence[RungConfig]
    sizes: Sequence[int]
    counts: Counts = field(default_factory=dict)
    waiting: bool = False
    _flying: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, ladder: Sequence[RungConfig], credentials: Sequence[str], counts: Mapping[str, object]) -> Pilot:
        """`counts`: what an earlier coordinator of the same run noted."""
        sizes = [size_of(rung, credential) for rung, credential in zip(ladder, credentials, strict=True)]
        kept = {
            rung: {str(rule): list(pair) for rule, pair in rules.items()}
            for rung, rules in counts.items()
            if isinstance(rules, Mapping)
        }
        return cls(ladder, sizes, kept)

    def admit(self, key: str, rung: int, rules: Sequence[str]) -> Hold | Wait | None:
        """None: it may fly now."""
        size = self.sizes[rung]
        if not size:
            return None
        for rule in rules:
            passed, failed = self._of(rung, rule)
            if passed + failed >= size and passed < self.ladder[rung].pilot_floor * size:
                name = self.ladder[rung].agent
                return Hold(
                    f"pilot: {name} (rung {rung + 1}) mended {passed} of {size} units of {rule}, fewer than "
                    f"{self.ladder[rung].pilot_floor:.0%}"
                )
        if any(sum(self._of(rung, rule)) < size <= self._ahead(rung, rule) for rule in rules):
            self.waiting = True
            return Wait()
        self._flying[key] = rung, tuple(rules)
        return None

    def landed(self, key: str, kind: Kind) -> bool:
        """Count a result; whether the counts changed. One that says nothing of the rung counts for nothing."""
        rung, rules = self._flying.pop(key, (0, ()))
        changed = False
        for rule in rules:
            pair = self._of(rung, rule)
            if sum(pair) < self.sizes[rung] and (kind in MERGEABLE or kind in FAILED):
                pair[kind not in MERGEABLE] += 1
                self.counts.setdefault(str(rung), {})[rule] = pair
                changed = True
        return changed

    def settle(self) -> bool:
        """At idle, when nothing flies: whether units waited for a pilot and are to be asked again."""
        self._flying.clear()
        waited, self.waiting = self.waiting, False
        return waited

    def _of(self, rung: int, rule: str) -> list[int]:
        return self.counts.get(str(rung), {}).get(rule) or [0, 0]

    def _ahead(self, rung: int, rule: str) -> int:
        flying = sum(at == rung and rule in rules for at, rules in self._flying.values())
        return sum(self._of(rung, rule)) + flying
