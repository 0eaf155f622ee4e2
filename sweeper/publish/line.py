"""One part's line of commits: where it starts, what is put on it, green as a whole, in its published shape."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sweeper import green
from sweeper.config import PullRequestConfig
from sweeper.errors import GitFailed
from sweeper.ledger.contract import Run
from sweeper.merge import merge
from sweeper.publish.commits import shape
from sweeper.publish.pieces import Piece, after
from sweeper.publish.record import Record
from sweeper.publish.where import How, Place
from sweeper.repo import Repo
from sweeper.report.escape import terminal

Judge = Callable[[str, Sequence[green.Piece]], Awaitable[green.Green]]  # sweeper.green.Judge, or what stands for it
NAMED = 3  # paths that a conflict names


@dataclass(frozen=True, slots=True)
class Line:
    """`tip`: what the branch is to be; `start`: the commit that new pieces were put on. `left`: (title, why) of what
    does not fit there. `moved`: whether the branch has to be pushed. `notes`: what a person should know of it."""

    tip: str
    start: str
    left: tuple[tuple[str, str], ...] = ()
    moved: bool = True
    notes: tuple[str, ...] = ()


def form(config: PullRequestConfig, pieces: Sequence[Piece]) -> str:
    """Digest of what decides a part's commits beside run and base: settings, and which pieces are its own."""
    settings = config.model_dump(mode="json", include={"commits", "message", "sign_off"})
    parts = [json.dumps(settings, sort_keys=True), *(piece.commit for piece in pieces)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


async def build(
    repo: Repo, run: Run, config: PullRequestConfig, pieces: Sequence[Piece], *,
    onto: str, place: Place, record: Record | None, judge: Judge, whole: bool,
) -> Line:  # fmt: skip
    """The line of a part's pieces for its place. `whole`: the part is all of the run.

    A tree that the run's own gate saw green is not judged again. Raises GitFailed, CheckBroken, SandboxFailed.
    """
    start, added, kept = _begin(config, pieces, onto, place, record)
    if not added:
        return Line(place.tip, start, kept, moved=False)
    put = [green.Piece(piece.commit, piece.commit, piece.message) for piece in added]
    merged = await merge(repo, start, put)
    same = (await repo.commit_of(merged.tip)).tree == (await repo.commit_of(run.tip)).tree
    left: tuple[tuple[str, str], ...] = ()
    if not (whole and same and not merged.conflicts) and (merged.merged or merged.conflicts):
        judged = await judge(start, put)
        merged, left = judged.merged, _left(added, judged)
    if not merged.merged:
        return Line(start, start, (*kept, *left), moved=False)
    pairs = [(piece, merged.merged[piece.commit]) for piece in added if piece.commit in merged.merged]
    notes: list[str] = []
    tip = await shape(repo, start, pairs, config, run.sweep)
    if tip is None:
        tip = merged.tip
        notes.append(f'commits = "{config.commits}" is not possible, their order would conflict: one per unit instead')
    if repo.signs:
        try:
            tip = await repo.sign(start, tip)
        except GitFailed as problem:
            notes.append(f"the commits are NOT signed, although commit.gpgSign is set: {problem}")
    return Line(tip, start, (*kept, *left), notes=tuple(notes))


def _begin(
    config: PullRequestConfig, pieces: Sequence[Piece], onto: str, place: Place, record: Record | None
) -> tuple[str, Sequence[Piece], tuple[tuple[str, str], ...]]:
    """(commit to put pieces on, those that are not there yet, what was left out before)."""
    known = False
    if record is not None:
        rest = after(pieces, record.source)
        had = pieces[: len(pieces) - len(rest)]
        known = record.form == form(config, had) and bool(had)
    if place.how is How.ON_TOP:
        return (place.tip, rest, record.left) if known and record else (place.tip, pieces, ())
    stands = known and record is not None and record.head == place.tip and record.onto == onto
    if place.how is How.OURS and record and stands and (not rest or config.commits == "unit"):
        return place.tip, rest, record.left
    return onto, pieces, ()


def _left(pieces: Sequence[Piece], judged: green.Green) -> tuple[tuple[str, str], ...]:
    found = []
    for piece in pieces:
        if piece.commit in judged.culprits:
            red = judged.culprits[piece.commit]
            found.append((piece.title, f"breaks the gate there: {red.reason}"))
        elif piece.commit in judged.merged.conflicts:
            paths = judged.merged.conflicts[piece.commit]
            where = f" in {', '.join(map(terminal, paths[:NAMED]))}" if paths else ""
            found.append((piece.title, f"conflicts{where}; the next run on the new base takes it up again"))
    return tuple(found)
