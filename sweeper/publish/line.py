"""One part's line of commits: where it starts, what is put on it, green as a whole, in its published shape."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from sweeper.branch import signed
from sweeper.config.models import PullRequestConfig
from sweeper.gate import green
from sweeper.gate.merge import Verified
from sweeper.ledger.contract import Run
from sweeper.publish.commits import shape
from sweeper.publish.fitting import fit, put
from sweeper.publish.pieces import Piece, after
from sweeper.publish.record import Record
from sweeper.publish.where import How, Place
from sweeper.repo import Repo
from sweeper.report.escape import terminal

Judge = Callable[[str, Sequence[Verified]], Awaitable[green.Green]]  # green.Judge, or what stands for it
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
    start, added, kept, notes = _begin(config, pieces, onto, place, record)
    if not added:
        return Line(place.tip, start, kept, moved=False, notes=notes)
    fits = await fit(repo, start, added, base=onto, branch=place.branch)
    merged = fits.merged
    same = (await repo.commit_of(merged.tip)).tree == (await repo.commit_of(run.tip)).tree
    left: tuple[tuple[str, str], ...] = ()
    if not (whole and same and not merged.conflicts) and (merged.merged or merged.conflicts):
        judged = await judge(fits.start, put(fits.pieces))
        merged, left = judged.merged, _left(fits.pieces, judged)
    if not merged.merged:
        return Line(start, start, (*kept, *left), moved=False, notes=notes)
    pairs = [(piece, merged.merged[piece.commit]) for piece in fits.pieces if piece.commit in merged.merged]
    tip, more = await _finished(repo, fits.start, merged.tip, pairs, config, run.sweep)
    tip, unsigned = await signed(repo, start, tip)
    said = filter(None, (*notes, *fits.notes, *more, unsigned))
    return Line(tip, fits.start, (*kept, *left), notes=tuple(dict.fromkeys(said)))


async def _finished(
    repo: Repo, start: str, tip: str, pairs: Sequence[tuple[Piece, str]], config: PullRequestConfig, sweep: str
) -> tuple[str, list[str]]:
    """The tip in its published shape, and what is to be said of it."""
    shaped = await shape(repo, start, pairs, config, sweep)
    if shaped is not None:
        return shaped, []
    return tip, [f'commits = "{config.commits}" is not possible, their order would conflict: one per unit instead']


def _begin(
    config: PullRequestConfig, pieces: Sequence[Piece], onto: str, place: Place, record: Record | None
) -> tuple[str, Sequence[Piece], tuple[tuple[str, str], ...], tuple[str, ...]]:
    """(commit to put pieces on, those that are to be put there, what was left out before, what was said of it)."""
    afresh = (place.tip if place.how is How.ON_TOP else onto), pieces, (), ()
    if record is None:
        return afresh
    rest = after(pieces, record.source)
    had = pieces[: len(pieces) - len(rest)]
    if not had or record.form != form(config, had):
        return afresh
    stands = place.how is How.OURS and record.head == place.tip and record.onto == onto
    if place.how is not How.ON_TOP and not (stands and (not rest or config.commits == "unit")):
        return afresh
    if not rest:
        return place.tip, (), record.left, record.notes
    # Nothing that is there is put there again: somebody may have taken it back. What was left out may fit by now.
    out, new = {title for title, _ in record.left}, {piece.commit for piece in rest}
    return place.tip, [each for each in pieces if each.commit in new or each.title in out], (), record.notes


def _left(pieces: Sequence[Piece], judged: green.Green) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for piece in pieces:
        if piece.commit in judged.culprits:
            red = judged.culprits[piece.commit]
            found.setdefault(piece.title, f"breaks the gate there: {red.reason}")
        elif piece.commit in judged.merged.conflicts:
            paths = judged.merged.conflicts[piece.commit]
            where = f" in {', '.join(map(terminal, paths[:NAMED]))}" if paths else ""
            found.setdefault(piece.title, f"conflicts{where}; the next run on the new base takes it up again")
    return tuple(found.items())
