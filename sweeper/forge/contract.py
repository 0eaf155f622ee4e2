"""What a forge is asked, and what it answers. Text that a forge returns is untrusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Rights:
    """What the token may do, as far as the forge tells. `push` is None where that can't be read.

    `login`: "" where the token does not say whose it is. `default_branch`: the repository's. `unknown`: what could
    not be read, one line each, for people.
    """

    login: str
    push: bool | None
    default_branch: str
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PullRequest:
    """One pull request as the forge has it. `head`: the commit at its head; `branch`: its head branch.

    `ours`: its head branch is in this repository, not in a fork. `id`: the forge's own name of it. `author`: the
    login that opened it. `merged`: it is closed because it was merged.
    """

    number: int
    url: str
    state: str
    draft: bool
    branch: str
    head: str
    base: str
    title: str
    body: str
    author: str
    ours: bool
    id: str = ""
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pull request to open, or what an open one is to become. `branch` is its head branch."""

    branch: str
    base: str
    title: str
    body: str
    draft: bool = True


@dataclass(frozen=True, slots=True)
class Extras:
    """What is added once, when a pull request is opened. A reviewer "org/team" is a team."""

    labels: Sequence[str] = ()
    reviewers: Sequence[str] = ()
    assignees: Sequence[str] = ()
    milestone: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """What became of one part. `operation`: created | updated | none | closed. `part`: its label, "" for the only one.

    `head`: the commit at the pull request's head, as it was read back. `notes`: what a person should know of it.
    """

    sweep: str
    part: str
    number: int
    url: str
    head: str
    branch: str
    base: str
    operation: str
    draft: bool
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, pull: PullRequest, sweep: str, part: str, operation: str, notes: tuple[str, ...] = ()) -> Published:
        """`pull`: as it was read back."""
        return cls(sweep, part, pull.number, pull.url, pull.head, pull.branch, pull.base, operation, pull.draft, notes)


@dataclass(frozen=True, slots=True)
class Rendered:
    """A pull request as a dry run has it. `operation`: what a real run would do: created | updated | none | closed.

    `url`: the open one's, "" where it would be a new one. `head`: the commit that would be pushed to `branch`;
    `commits`: (commit, subject) on it beyond the base, the oldest first. `labels` to `milestone`: of a new one.
    """

    sweep: str
    part: str
    operation: str
    url: str
    branch: str
    base: str
    head: str
    draft: bool
    title: str
    body: str
    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    milestone: str = ""
    commits: tuple[tuple[str, str], ...] = ()


class Forge(Protocol):
    """Each call raises ForgeFailed; its message never holds the token."""

    async def rights(self) -> Rights:
        """Who asks, and what that one may do here. Raises ForgeFailed if it is certainly not enough."""

    async def find(self, branch: str = "", *, state: str = "open") -> Sequence[PullRequest]:
        """Pull requests of this repository with that head branch (or any), the newest first. `state`: open | all."""

    async def read(self, number: int) -> PullRequest: ...

    async def open(self, wanted: Wanted) -> PullRequest:
        """A new pull request; one that exists already for this head and base is returned instead."""

    async def update(self, known: PullRequest, wanted: Wanted) -> PullRequest:
        """Title, body and base as wanted; a draft is marked ready where `wanted.draft` is false, never the reverse."""

    async def adorn(self, number: int, extras: Extras) -> Sequence[str]:
        """Add labels, reviewers, assignees, milestone; what could not be added, one line each, is no failure."""

    async def close(self, number: int, comment: str) -> None:
        """Close it, saying why."""

    def compare_url(self, base: str, branch: str) -> str:
        """Where a person opens the pull request by hand."""

    async def aclose(self) -> None: ...
