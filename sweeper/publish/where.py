"""Which branch a part goes to, and what may be done with what stands there. Pure.

A branch is ours while its tip is a commit that we put there: recorded in our ledger, or in the marker of an open pull
request. Whatever else stands there is somebody's, and is never overwritten.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sweeper.forge import marker
from sweeper.forge.contract import PullRequest
from sweeper.publish.record import Record


class How(enum.StrEnum):
    NEW = "new"  # the branch does not exist
    OURS = "ours"  # its tip is what we pushed: it may be replaced
    ON_TOP = "on top"  # somebody's commits follow ours: only ever added to


@dataclass(frozen=True, slots=True)
class Place:
    """`tip`: what stands there and must stand there still when we push, "" for nothing. `pull`: our open one on it.

    `said`: what a person should know of the choice.
    """

    branch: str
    how: How
    tip: str = ""
    pull: PullRequest | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found. `heads`: branch -> tip on the remote. `pulls`: this repository's, of every state.

    `known`: branch -> commits that our ledger says we put there. `runs`: runs that our ledger knows. `avoided`:
    branches that turned out to be unfit. `shared`: commits of ours that have somebody else's below them.
    """

    heads: Mapping[str, str]
    pulls: Sequence[PullRequest]
    known: Mapping[str, Collection[str]]
    runs: Collection[str]
    now: float
    avoided: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()


def mine(pulls: Sequence[PullRequest], sweep: str, part: str | None = None) -> list[PullRequest]:
    """The open pull requests with this sweep's marker (and part), the newest first."""
    found = []
    for pull in pulls:
        mark = marker.read(pull.body)
        if mark and pull.state == "open" and pull.ours and mark.sweep == sweep and part in (None, mark.part):
            found.append(pull)
    return found


def candidates(seen: Seen, sweep: str, part: str, wanted: str, run: str) -> list[str]:
    """Branches to look at, the best first; the last one is this run's own."""
    names = [*(pull.branch for pull in mine(seen.pulls, sweep, part)), wanted, f"{wanted}-{run}"]
    return [name for name in dict.fromkeys(names) if name not in seen.avoided]


def ours(seen: Seen, sweep: str, part: str, branch: str) -> set[str]:
    """Commits that we put on a branch, as far as ledger and markers tell."""
    marks = [marker.read(pull.body) for pull in mine(seen.pulls, sweep, part) if pull.branch == branch]
    return set(seen.known.get(branch, ())) | {mark.head for mark in marks if mark}


def choose(
    seen: Seen, sweep: str, part: str, wanted: str, run: str, follows: Callable[[str, str], bool]
) -> Place | None:
    """The place for a part. `follows(commit, ancestor)`: whether one commit has the other among its ancestors.

    None if even this run's own name is somebody else's.
    """
    said = ""
    for branch in candidates(seen, sweep, part, wanted, run):
        place, why = _look(seen, sweep, part, branch, follows)
        if place is not None:
            return replace(place, said=place.said or said)
        said = said or why
    return None


def declined(seen: Seen, record: Record | None, source: str) -> str:
    """Why what the run's tip `source` holds is not published again, "" if it is to be.

    A person closed its pull request and left the branch, and there is nothing on it that was not there then.
    """
    if record is None or record.source != source or seen.heads.get(record.branch) != record.head:
        return ""
    here = [pull for pull in seen.pulls if pull.branch == record.branch and pull.ours]
    closed = [pull for pull in here if pull.head == record.head and not pull.merged]
    if not closed or any(pull.state == "open" for pull in here):
        return ""
    return (
        f"{closed[0].url} was closed, and nothing has been fixed since: it is not opened again; "
        "whoever reopens it there, or deletes its branch, has it gone on with"
    )


def _look(
    seen: Seen, sweep: str, part: str, branch: str, follows: Callable[[str, str], bool]
) -> tuple[Place | None, str]:
    tip = seen.heads.get(branch)
    if tip is None:
        return Place(branch, How.NEW), ""
    here = [pull for pull in seen.pulls if pull.branch == branch and pull.ours]
    pull = next((each for each in mine(here, sweep, part)), None)
    mark = marker.read(pull.body) if pull else None
    put = ours(seen, sweep, part, branch)
    if here and not any(each.state == "open" for each in here):
        last = max(here, key=lambda each: each.number)
        told = marker.read(last.body)
        if last.merged and last.head == tip and (tip in put or (told and (told.sweep, told.head) == (sweep, tip))):
            return Place(branch, How.OURS, tip), ""  # a forge keeps a merged branch until somebody deletes it
        return None, f"the pull request of {branch} is closed, and the branch was left: a new branch is taken"
    if any(each.state == "open" for each in here) and pull is None and tip not in put:
        return None, f"an open pull request that is not ours uses {branch}: a new branch is taken"
    # A body that a person rewrote has no marker any more; the record alone then says that it is ours.
    pull = pull or next((each for each in here if each.state == "open"), None)
    foreign = mark.run if mark and mark.run not in seen.runs and mark.until > seen.now else ""
    if tip in put:
        if foreign:
            said = f"run {foreign} of another machine is at work on {branch}: ours goes on top of it"
            return Place(branch, How.ON_TOP, tip, pull, said), ""
        if tip in seen.shared or (mark and mark.shared and mark.head == tip):
            return Place(branch, How.ON_TOP, tip, pull, _theirs(branch)), ""
        return Place(branch, How.OURS, tip, pull), ""
    if any(follows(tip, head) for head in put):
        return Place(branch, How.ON_TOP, tip, pull, _theirs(branch)), ""
    return None, f"{branch} holds commits that are not ours: it stays as it is, and a new branch is taken"


def _theirs(branch: str) -> str:
    return f"{branch} has commits that are not ours: they stay, and ours go on top of them"
