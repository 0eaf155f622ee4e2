"""When a fire stops once, for all units, instead of trying each of them to the end of its ladder. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sweeper.ladder.classify import Trouble, common_failure
from sweeper.records import Kind, Outcome

FIRST = 5  # outcomes of a fire that tell a wrong command from hard units
UNANSWERED = 10  # attempts in a row, each of which has waited for its provider already
OUTAGES = frozenset({str(Trouble.UNREACHABLE), str(Trouble.SERVER)})


@dataclass(slots=True)
class Canary:
    """Of one fire. Tell it each outcome as it lands."""

    _first: list[Outcome] = field(default_factory=list)
    _unanswered: Counter[str] = field(default_factory=Counter)

    def landed(self, outcome: Outcome, credential: str) -> str:
        """Why to stop, "" to go on. `credential`: of the outcome's rung, "" for one without a model."""
        return self._crash(outcome) or self._outage(outcome, credential)

    def _crash(self, outcome: Outcome) -> str:
        if len(self._first) >= FIRST:
            return ""
        self._first.append(outcome)
        return common_failure(self._first, FIRST)

    def _outage(self, outcome: Outcome, credential: str) -> str:
        """Nobody's units should come to be held, one after the other, because a provider was gone for an hour."""
        reason = outcome.evidence.reason
        if not credential or outcome.kind is not Kind.TRANSIENT or reason not in OUTAGES:
            self._unanswered[credential] = 0
            return ""
        self._unanswered[credential] += 1
        if self._unanswered[credential] < UNANSWERED:
            return ""
        return f"{UNANSWERED} attempts in a row got no answer of {credential}: {reason}"
