"""Pieces onto a commit that is not the one they were made on: one by one where they fit, else as far as they do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sweeper.gate.merge import Merged, Verified, merge
from sweeper.publish.pieces import Piece
from sweeper.repo import Conflict, Repo

JOINED = "the base was merged into the branch: there are changes that fit only with it"


@dataclass(frozen=True, slots=True)
class Fit:
    """`start`: the commit that `merged` stands on; `pieces`: what was put there, in order; `notes`: for a person."""

    start: str
    pieces: Sequence[Piece]
    merged: Merged
    notes: tuple[str, ...] = ()


def put(pieces: Sequence[Piece]) -> list[Verified]:
    """The pieces as the gate knows them: a piece's key is its commit."""
    return [Verified(piece.commit, piece.commit, piece.message, piece.held) for piece in pieces]


async def fit(repo: Repo, start: str, pieces: Sequence[Piece], *, base: str, branch: str) -> Fit:
    """The pieces on `start`. What conflicts there is tried with the rest of its unit, then with the base's newest
    commit merged in: a branch that somebody else works on is not begun anew when the base has moved.

    Raises GitFailed.
    """
    found = await _fit(repo, start, pieces)
    if not found.merged.conflicts or await repo.descends(start, base):
        return found
    tree = await repo.merge_tree(start, base)
    if isinstance(tree, Conflict):
        return found
    when = max((await repo.commit_of(start)).when, (await repo.commit_of(base)).when)
    joined = await repo.commit_tree(tree, [start, base], f"Merge the base into {branch}", when)
    more = await _fit(repo, joined, pieces)
    if not more.merged.merged or len(more.merged.conflicts) >= len(found.merged.conflicts):
        return found
    return replace(more, notes=(JOINED,))


async def _fit(repo: Repo, start: str, pieces: Sequence[Piece]) -> Fit:
    merged = await merge(repo, start, put(pieces))
    if merged.conflicts:
        pieces = await _by_unit(repo, pieces, merged.conflicts)
        merged = await merge(repo, start, put(pieces))
    return Fit(start, pieces, merged)


async def _by_unit(repo: Repo, pieces: Sequence[Piece], conflicts: Collection[str]) -> list[Piece]:
    """The pieces, those of a unit as one where one of them conflicts: where an earlier run has finished a unit no step
    towards that fits, but the whole does, and is then already there."""
    own: dict[str, list[Piece]] = {}
    for piece in pieces:
        own.setdefault(piece.unit, []).append(piece)
    found: dict[str, Piece] = {piece.commit: piece for piece in pieces}
    for steps in own.values():
        if len(steps) > 1 and any(step.commit in conflicts for step in steps):
            whole = await _whole(repo, steps)
            if whole is not None:
                for step in steps[:-1]:
                    del found[step.commit]
                found[steps[-1].commit] = whole
    return list(found.values())


async def _whole(repo: Repo, steps: Sequence[Piece]) -> Piece | None:
    """A unit's steps as one change; None if they need what lies between them."""
    first, last = await repo.commit_of(steps[0].commit), steps[-1]
    at, tree, when = steps[0].commit, first.tree, first.when
    for step in steps[1:]:
        replayed = await repo.replay(step.commit, at)
        if isinstance(replayed, Conflict):
            return None
        tree, when = replayed, max(when, (await repo.commit_of(step.commit)).when)
        at = await repo.commit_tree(tree, [at], "", when)
    commit = await repo.commit_tree(tree, first.parents, last.message, when)
    paths = tuple(dict.fromkeys(path for step in steps for path in step.paths))
    reviews = tuple(dict.fromkeys(review for step in steps for review in step.reviews))
    return replace(last, commit=commit, before=steps[0].before, paths=paths, reviews=reviews)
