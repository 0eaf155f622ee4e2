"""The fan-in of a round: verified commits onto the tip, one commit per unit, in unit order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sweeper.repo import Conflict, Repo


@dataclass(frozen=True, slots=True)
class Merged:
    """`tip`: the newest commit. `merged`: unit key -> its commit on the branch. `empty`: keys whose change the tip
    already had: no commit. `conflicts`: key -> paths that do not fit, left out."""

    tip: str
    merged: dict[str, str]
    empty: tuple[str, ...] = ()
    conflicts: dict[str, tuple[str, ...]] = field(default_factory=dict)


Verified = tuple[str, str, str] | tuple[str, str, str, object]  # the fourth is the gate's


async def merge(repo: Repo, tip: str, verified: Sequence[Verified]) -> Merged:
    """Put verified changes on top of `tip`, in the order given: (unit key, commit on the round's base, message).

    Equal arguments give an equal tip: a commit's time is its unit's, never before its parent's. Nothing is moved
    or named: refs and branches are the caller's. Raises GitFailed.
    """
    merged: dict[str, str] = {}
    empty: list[str] = []
    conflicts: dict[str, tuple[str, ...]] = {}
    at = await repo.commit_of(tip)
    for key, commit, message, *_ in verified:
        tree = await repo.replay(commit, tip)
        if isinstance(tree, Conflict):
            conflicts[key] = tree.paths
        elif tree == at.tree:
            empty.append(key)
        else:
            when = max(at.when, (await repo.commit_of(commit)).when)
            tip = merged[key] = await repo.commit_tree(tree, [tip], message, when)
            at = at._replace(tree=tree, when=when)
    return Merged(tip, merged, tuple(empty), conflicts)
