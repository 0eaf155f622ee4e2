"""What a fixer of whole files did for one chunk of a file is known of the others. Pure.

Such a fixer is told the file alone, not which lines are meant: asked again for the next chunk it does the same again.
So where it has failed, the other chunks go past it together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sweeper import agents
from sweeper.commands import argv
from sweeper.config.models import RungConfig
from sweeper.ladder import ladder
from sweeper.ladder.classify import REMAIN
from sweeper.ledger.contract import Queued
from sweeper.loop import Go, Hold
from sweeper.records import Finding, History, Kind, Outcome
from sweeper.sweep.selection import mark


@dataclass(frozen=True, slots=True)
class _Failure:
    """`place`: of the file and the ladder as they were. `seen`: the file's findings then."""

    unit: str
    entry: ladder.Entry
    place: str
    seen: frozenset[str]

    def holds_for(self, unit: Queued) -> bool:
        if unit.key == self.unit:
            return False
        if self.entry[1] is Kind.NO_CHANGE:  # whatever else was changed since, it has nothing for these findings
            return self.seen.issuperset(map(mark, unit.unit.findings))
        return unit.place == self.place


class Siblings:
    """Of one run, as long as this process lasts: whoever goes on with the run asks once more."""

    def __init__(self, rungs: Sequence[RungConfig]) -> None:
        self._rungs = rungs
        self._whole = [number for number, rung in enumerate(rungs) if of_whole_files(rung)]
        self._failed: dict[tuple[str, ...], list[_Failure]] = {}

    def landed(self, unit: Queued, outcome: Outcome, findings: Iterable[Finding]) -> None:
        """`findings`: all that the unit's files had when the attempt was made."""
        if unit.unit.chunk and outcome.rung in self._whole and _whoever_asks(outcome):
            failure = _Failure(unit.key, ladder.entry(outcome), unit.place, frozenset(map(mark, findings)))
            self._failed.setdefault(unit.unit.paths, []).append(failure)

    def place(self, unit: Queued, own: History, credentials: Sequence[str]) -> Go | Hold:
        """Where the unit stands, by its own history and by what its next rungs would come to."""
        place = ladder.place(own, self._rungs, credentials)
        failures = [each for each in self._failed.get(unit.unit.paths, ()) if unit.unit.chunk and each.holds_for(unit)]
        history = own
        for number in self._whole if failures else ():
            same = next((each.entry for each in failures if each.entry[0] == number), None)
            if same and isinstance(place, Go) and place.rung == number:
                history = History((*history.outcomes, same))
                place = ladder.place(history, self._rungs, credentials)
        if isinstance(place, Hold) and history != own:
            return Hold(f"{place.reason}, for another chunk of its file")
        return place


def of_whole_files(rung: RungConfig) -> bool:
    """A command that gets no prompt, and is not tried several times, as one would be whose luck varies."""
    told = any("{prompt}" in word for word in argv(rung.run))
    return not told and agents.needs(rung) is None and rung.agent == "command" and rung.attempts == rung.candidates == 1


def _whoever_asks(outcome: Outcome) -> bool:
    """Its own findings that remain say nothing of another chunk's."""
    if outcome.kind is Kind.NOT_FIXED:
        return outcome.evidence.reason != REMAIN
    return outcome.kind is Kind.NO_CHANGE
