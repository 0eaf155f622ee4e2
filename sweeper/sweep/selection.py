"""Findings that a user handed in as the backlog: those that the check reproduces, known again on every later tip."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sweeper.backlog.fingerprint import compare
from sweeper.errors import ConfigError
from sweeper.ground import Ground, stamped, tally
from sweeper.ledger.contract import Ledger
from sweeper.records import Finding
from sweeper.repo import Repo


@dataclass(frozen=True, slots=True)
class Selection:
    """Findings that a user handed in, as parsed: only these become units, if they can be reproduced."""

    findings: tuple[Finding, ...]

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(sorted(self.findings)).encode("utf-8", "backslashreplace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A selection as "fingerprint path" with multiplicity, so that it outlives line shifts."""

    marks: Counter[str]

    def of(self, findings: Iterable[Finding]) -> list[Finding]:
        """Those of `findings` that were selected."""
        left = Counter(self.marks)
        chosen = []
        for finding in findings:
            if left[mark(finding)] > 0:
                left[mark(finding)] -= 1
                chosen.append(finding)
        return chosen


def mark(finding: Finding) -> str:
    return f"{finding.fingerprint} {finding.path}"


async def choose(repo: Repo, ground: Ground, selection: Selection) -> tuple[Chosen, list[Finding]]:
    """The selected findings that the check reproduces on `ground`, and those that it doesn't."""
    given = await stamped(repo, ground.commit, selection.findings)
    difference = compare(given, ground.baseline.all())
    # what remains carries the fingerprint that the check itself gives it, whatever the handed-in line said
    return Chosen(Counter(map(mark, difference.remaining))), list(difference.gone)


async def chosen(repo: Repo, ledger: Ledger, run: str, ground: Ground, selection: Selection | None) -> Chosen | None:
    """What the run was given as its backlog, kept with it, so that a resumed one has it too. None: all there is.

    Raises ConfigError if it was lost before it could be kept.
    """
    notes = await ledger.notes(run)
    if (kept := notes.get("selection")) is not None:
        return Chosen(Counter(kept))
    if selection is not None:
        found, missing = await choose(repo, ground, selection)
        await ledger.note(run, "not_reproduced", tally(missing))
        await ledger.note(run, "selection", found.marks)
        return found
    if notes.get("selected"):
        raise ConfigError(
            f"run {run} was given its findings with --from and was stopped before they were stored",
            hint="run it again with --from",
        )
    return None
