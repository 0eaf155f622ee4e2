"""Commits as they are published: one per unit, per set of rules, or one in all; their messages. Pure but `shape`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sweeper.config.models import PullRequestConfig
from sweeper.publish.pieces import Piece
from sweeper.repo import Conflict, Identity, Repo
from sweeper.report.escape import inert

NAMED = 50  # units that a commit of several names


@dataclass(frozen=True, slots=True)
class Group:
    """What one commit holds."""

    pieces: tuple[Piece, ...]
    message: str


def groups(pieces: Sequence[Piece], config: PullRequestConfig, sweep: str, signer: Identity) -> list[Group]:
    """The commits that these pieces become, in the order of their first pieces."""
    found: dict[object, list[Piece]] = {}
    for number, piece in enumerate(pieces):
        key: object = number
        if config.commits == "rule":
            key = piece.rules
        elif config.commits == "squash":
            key = None
        found.setdefault(key, []).append(piece)
    return [Group(tuple(some), message(some, config, sweep, signer)) for some in found.values()]


def message(pieces: Sequence[Piece], config: PullRequestConfig, sweep: str, signer: Identity) -> str:
    """One commit's message: the template's or the usual one, our trailers, and the sign-off last."""
    text = config.message.format(**_values(pieces, sweep)).strip() if config.message else _usual(pieces, sweep)
    if len(pieces) == 1 and not config.message:
        text = pieces[0].message.strip()  # as it stands on the run's branch, trailers and all
        trailers: list[str] = []
    else:
        units = list(dict.fromkeys(piece.unit for piece in pieces))
        trailers = [f"Sweeper-Unit: {unit}" for unit in units[:NAMED]]
    if config.sign_off:
        trailers.append(f"Signed-off-by: {signer.name} <{signer.email}>")
    if not trailers:
        return text + "\n"
    return text + ("\n" if text.splitlines()[-1].startswith("Sweeper-") else "\n\n") + "\n".join(trailers) + "\n"


def _usual(pieces: Sequence[Piece], sweep: str) -> str:
    values = _values(pieces, sweep)
    lines = [f"{sweep}: fix {values['rules'] or 'findings'} in {values['units']}", ""]
    titles = list(dict.fromkeys(piece.title for piece in pieces))
    lines += [f"- {inert(title)}" for title in titles[:NAMED]]
    lines += [f"- and {len(titles) - NAMED:,} more"] if len(titles) > NAMED else []
    return "\n".join(lines)


def _values(pieces: Sequence[Piece], sweep: str) -> dict[str, str]:
    titles = list(dict.fromkeys(piece.title for piece in pieces))
    units = f"{len(titles):,} unit{'' if len(titles) == 1 else 's'}"
    rules = sorted({rule for piece in pieces for rule in piece.rules})
    shown = ", ".join(inert(rule, 60) for rule in rules[:5]) + (f" and {len(rules) - 5} more" if len(rules) > 5 else "")
    return {
        "sweep": sweep,
        "title": inert(titles[0]) if len(titles) == 1 else units,
        "rules": shown,
        "units": units,
        "before": str(sum(piece.before for piece in pieces)),
        "after": str(sum(piece.after for piece in pieces)),
        "rung": ", ".join(sorted({str(piece.rung + 1) for piece in pieces})),
    }


async def shape(
    repo: Repo, start: str, merged: Sequence[tuple[Piece, str]], config: PullRequestConfig, sweep: str
) -> str | None:
    """The tip of the published commits on `start`: the same tree as the last of `merged`, in the configured shape.

    `merged`: pieces with their commits on `start`, in order. None if they can't be put into that order.
    """
    if merged and config.commits == "unit" and not config.message and not config.sign_off:
        return merged[-1][1]  # as they were merged
    on_branch = {piece.commit: commit for piece, commit in merged}
    wanted = groups([piece for piece, _ in merged], config, sweep, repo.identity)
    tip, at = start, await repo.commit_of(start)
    for group in wanted:
        tree, when = at.tree, at.when
        for piece in group.pieces:
            done = on_branch[piece.commit]
            onto = tip if tree == at.tree else await repo.commit_tree(tree, [tip], "", when)
            replayed = await repo.replay(done, onto)
            if isinstance(replayed, Conflict):
                return None
            tree, when = replayed, max(when, (await repo.commit_of(done)).when)
        if tree != at.tree:
            tip = await repo.commit_tree(tree, [tip], group.message, when)
            at = await repo.commit_of(tip)
    last = await repo.commit_of(merged[-1][1] if merged else start)
    return tip if at.tree == last.tree else None
