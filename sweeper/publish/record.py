"""What we remember of a published part: in the run's notes, and as a marker in the pull request for other machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from sweeper.ledger.contract import Ledger, Run

NOTE = "pull_requests"
RUNS = 50  # newest runs of a sweep whose records are looked at


@dataclass(frozen=True, slots=True)
class Record:
    """One part of one run. `part`: its slug, "" for the only one.

    `head`: what we pushed last, or were about to push; `previous`: what of ours stood there before. `source`: the run's
    tip that is in it, "" while the push may or may not have happened; `onto`: the commit that our line began on;
    `form`: digest of what shapes commits. `left`: what was left out, as (title, why) pairs; `notes`: what else was
    said of the line. `shared`: somebody else's commits are below `head`, so that it is only ever added to.
    """

    part: str
    branch: str
    head: str
    previous: str = ""
    source: str = ""
    onto: str = ""
    form: str = ""
    left: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    shared: bool = False


class Records:
    """What the ledger has of published parts. Not `kept`: what is remembered now is forgotten with this object."""

    def __init__(self, ledger: Ledger, *, kept: bool = True) -> None:
        self._ledger, self._kept = ledger, kept
        self._passing: dict[str, dict[str, Record]] = {}

    async def of(self, run: Run) -> dict[str, Record]:
        """Part -> record, of one run."""
        rows = (await self._ledger.notes(run.id)).get(NOTE, {})
        return {part: _record(row) for part, row in rows.items()} | self._passing.get(run.id, {})

    async def remember(self, run: Run, record: Record) -> None:
        if not self._kept:
            self._passing.setdefault(run.id, {})[record.part] = record
            return
        rows = (await self._ledger.notes(run.id)).get(NOTE, {})
        await self._ledger.note(run.id, NOTE, {**rows, record.part: asdict(record)})

    async def heads(self, sweep: str) -> tuple[dict[str, set[str]], set[str]]:
        """Branch -> commits that a run of this sweep put there, or was about to; and those of them that are shared."""
        heads: dict[str, set[str]] = {}
        shared: set[str] = set()
        for run in await self._ledger.runs(limit=RUNS, sweep=sweep):
            for record in (await self.of(run)).values():
                put = set(filter(None, (record.head, record.previous)))
                heads.setdefault(record.branch, set()).update(put)
                shared |= put if record.shared else set()
        return heads, shared

    async def tips(self) -> dict[str, str]:
        """Branch -> the commit that we are certain to have put there last, whichever the sweep."""
        found: dict[str, str] = {}
        for run in await self._ledger.runs(limit=RUNS):
            for record in (await self.of(run)).values():
                if sure := record.head if record.source else record.previous:
                    found.setdefault(record.branch, sure)
        return found

    async def runs(self, sweep: str) -> Sequence[str]:
        """The ids of a sweep's runs."""
        return [run.id for run in await self._ledger.runs(limit=1000, sweep=sweep)]


def _record(row: dict[str, Any]) -> Record:
    names = {field.name for field in fields(Record)}
    kept = {name: value for name, value in row.items() if name in names}
    kept["left"] = tuple((title, why) for title, why in kept.get("left", ()))
    kept["notes"] = tuple(kept.get("notes", ()))
    return Record(**kept)
