"""Who owns a commit's paths: never by the work tree, and never by what a run changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sweeper.backlog import owners as codeowners
from sweeper.backlog.child import ChildFailed, Parser
from sweeper.repo import Repo


@dataclass(frozen=True, slots=True)
class Ownership:
    """Owners of paths by a commit's CODEOWNERS; `where` is its path, "" where there is none."""

    where: str = ""
    of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


async def owners_of(repo: Repo, parser: Parser, commit: str, paths: Sequence[str]) -> Ownership:
    """Who owns these paths, by the commit's own CODEOWNERS, which the limited child reads. Raises GitFailed."""
    named = [os.fsencode(place) for place in codeowners.LOCATIONS]
    sizes = await repo.sizes(commit, named)
    place = next((place for place in named if place in sizes), None)
    if place is None:
        return Ownership()
    where = os.fsdecode(place)
    if sizes[place] > codeowners.MAX_BYTES:
        return Ownership(where, notes=(f"{where} is larger than {codeowners.MAX_BYTES >> 20} MB: no owner is known",))
    data = (await repo.blobs(commit, [place]))[place]
    try:
        answer = await parser.call(codeowners.owned, data, paths)
    except ChildFailed as error:
        return Ownership(where, notes=(f"{where} could not be read, no owner is known: {error}",))
    owners = dict(zip(paths, map(tuple, answer["owners"]), strict=True))
    return Ownership(where, owners, tuple(codeowners.notes(where, answer["bad"])))
