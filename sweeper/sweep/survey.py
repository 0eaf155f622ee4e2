"""From a commit's findings to the round's units: what is known of their files, their owners and their chunks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from sweeper.backlog import owners as codeowners
from sweeper.backlog.ownership import Ownership, owners_of
from sweeper.backlog.partition import ATTRIBUTES, FileFacts, Partitioned, file_facts, partition
from sweeper.ground import FILES_AT_ONCE, Ground
from sweeper.ledger.contract import Ledger, Queued
from sweeper.records import Finding, Partition, Unit, UnitState
from sweeper.report.phrases import count
from sweeper.sweep.selection import Chosen, mark
from sweeper.workshop import Workshop

HEAD_BYTES = 8000


@dataclass(frozen=True, slots=True)
class Standing:
    """The sweep's units that are not settled. `held`: keys of those that wait for a human."""

    units: tuple[Unit, ...] = field(default=(), repr=False)
    held: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Surveyed:
    """`parts`: the units. `owned`: where owners come from and what nobody owns, "" without partition by owner.
    `notes`: what a person should know of it."""

    parts: Partitioned
    owned: str = ""
    notes: tuple[str, ...] = ()


async def standing(ledger: Ledger | None, sweep: str) -> Standing:
    """What the ledger has of a sweep's chunks, and which of its units are held."""
    if ledger is None:
        return Standing()
    chunks: list[Unit] = []
    held: set[str] = set()
    states = tuple(state for state in UnitState if state is not UnitState.SETTLED)
    async for queued in ledger.units(sweep, states=states):
        if queued.state is UnitState.HELD:
            held.add(queued.key)
        if queued.unit.chunk:
            chunks.append(queued.unit)
    return Standing(tuple(chunks), frozenset(held))


async def aside(ledger: Ledger, sweep: str, ground: Ground, given: Container[str]) -> list[Queued]:
    """Held units of findings that were given earlier, without those among `given` now: that something else is given is
    no answer to them. They are gone when the check sees nothing of them any more."""
    seen = {mark(finding) for finding in ground.baseline.all()}
    return [
        held
        async for held in ledger.units(sweep, states=[UnitState.HELD])
        if held.key not in given and any(mark(finding) in seen for finding in held.unit.findings)
    ]


async def survey(
    workshop: Workshop, ground: Ground, base: str, chosen: Chosen | None, before: Standing | None = None
) -> Surveyed:
    """The round's units, those that wait for their turn, and skips. `base`: the run's own commit, whose CODEOWNERS
    counts. `before`: the units that are under way."""
    findings = ground.baseline.all()
    if chosen is not None:
        findings = chosen.of(findings)
    config, before = workshop.config, before or Standing()
    kind = Partition(config.partition)
    ownership = Ownership()
    if kind is Partition.OWNER:
        ownership = await owners_of(
            workshop.repo, workshop.check.parser, base, sorted({finding.path for finding in findings})
        )
    parts = partition(
        findings,
        ground.snapshot.listing,
        await _facts(workshop, ground, findings),
        sweep=workshop.name,
        root=config.root,
        kind=kind,
        max_findings=config.max_findings_per_unit,
        held=before.held,
        standing=before.units,
        owners=ownership.of,
    )
    return Surveyed(parts, _owned(ownership, parts) if kind is Partition.OWNER else "", ownership.notes)


def _owned(ownership: Ownership, parts: Partitioned) -> str:
    if not ownership.where:
        return f"the base has no CODEOWNERS ({', '.join(codeowners.LOCATIONS)}): nobody owns anything"
    units = (*parts.units, *(unit for unit, _ in parts.waiting))
    nobodys = [finding.path for unit in units for finding in unit.findings if not ownership.of.get(finding.path)]
    files = len(set(nobodys))
    return f"{ownership.where}; {count(len(nobodys), 'finding')} in {count(files, 'file')} without an owner"


async def _facts(workshop: Workshop, ground: Ground, findings: Sequence[Finding]) -> dict[str, FileFacts]:
    repo, commit = workshop.repo, ground.commit
    paths = sorted({os.fsencode(finding.path) for finding in findings} & ground.snapshot.listing.keys())
    attributes = await repo.attributes(commit, paths, ATTRIBUTES)
    ignored = await repo.check_ignore(commit, paths)
    sizes = await repo.sizes(commit, paths)
    facts: dict[str, FileFacts] = {}
    for start in range(0, len(paths), FILES_AT_ONCE):
        heads = await repo.heads(commit, paths[start : start + FILES_AT_ONCE], HEAD_BYTES)
        for path, head in heads.items():
            facts[os.fsdecode(path)] = file_facts(head, sizes[path], attributes.get(path), ignored=path in ignored)
    return facts


def queue(ground: Ground, units: Sequence[Unit], round_number: int, ladder: str) -> list[Queued]:
    """Units with their place: a digest of their blobs and the ladder, so that a change of either starts anew."""
    listing = ground.snapshot.listing

    def place(unit: Unit) -> str:
        digest = hashlib.sha256(ladder.encode())
        for path in unit.paths:
            entry = listing.get(os.fsencode(path))
            digest.update(f"\0{entry.oid if entry else ''}".encode())
        return digest.hexdigest()[:32]

    return [Queued(unit, round_number, place=place(unit)) for unit in units]
