"""The largest green merge: changes onto a ground one by one, the gate over the whole, bisection where it is red."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from sweeper.errors import first_of
from sweeper.gate.bisect import GREEN, RED, Culprits, GateBroken, Verdict, find_culprits
from sweeper.gate.gate import Gate, TreeVerdict
from sweeper.gate.merge import Merged, Verified, merge
from sweeper.gate.steady import MOST_GROUND_LOOKS
from sweeper.gate.suite import TestBase, test_base
from sweeper.ground import Ground, prepare, stand_on
from sweeper.records import Change, Unit
from sweeper.workshop import Workshop

Seen = dict[frozenset[str], TreeVerdict]

PARALLEL_PROBES = 2
SEARCHES = 4
ELSEWHERE = 1_000_000  # numbers sandboxes that belong to no round of the run
UNCHANGED = TreeVerdict(False)  # of the ground itself: green, and nothing is learned of its findings


@dataclass(frozen=True, slots=True)
class Green:
    """`verdict`: the gate's on what was merged, None where nothing was. `culprits`: key -> what it broke."""

    merged: Merged
    verdict: TreeVerdict | None
    culprits: dict[str, TreeVerdict] = field(default_factory=dict)


async def merge_green(workshop: Workshop, gate: Gate, pieces: Sequence[Verified]) -> Green:
    """The merge of the largest green set that bisection finds, in the order given. Raises SandboxFailed, GateBroken."""
    repo, ground = workshop.repo, gate.ground
    merged = await merge(repo, ground.commit, pieces)
    if not merged.merged:
        return Green(merged, None)
    verdict = await _judge_and_prepare(workshop, gate, merged)
    if verdict.tests and not verdict.tests.passed:
        verdict = await gate.confirm(await _changes(workshop, ground, merged), verdict)
        verdict = gate.held_to(verdict, _keys(merged))
    if not verdict.red:
        return Green(merged, verdict)
    mergeable = [piece for piece in pieces if piece.key not in merged.conflicts]
    found, seen = await _search(workshop, gate, mergeable, verdict)
    culprits = {piece.key: _nearest(seen, piece.key, found)[1] for piece in found.ejected}
    kept = await merge(repo, ground.commit, found.kept)
    green = None  # nothing was merged: the ground and what was found on it stay as they are
    if kept.merged:
        green = seen.get(frozenset(piece.key for piece in found.kept)) or await _judge(workshop, gate, kept)
    # whoever fits only without the culprits was never judged with the rest: uncharged, next round
    done = {*culprits, *_keys(kept)}
    left = {piece.key: merged.conflicts.get(piece.key, ()) for piece in pieces if piece.key not in done}
    return Green(replace(kept, conflicts=left), green, culprits)


async def _search(
    workshop: Workshop, gate: Gate, pieces: Sequence[Verified], whole: TreeVerdict
) -> tuple[Culprits[Verified], Seen]:
    """The culprits, every one with a verdict that stood a second look, and what was seen of all sets.

    A flaky test misleads a search: once one is recognised, the search begins anew without it. No culprits: nothing
    speaks against the whole any more.
    """
    seen: Seen = {}

    async def good(probed: Sequence[Verified]) -> Verdict:
        keys = frozenset(piece.key for piece in probed)
        if keys not in seen:
            seen[keys] = await _judge(workshop, gate, await merge(workshop.repo, gate.ground.commit, probed))
        return RED if seen[keys].red else GREEN

    everyone = frozenset(piece.key for piece in pieces)
    seen[everyone] = whole
    for _ in range(SEARCHES):
        found = await find_culprits(pieces, good, parallel=PARALLEL_PROBES)
        if await _confirmed(workshop, gate, pieces, found, seen):
            return found, seen
        for keys, verdict in seen.items():
            if verdict.red and not gate.stands(verdict):
                seen[keys] = gate.held_to(TreeVerdict(False, result=verdict.result), keys)
        if not seen[everyone].red:
            return Culprits(kept=list(pieces)), seen
        if gate.unsteady:
            seen = {everyone: seen[everyone]}  # what was green may have been so by luck
    raise GateBroken(
        f"the tests misled {SEARCHES} searches for the changes that break them: they are flaky",
        hint="mend the flaky tests that the report names, or leave them out of `test`",
    )


