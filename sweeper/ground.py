"""The commit that a round stands on: snapshot and baseline.

Every round starts with the whole check on its own base, in a sandbox, so that a finding that is dispatched was
just reproduced there.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sweeper.agents.masks import MASKED, hides
from sweeper.backlog.check import Check
from sweeper.backlog.fingerprint import compare, line_hashes, stamp
from sweeper.backlog.paths import to_root
from sweeper.errors import CheckBroken, ConfigError
from sweeper.policy import CONFIGURED
from sweeper.records import Change, CheckResult, Finding
from sweeper.repo import Repo
from sweeper.sandbox import lockfiles
from sweeper.sandbox.contract import Name, Role, Snapshot
from sweeper.sandbox.layer import LINK
from sweeper.verify.verify import Baseline
from sweeper.workshop import Workshop

FILES_AT_ONCE = 200
MOST_CONFIGURATION = 40  # files that are looked through for what a check loads
MOST_COMPARED = 500  # files in the comparison of the two check commands

Tally = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Ground:
    """One commit with its snapshot, its stamped findings and what the check said of it.

    `seconds`: what the check took, 0 where the gate ran it.
    """

    commit: str
    snapshot: Snapshot
    baseline: Baseline = field(repr=False)
    result: CheckResult = field(repr=False)
    seconds: float = 0.0

    @cached_property
    def unread(self) -> frozenset[str]:
        """Files that don't parse here."""
        return self.result.unread

    @cached_property
    def configuration(self) -> tuple[bytes, ...]:
        """Files that may name what a check loads, the nearest to the top first."""
        names = {os.fsencode(name) for name in CONFIGURED}
        paths = [path for path in self.snapshot.listing if path.rsplit(b"/", 1)[-1].lower() in names]
        return tuple(sorted(paths, key=lambda path: (path.count(b"/"), path))[:MOST_CONFIGURATION])

    @cached_property
    def masks(self) -> tuple[Change, ...]:
        """Deletions that hide from an agent what a repository would configure it with."""
        entries = ((os.fsdecode(path), entry.mode == LINK) for path, entry in self.snapshot.listing.items())
        return tuple(Change(path, None) for path, link in entries if hides(path, MASKED, link=link))


async def prepare(workshop: Workshop, commit: str) -> Snapshot:
    """The commit with its toolchain, which is made anew only when the commit's lock files say something else."""
    tree = await workshop.repo.tree(commit)
    return await workshop.sandboxing.backend.prepare(tree, lockfiles.keyed(workshop.toolchain, tree.listing))


async def stand_on(workshop: Workshop, commit: str, round_number: int) -> Ground:
    """Prepare the commit and run the whole check there. Raises CheckBroken, ConfigError, SandboxFailed."""
    snapshot = await prepare(workshop, commit)
    root = posixpath.normpath(workshop.check.root)
    if root != "." and not any(path.startswith(os.fsencode(root) + b"/") for path in snapshot.listing):
        raise ConfigError(
            f"the root {root!r} of sweep {workshop.name!r} is no folder of {commit[:12]}",
            hint="correct `root`, or commit what is in it: uncommitted files are not included",
        )
    name = Name(workshop.run, workshop.name, round_number, Role.CHECK)
    checked = await workshop.check.run(name, snapshot)
    if checked.result.broken:
        raise CheckBroken(
            f"the check of sweep {workshop.name!r} is broken on {commit[:12]}: {checked.result.why}",
            hint=f"it ran as: {' '.join(workshop.check.argv)}",
        )
    return await ground_of(workshop, snapshot, checked.result, checked.facts.seconds)


async def ground_of(workshop: Workshop, snapshot: Snapshot, result: CheckResult, seconds: float = 0.0) -> Ground:
    """The ground of a commit whose check result is known (a gate has just run it)."""
    found = await stamped(workshop.repo, snapshot.commit, result.findings)
    return Ground(snapshot.commit, snapshot, Baseline(found, result.incomplete), result, seconds)


async def stamped(repo: Repo, commit: str, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings of a commit with their fingerprints. A few files at a time: their content is not kept."""
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    found: list[Finding] = []
    paths = sorted(by_path)
    for start in range(0, len(paths), FILES_AT_ONCE):
        some = paths[start : start + FILES_AT_ONCE]
        blobs = await repo.blobs(commit, [os.fsencode(path) for path in some])
        hashes = {path: line_hashes(blobs.get(os.fsencode(path), b"")) for path in some}
        found.extend(stamp((finding for path in some for finding in by_path[path]), hashes))
    return tuple(found)


async def agreeing_check(workshop: Workshop, ground: Ground) -> tuple[Check, str]:
    """The check to verify with, and why the unit check is not it ("" if it is).

    A tool that is handed files by name may drop its own excludes or configuration; then a unit check would judge
    something else than the backlog came from. So both are compared on the base, before anything is dispatched.
    """
    check = workshop.check
    paths = sorted({finding.path for finding in ground.baseline.all()})[:MOST_COMPARED]
    command = check.command_for([to_root(path, check.root) for path in paths])
    if not paths or command == check.argv:
        return check, ""
    name = Name(workshop.run, workshop.name, 0, Role.CHECK, 1)
    checked = await check.run(name, ground.snapshot, command)
    if checked.result.broken:
        return check.without_unit_check(), f"the unit check does not work on the base: {checked.result.why}"
    if checked.result.incomplete and not ground.result.incomplete:
        why = checked.result.incomplete
        return check.without_unit_check(), f"the unit check does not look at everything on the base: {why}"
    difference = compare(ground.baseline.of(paths), ground.baseline.stamp(checked.result.findings, {}))
    if difference.new or difference.gone:
        return check.without_unit_check(), (
            f"the unit check disagrees with the whole check on the base ({len(difference.new)} more, "
            f"{len(difference.gone)} fewer findings)"
        )
    return check, ""


def tally(findings: Iterable[Finding]) -> Tally:
    """Counts by path and rule."""
    counts: Tally = {}
    for finding in findings:
        by_rule = counts.setdefault(finding.path, {})
        by_rule[finding.rule] = by_rule.get(finding.rule, 0) + 1
    return counts
