"""The values that rooms hand to each other. Metadata only: no file content, no clock, no IO.

Paths are repository-relative `str`, "/"-separated, decoded with `os.fsdecode` (undecodable bytes are lone
surrogates); `os.fsencode` gives the bytes back. JSON is written with `ensure_ascii`, so such a name appears
as `\\udcXX`. Times are seconds since the epoch (float); durations are seconds.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field


class Severity(enum.StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One result of a check, without source text.

    `line` and `column` are 1-based, 0 where the tool gave none. `fingerprint` identifies the finding across
    line shifts: a hash of rule, normalised message and the source line's hash ("" until it was computed).
    """

    path: str
    line: int
    column: int
    rule: str
    message: str
    severity: Severity = Severity.ERROR
    fingerprint: str = ""


class SkipReason(enum.StrEnum):
    OUTSIDE = "outside the repository"
    MISSING = "not in the tree"
    IGNORED = "git-ignored"
    GENERATED = "generated"
    VENDORED = "vendored"
    SUBMODULE = "in a submodule"
    BINARY = "binary"
    LFS = "stored in Git LFS"
    LINK = "a symbolic link"
    NOT_PARSED = "does not parse"
    LINTER_IGNORED = "ignored by the linter"
    TOO_LARGE = "too large to edit"
    NO_LOCATION = "names no file"


@dataclass(frozen=True, slots=True)
class Skip:
    """Findings that become no unit, and why. `path` as the tool printed it."""

    path: str
    reason: SkipReason
    findings: int


class CheckState(enum.StrEnum):
    CLEAN = "clean"
    FINDINGS = "findings"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one run of a check said: the state follows from exit code *and* parsed content.

    `unparsed` counts lines of output that no format understood. `why` explains a broken state and quotes the
    head of what the tool said. `incomplete` names a tool's own warning that it did not look at everything.
    `unparsable`: what the tool says, with its line and column, of each file that does not parse.
    """

    state: CheckState
    findings: tuple[Finding, ...] = ()
    skips: tuple[Skip, ...] = ()
    unparsed: int = 0
    why: str = ""
    incomplete: str = ""
    format: str = ""
    unparsable: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def broken(self) -> bool:
        """Nothing was proven."""
        return self.state is CheckState.BROKEN

    @property
    def unread(self) -> frozenset[str]:
        """Files that were not judged: they don't parse, or the tool says that it ignored them."""
        unread = (SkipReason.NOT_PARSED, SkipReason.LINTER_IGNORED)
        return frozenset(skip.path for skip in self.skips if skip.reason in unread)

    def unread_line(self, path: str) -> str:
        """Key line about a file that was not judged."""
        return f"does not parse: {path}:{self.unparsable[path]}" if path in self.unparsable else f"not read: {path}"


class Partition(enum.StrEnum):
    FILE = "file"
    DIRECTORY = "directory"
    RULE = "rule"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest independent piece of work. Units of one round have disjoint `paths`.

    `key`: 32 hex digits, a hash over sweep, root, partition kind, path, rule or owners, and chunk (never a slug).
    `title`: what a person reads (a path, a rule or owners, with "#2" for the second of several chunks).
    `chunk`: from 1 on where there are, or were, several; 0 for a unit that is the whole of what its title says.
    """

    key: str
    sweep: str
    title: str
    paths: tuple[str, ...]
    findings: tuple[Finding, ...]
    chunk: int = 0

    @property
    def lines(self) -> tuple[int, int] | None:
        """First and last line with a finding, of a chunk within one file; None for every other unit."""
        if not self.chunk or len(self.paths) != 1:
            return None
        lines = [finding.line for finding in self.findings]
        return (min(lines), max(lines)) if all(lines) else None

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(sorted({f.rule for f in self.findings}))


class Kind(enum.StrEnum):
    """The class of an attempt's outcome; what follows is the ladder's decision (DESIGN, section 5)."""

    FIXED = "fixed"
    ALREADY_CLEAN = "already_clean"
    PARTIAL = "partial"
    NO_CHANGE = "no_change"
    NOT_FIXED = "not_fixed"
    REJECTED = "rejected"
    TIMED_OUT = "timed_out"
    NEEDS_INPUT = "needs_input"
    CONTEXT_OVERFLOW = "context_overflow"
    EJECTED = "ejected"
    CONFLICT = "conflict"
    TRANSIENT = "transient"
    REFUSED = "refused"
    DECLINED = "declined"
    RULES_CONFLICT = "rules_conflict"
    UNCLASSIFIED = "unclassified"


MERGEABLE = frozenset({Kind.FIXED, Kind.PARTIAL})


@dataclass(frozen=True, slots=True)
class Usage:
    """What an attempt cost. Dollars are micro-dollars (int), so that sums are exact."""

    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.micro_usd + other.micro_usd,
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Made by the runner, never by the agent. `before`/`after` count findings of the unit's paths.

    `lines`: a few short key lines (tail of output, names of new findings), capped, escaped for a terminal by
    whoever prints them. `reason` is a machine word: the policy's rule, the clock, the engine's fault.
    `checks`: ids of the whole checks that the change was in, the deciding one last, which judged `together` units.
    """

    command: tuple[str, ...] = ()
    exit_code: int | None = None
    reason: str = ""
    lines: tuple[str, ...] = ()
    before: int = 0
    after: int = 0
    new: tuple[Finding, ...] = ()
    checks: tuple[str, ...] = ()
    together: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one attempt: a value, never an exception.

    `commit` is the captured change (a commit on `base` under refs/sweeper/), "" if nothing was captured.
    `claimed`: what the agent said of itself, kept as a log and never used. `reviews`: policy rules of
    severity review. `retry_after`: seconds, for transient kinds. `denied`: what its agent asked of the gateway in
    vain, as (kind, times).
    """

    unit: str
    attempt: int
    rung: int
    kind: Kind
    base: str
    commit: str = ""
    evidence: Evidence = Evidence()
    usage: Usage = Usage()
    seconds: float = 0.0
    claimed: str = ""
    reviews: tuple[str, ...] = ()
    retry_after: float | None = None
    memory_exceeded: bool = False
    denied: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Owner:
    """One coordinator process. `id` is random per process; host, pid, start and boot make it provable."""

    id: str
    host: str
    pid: int
    started: float
    boot: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease on a unit. `token` is the fencing token: every write of a result carries it."""

    unit: str
    owner: str
    token: int
    expires: float


class UnitState(enum.StrEnum):
    """Every unit is in exactly one. VERIFIED waits for the round's merge."""

    OPEN = "open"
    CLAIMED = "claimed"
    VERIFIED = "verified"
    SETTLED = "settled"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class History:
    """What the ladder knows of a unit: its outcomes in order, as (rung, kind, reason)."""

    outcomes: tuple[tuple[int, Kind, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BaseEntry:
    """One entry of a commit's tree. `mode` is git's octal mode as int (0o100644), `oid` hex."""

    mode: int
    oid: str


Listing = Mapping[bytes, BaseEntry]


@dataclass(frozen=True, slots=True)
class Change:
    """One path of a captured change: `data` is the whole new content, None a deletion; `mode` is git's."""

    path: str
    data: bytes | None = field(repr=False)
    mode: int = 0o100644
