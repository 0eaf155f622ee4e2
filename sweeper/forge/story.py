"""What a reviewer is told: values only. Text in them is untrusted and is made harmless by `sweeper.forge.body`."""

from __future__ import annotations

from dataclasses import dataclass, field

from sweeper.records import Usage


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's findings in a unit's files, before the run and now."""

    name: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Change:
    """One unit that is on the branch. `rung`: how it was done, in words; `commit`: the newest of its commits there.

    `evidence`: the runner's own line. `reviews`: why a person should look at it.
    """

    key: str
    title: str
    rules: tuple[Rule, ...]
    rung: str
    evidence: str
    commit: str
    reviews: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """One unit that is not on the branch, and why."""

    title: str
    why: str
    findings: int = 0
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One pull request of several. `number` is None until it is opened."""

    label: str
    units: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """One pull request.

    `headline`: how the run stands. `fixed`, `remaining`: findings. `held`: units that wait for a person; `left_out`:
    verified units that do not fit where the branch stands now; `open`: reason -> findings for the rest. `notes`: what
    a reviewer must know beforehand, in our own words. `index`: all parts, in the first one's body only. `part`: this
    one's label, "" if it is the only one. `tests`: how far the project's tests were a yardstick. `shared`: somebody
    else's commits are on the branch as well.
    """

    sweep: str
    run: str
    base: str
    base_commit: str
    branch: str
    headline: str
    fixed: int
    remaining: int
    changes: tuple[Change, ...]
    held: tuple[Left, ...] = ()
    left_out: tuple[Left, ...] = ()
    open: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    attempts: str = ""
    spending: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    tests: str = ""
    index: tuple[Part, ...] = ()
    part: str = ""
    shared: bool = False
