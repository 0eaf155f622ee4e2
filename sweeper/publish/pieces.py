"""The commits of a run, read from its branch: one piece per merged change, in the branch's order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sweeper.errors import GitFailed
from sweeper.ledger.contract import AttemptRow, Ledger, Run
from sweeper.records import Unit
from sweeper.repo import Repo

TRAILER = re.compile(r"(?m)^Sweeper-(Unit|Attempt|Rung): (\S+)$")
MOST = 100_000  # commits of one run


@dataclass(frozen=True, slots=True)
class Piece:
    """One verified change. `commit`: on the run's branch; `paths`: what it changes there, if that was asked.

    `before` and `after`: findings of the unit's files when it was verified. `batch`: the check that judged it together
    with others, `held` then the unit as it was given; "" and None for one that was judged alone.
    """

    commit: str
    unit: str
    title: str
    rules: tuple[str, ...]
    rung: int
    before: int
    after: int
    paths: tuple[str, ...]
    message: str
    reviews: tuple[str, ...] = ()
    batch: str = ""
    held: Unit | None = None


async def pieces_of(run: Run, repo: Repo, ledger: Ledger, *, paths: bool) -> list[Piece]:
    """The run's pieces from its base to its tip. `paths`: whether anybody asks for theirs.

    Raises GitFailed for a branch that is not ours alone.
    """
    rows: dict[tuple[str, int], AttemptRow] = {}
    async for row in ledger.attempts(run=run.id):
        rows[row.unit, row.number] = row
    units: dict[str, Unit] = {queued.key: queued.unit async for queued in ledger.units(run.sweep)}
    found: list[Piece] = []
    async for at, commit in repo.line(run.tip, run.base):
        trailers = dict(TRAILER.findall(commit.message))
        if len(commit.parents) != 1 or "Unit" not in trailers or len(found) > MOST:
            raise GitFailed(f"{at} is no commit of run {run.id}")
        key, number = trailers["Unit"], int(trailers.get("Attempt", "0"))
        unit, landed = units.get(key), rows.get((key, number))
        outcome = landed.outcome if landed else None
        batched = outcome is not None and outcome.evidence.together > 1
        found.append(
            Piece(
                commit=at,
                unit=key,
                title=unit.title if unit else key,
                rules=unit.rules if unit else (),
                rung=int(trailers.get("Rung", "0")),
                before=outcome.evidence.before if outcome else 0,
                after=outcome.evidence.after if outcome else 0,
                paths=tuple(await repo.paths_of(at)) if paths else (),
                message=commit.message,
                reviews=outcome.reviews if outcome else (),
                batch=outcome.evidence.checks[-1] if outcome and batched and outcome.evidence.checks else "",
                held=unit if batched else None,
            )
        )
    return found[::-1]


def after(pieces: Sequence[Piece], source: str) -> list[Piece]:
    """Those that came after the commit `source` of the same branch; all if it is not one of them."""
    for place, piece in enumerate(pieces):
        if piece.commit == source:
            return list(pieces[place + 1 :])
    return list(pieces)
