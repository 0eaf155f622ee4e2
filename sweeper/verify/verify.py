"""The judge: a fresh, credential-free sandbox on the pinned base plus the captured change.

Nothing else moves a unit to fixed. Findings compare by rule, message and source line, not by line number.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sweeper.backlog.check import Check
from sweeper.backlog.fingerprint import Difference, compare, line_hashes, remaining_of, stamp
from sweeper.backlog.paths import to_root
from sweeper.records import Change, CheckResult, CheckState, Finding, Unit
from sweeper.sandbox.contract import Facts, Name, Snapshot

MAX_UNREAD = 5  # files by name


class Baseline:
    """The stamped findings of one commit, by path. `incomplete`: why the check did not look at all of it."""

    def __init__(self, findings: Iterable[Finding], incomplete: str = "") -> None:
        self.incomplete = incomplete
        by_path: dict[str, list[Finding]] = defaultdict(list)
        for finding in findings:
            by_path[finding.path].append(finding)
        self._by_path = {path: tuple(found) for path, found in by_path.items()}

    def of(self, paths: Iterable[str]) -> list[Finding]:
        return [finding for path in paths for finding in self._by_path.get(path, ())]

    def all(self) -> list[Finding]:
        return [finding for found in self._by_path.values() for finding in found]

    def beside(self, unit: Unit) -> list[Finding]:
        """What else the unit's paths have: another chunk's findings, of which nothing is asked of this one."""
        own = Counter(unit.findings)
        beside = []
        for finding in self.of(unit.paths):
            if own[finding] > 0:
                own[finding] -= 1
            else:
                beside.append(finding)
        return beside

    def stamp(self, findings: Sequence[Finding], changes: Mapping[str, bytes]) -> list[Finding]:
        """Fingerprints for findings on the baseline's commit plus `changes` (path -> content).

        A path without a change has the baseline's content, so a finding that the baseline has too keeps its
        fingerprint; one that it doesn't have is new whatever its line says.
        """
        changed = [finding for finding in findings if finding.path in changes]
        hashes = {path: line_hashes(changes[path]) for path in {finding.path for finding in changed}}
        known: dict[tuple[str, int, int, str, str], str] = {}
        for path in {finding.path for finding in findings} - changes.keys():
            for f in self._by_path.get(path, ()):
                known[f.path, f.line, f.column, f.rule, f.message] = f.fingerprint
        rest = [
            replace(f, fingerprint=known.get((f.path, f.line, f.column, f.rule, f.message), _unknown(f)))
            for f in findings
            if f.path not in changes
        ]
        return [*stamp(changed, hashes), *rest]


def _unknown(finding: Finding) -> str:
    return hashlib.sha256(
        f"unknown\0{finding.rule}\0{finding.message}\0{finding.line}".encode("utf-8", "surrogateescape")
    ).hexdigest()[:32]


def key_line(word: str, finding: Finding) -> str:
    """A key line of evidence: what became of a finding, and which."""
    return f"{word}: {finding.path}:{finding.line}: {finding.rule} {finding.message}"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the verifier saw of one unit. A broken `result` proves nothing.

    `targeted`: how many of the unit's own findings remain. `difference`: over the unit's paths, or over
    everything where a whole run judged this unit alone. `unparsable`: paths of the unit, or changed with it, that no
    longer parse. `vanished`: findings that went from files that were not changed. `checks`: ids of the whole checks
    that the change was in, the deciding one last, which judged `together` units.
    """

    command: tuple[str, ...]
    facts: Facts
    result: CheckResult = field(repr=False)
    difference: Difference
    targeted: int
    unparsable: tuple[str, ...] = ()
    vanished: tuple[Finding, ...] = ()
    checks: tuple[str, ...] = ()
    together: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """One run of the check on the base plus changes. `after`: its findings, stamped."""

    command: tuple[str, ...]
    facts: Facts
    result: CheckResult = field(repr=False)
    after: tuple[Finding, ...] = field(repr=False)


async def look(
    check: Check,
    name: Name,
    snapshot: Snapshot,
    command: tuple[str, ...],
    baseline: Baseline,
    changes: Sequence[Change],
) -> Seen:
    """Run the check in a fresh sandbox. Raises SandboxFailed; everything that the check says is in the answer.

    A check that looked at everything before the change and doesn't any more proves nothing: findings that it did not
    come to are not gone.
    """
    checked = await check.run(name, snapshot, command, changes=tuple(changes))
    result = checked.result
    if result.incomplete and not baseline.incomplete and not result.broken:
        unread = ", ".join(sorted(result.unread)[:MAX_UNREAD])
        why = f"with the change, the check does not look at everything: {result.incomplete}"
        why += f"\ndoes not parse: {unread}" if unread else ""
        result = replace(result, state=CheckState.BROKEN, why=why)
    contents = {change.path: change.data or b"" for change in changes}
    after = baseline.stamp(result.findings, contents)
    return Seen(command, checked.facts, result, tuple(after))


async def verify(
    check: Check, name: Name, snapshot: Snapshot, unit: Unit, baseline: Baseline, changes: tuple[Change, ...]
) -> Judgement:
    """Judge one change. Raises SandboxFailed; everything that the check says is in the judgement."""
    command = check.command_for([to_root(path, check.root) for path in unit.paths])
    seen = await look(check, name, snapshot, command, baseline, changes)
    paths = set(unit.paths)
    own = [finding for finding in seen.after if finding.path in paths]
    everything = command == check.argv
    difference = compare(baseline.all(), seen.after) if everything else compare(baseline.of(unit.paths), own)
    touched = paths | {change.path for change in changes}
    return Judgement(
        command=command,
        facts=seen.facts,
        result=seen.result,
        difference=difference,
        vanished=tuple(check.vanished(difference, touched)),
        targeted=len(remaining_of(unit.findings, baseline.beside(unit), own)),
        unparsable=tuple(sorted(seen.result.unread & touched)),
    )