async def _confirmed(
    workshop: Workshop, gate: Gate, pieces: Sequence[Verified], found: Culprits[Verified], seen: Seen
) -> bool:
    for culprit in found.ejected:
        keys, verdict = _nearest(seen, culprit.key, found)
        if len(keys) == len(pieces) and not gate.unsteady:
            continue  # the whole was confirmed before the search
        merged = await merge(workshop.repo, gate.ground.commit, [piece for piece in pieces if piece.key in keys])
        changes = await _changes(workshop, gate.ground, merged)
        if len(keys) == len(pieces):
            verdict = await _judge(workshop, gate, merged)  # by an unsteady test: the search may have had bad luck
        confirmed = await gate.confirm(changes, verdict)
        if not confirmed.red:
            return False
        seen[keys] = confirmed
    if gate.unsteady and found.kept:
        kept = await merge(workshop.repo, gate.ground.commit, found.kept)
        return not (await _judge(workshop, gate, kept, MOST_GROUND_LOOKS)).red
    return True


async def _judge_and_prepare(workshop: Workshop, gate: Gate, merged: Merged) -> TreeVerdict:
    """The verdict; meanwhile the merged commit is made ready, as the next round will most likely stand on it."""
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(prepare, workshop, merged.tip)
            verdict = await _judge(workshop, gate, merged)
    except ExceptionGroup as several:
        raise first_of(several) from several
    return verdict


def _nearest(seen: Seen, key: str, found: Culprits[Verified]) -> tuple[frozenset[str], TreeVerdict]:
    """The smallest red set with this piece in it and its verdict: the best evidence there is against it.

    One that has another culprit in it, from an earlier search, is red for that one's sake.
    """
    others = frozenset(piece.key for piece in found.ejected) - {key}
    red = ((some, verdict) for some, verdict in seen.items() if key in some and verdict.red)
    return min(red, key=lambda each: (len(each[0] & others), len(each[0])))


async def _judge(workshop: Workshop, gate: Gate, merged: Merged, patience: int = 1) -> TreeVerdict:
    if merged.tip == gate.ground.commit:
        return UNCHANGED
    return gate.held_to(await gate.judge(await _changes(workshop, gate.ground, merged), patience), _keys(merged))


def _keys(merged: Merged) -> tuple[str, ...]:
    return (*merged.merged, *merged.empty)


async def _changes(workshop: Workshop, ground: Ground, merged: Merged) -> tuple[Change, ...]:
    return tuple(await workshop.repo.changes_between(ground.commit, merged.tip))


def claims(pieces: Sequence[Verified]) -> dict[str, Unit]:
    """Whom the gate holds to what they were fixed of, by key."""
    return {piece.key: piece.held for piece in pieces if piece.held}


class Judge:
    """Judges changes on another commit than a round's: on a base that moved, on somebody's commits, a part alone."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._known: dict[tuple[str, tuple[Verified, ...]], Green] = {}
        self._grounds: dict[str, tuple[Ground, TestBase]] = {}

    async def __call__(self, onto: str, pieces: Sequence[Verified]) -> Green:
        """The largest green merge of `pieces` on `onto`. Raises CheckBroken if the check fails there, SandboxFailed."""
        key = (onto, tuple(pieces))
        if key not in self._known:
            called = f"on {onto[:12]}"
            if onto not in self._grounds:
                with self._workshop.progress.of(f"{called}: setting up and checking"):
                    ground = await stand_on(self._workshop, onto, ELSEWHERE + len(self._grounds))
                self._grounds[onto] = (ground, await test_base(self._workshop, ground))
            number = ELSEWHERE + len(self._grounds) + len(self._known)
            gate = Gate(self._workshop, *self._grounds[onto], number, claims(pieces), called)
            self._known[key] = await merge_green(self._workshop, gate, pieces)
        return self._known[key]
