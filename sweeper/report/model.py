"""What a report and a plan hold. Values only; text in them is untrusted and is escaped by whoever prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sweeper.ladder.forecast import Expected
from sweeper.records import Skip, UnitState, Usage
from sweeper.report.spending import Spent

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt. `state`: started | landed | lost | stale; `kind` is "" unless it landed. `commit`: what it captured.

    `merged`: its commit on the branch. `seconds`: wall time. `exit_code`: the command's of the evidence. `denied`:
    what its agent asked of the gateway in vain, kind -> times. `checks`: ids of the whole checks that the change was
    in, the deciding one last, which judged `together` units.
    """

    number: int
    run: str
    round: int
    rung: int
    state: str
    kind: str = ""
    reason: str = ""
    command: tuple[str, ...] = ()
    exit_code: int | None = None
    lines: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    base: str = ""
    commit: str = ""
    merged: str = ""
    started: float = 0.0
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    reviews: tuple[str, ...] = ()
    claimed: str = ""
    denied: Mapping[str, int] = field(default_factory=dict)
    checks: tuple[str, ...] = ()
    together: int = 1


@dataclass(frozen=True, slots=True)
class UnitReport:
    """One unit and its attempts, oldest first. `findings`: how many its newest backlog had; `line`: the first one's,
    0 where it has none.
    """

    key: str
    title: str
    state: UnitState
    why: str
    findings: int
    rules: tuple[str, ...]
    tries: tuple[Try, ...] = ()
    paths: tuple[str, ...] = ()
    line: int = 0

    @property
    def held(self) -> bool:
        return self.state is UnitState.HELD

    @property
    def merged(self) -> tuple[str, ...]:
        return tuple(t.merged for t in self.tries if t.merged)

    @property
    def reviews(self) -> tuple[str, ...]:
        """What a reviewer should look at, of the changes that are on the branch."""
        return tuple(dict.fromkeys(review for t in self.tries if t.merged for review in t.reviews))


@dataclass(frozen=True, slots=True)
class Buckets:
    """Every finding of the first check, and every one given from outside, is in exactly one of them.

    `first`: findings of the first check. `already_clean`: given from outside and not reproduced by it, not part of
    `first`. `held`, `open`, `skipped`: reason -> findings that remain. `appeared`: findings of the newest check
    beyond the first one's, in no bucket.
    """

    first: int = 0
    fixed: int = 0
    already_clean: int = 0
    held: Mapping[str, int] = field(default_factory=dict)
    open: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    appeared: int = 0

    @property
    def remaining(self) -> int:
        return sum(sum(reasons.values()) for reasons in (self.held, self.open, self.skipped))

    @property
    def total(self) -> int:
        """What the buckets add up to: `first` and `already_clean`."""
        return self.fixed + self.already_clean + self.remaining


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """One barrier: how often the whole tree was judged, whether it was red at first and who was ejected.

    `flaky`: tests that failed now and then and were blamed on nobody, by this barrier's end.
    """

    round: int
    runs: int
    red: bool
    reason: str = ""
    ejected: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SweepReport:
    """One run of one sweep. `ended` is "" while it is unfinished; `branch` is "" where nothing was merged.

    `dry_run`: "fix" or "pr" where the run has moved no branch, though something is fixed on its tip.
    """

    sweep: str
    run: str
    base: str
    tip: str
    branch: str
    rounds: int
    ended: str
    buckets: Buckets
    units: tuple[UnitReport, ...] = ()
    skips: tuple[Skip, ...] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)
    lost: int = 0
    gates: tuple[GateVerdict, ...] = ()
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    check: tuple[str, ...] = ()
    tests: str = ""
    unit_check: str = ""
    incomplete: str = ""
    spending: tuple[Spent, ...] = ()
    denied: Mapping[str, int] = field(default_factory=dict)
    dry_run: str = ""

    @property
    def drained(self) -> bool:
        """Nothing is left that a unit could still fix: what remains was skipped for a reason."""
        return not self.buckets.held and not self.buckets.open and not self.buckets.appeared


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """`rung`: index of the rung it starts on, None where `hold` says why a human decides.

    `prompt`: what its agent would get on `prompt_rung`, "" where nobody asked for it or no rung asks a model.
    `lines`: first and last line with a finding, of a chunk of one file. `waits_for`: the title of the unit that shares
    a path with it and goes first, "" for a unit of the first round.
    """

    key: str
    title: str
    findings: int
    rules: tuple[str, ...]
    rung: int | None = 0
    hold: str = ""
    prompt: str = ""
    prompt_rung: int = 0
    lines: tuple[int, int] | None = None
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What a run would do. `rungs`: one line each. `limits`: name -> value as text. `owners`: where owners come from
    and what nobody owns, "" without partition by owner. `expected`: what each rung will take.
    `lands`: the commit up to which the run that is gone on with has fixed what is on no branch yet, "" if none.
    `no_rung`: why nothing can be tried, and a run refuses to start; "" where there is a ladder, be it an empty one."""

    sweep: str
    base: str
    check: tuple[str, ...]
    format: str
    findings: int
    units: tuple[PlannedUnit, ...]
    skips: tuple[Skip, ...] = ()
    rungs: tuple[str, ...] = ()
    limits: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = ""
    not_reproduced: int = 0
    unit_check: str = ""
    incomplete: str = ""
    resumes: str = ""
    owners: str = ""
    expected: tuple[Expected, ...] = ()
    lands: str = ""
    no_rung: str = ""
