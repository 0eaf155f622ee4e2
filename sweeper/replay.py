"""Replays a journal: its events go to a new scheduler, and every command is compared with the one written down.

Pure: it reads no clock and runs nothing. A prefix of a journal is fine (a coordinator may die at any moment).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sweeper.ledger.contract import JournalRow
from sweeper.scheduler import Scheduler, Tally
from sweeper.scheduler.journal import decode_event, encode_commands
from sweeper.scheduler.messages import Started


@dataclass(frozen=True, slots=True)
class Difference:
    """The first row that does not follow from those before it. `expected` is what the scheduler says."""

    seq: int
    event: Any
    expected: Any
    found: Any
    why: str


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """`rows` that were replayed (the differing one included); `complete`: the last drain came to its end.

    `tally`: the last drain's, as far as the rows go.
    """

    rows: int
    drains: int
    complete: bool
    tally: Tally
    difference: Difference | None = None


def replay(rows: Iterable[JournalRow]) -> ReplayReport:
    """Compare every command of one fire's journal, in order of `seq`; stops at the first difference."""
    scheduler = Scheduler()
    count = drains = 0
    for row in rows:
        count += 1
        expected: Any = None
        why = f"row {count - 1} is missing" if row.seq != count - 1 else ""
        if not why:
            try:
                now, event = decode_event(row.event)
                if isinstance(event, Started):
                    scheduler = Scheduler()
                    drains += 1
                expected = encode_commands(scheduler.handle(now, event))
            except Exception as problem:  # whatever a changed journal makes of the scheduler's state
                why = f"{type(problem).__name__}: {problem}"
            else:
                why = "" if expected == row.commands else "other commands follow from this event"
        if why:
            difference = Difference(row.seq, row.event, expected, row.commands, why)
            return ReplayReport(count, drains, scheduler.ended, scheduler.tally, difference)
    return ReplayReport(count, drains, scheduler.ended, scheduler.tally)
