"""The fan-in of a round: verified commits onto the tip, one commit per unit, in unit order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sweeper.records import Unit
from sweeper.repo import Conflict, Repo


class Verified(NamedTuple):
    """One verified change: what `commit` changes against its parent. `message`: of its commit on the branch.

    `held`: its unit, where that was verified together with others only: the tree may have none of its findings.
    """

    key: str
    commit: str
    message: str
    held: Unit | None = None


@dataclass(frozen=True, slots=True)
class Merged:
    """`tip`: the newest commit. `merged`: unit key -> its commit on the branch. `empty`: keys whose change the tip
    already had: no commit. `conflicts`: key -> paths that do not fit, left out."""

    tip: str
    merged: dict[str, str]
    empty: tuple[str, ...] = ()
    conflicts: dict[str, tuple[str, ...]] = field(default_factory=dict)


async def merge(repo: Repo, tip: str, verified: Sequence[Verified]) -> Merged:
    """Put verified changes on top of `tip`, in the order given.

    Equal arguments give an equal tip: a commit's time is its unit's, never before its parent's. Nothing is moved
    or named: refs and branches are the caller's. Raises GitFailed.
    """
    merged: dict[str, str] = {}
    empty: list[str] = []
    conflicts: dict[str, tuple[str, ...]] = {}
    at = await repo.commit_of(tip)
    for key, commit, message, _ in verified:
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
