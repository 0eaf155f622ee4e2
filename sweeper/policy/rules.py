"""The rules of the policy and what a broken one looks like."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_VIOLATIONS = 20  # of one rule; more are counted in one line
MAX_LINES = 10


class Level(enum.StrEnum):
    REJECT = "reject"
    REVIEW = "review"


@dataclass(frozen=True, slots=True)
class Rule:
    """`severity`: reject the attempt, or list it for a reviewer. `allow`: whether a glob of `allow` lifts it."""

    severity: Level
    what: str
    allow: bool = False


# In order of weight: the first broken rule is the reason of a rejection.
RULES: dict[str, Rule] = {
    "secret": Rule(Level.REJECT, "a known credential appears, plain or as base64, hexadecimal or URL encoding"),
    "denied_path": Rule(
        Level.REJECT, "CI, git, agent-instruction, hook or sweeper configuration is changed", allow=True
    ),
    "check_config": Rule(
        Level.REJECT, "the configuration of a check is added, changed or deleted, at any depth", allow=True
    ),
    "suppression": Rule(Level.REJECT, "a finding is suppressed instead of fixed: a new or widened suppression"),
    "link": Rule(Level.REJECT, "a symbolic link is made or changed"),
    "special": Rule(Level.REJECT, "something that is no regular file: a device, a pipe, a socket, a submodule"),
    "mode": Rule(Level.REJECT, "a file mode other than 100644, or 100755 for a file that has it"),
    "unreadable": Rule(
        Level.REJECT, "a change that cannot be read whole: too big, too deep, too many, a forbidden name"
    ),
    "scope": Rule(Level.REJECT, "a path outside the unit and the sweep's `scope`"),
    "deleted": Rule(Level.REJECT, "a file is deleted"),
    "emptied": Rule(Level.REJECT, "a file is left without content"),
    "binary": Rule(Level.REJECT, "a file that is not text"),
    "encoding": Rule(Level.REJECT, "the encoding or the byte-order mark of a file changes"),
    "line_endings": Rule(Level.REJECT, "line endings of untouched lines change, or become mixed"),
    "conflict_marker": Rule(Level.REJECT, "a conflict marker is left"),
    "shrunk": Rule(Level.REVIEW, "more than half of a file's lines are gone"),
}


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule. `lines` are 1-based lines of the changed file; `detail` never holds its content."""

    rule: str
    path: str
    lines: tuple[int, ...] = ()
    detail: str = ""

    @property
    def severity(self) -> Level:
        return RULES[self.rule].severity

    def __str__(self) -> str:
        shown = ",".join(map(str, self.lines[:MAX_LINES])) + (",..." if len(self.lines) > MAX_LINES else "")
        place = self.path + (f":{shown}" if shown else "")
        return f"{self.rule}: {place}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """All broken rules, the weightiest first; without `rejections` the change may be verified."""

    rejections: tuple[Violation, ...] = field(default=())
    reviews: tuple[Violation, ...] = field(default=())


def verdict(violations: Iterable[Violation]) -> Verdict:
    """Sorted by weight, then path; of one rule at most MAX_VIOLATIONS and how many more there are."""
    weight = {rule: index for index, rule in enumerate(RULES)}
    by_rule: dict[str, list[Violation]] = {}
    for violation in sorted(violations, key=lambda v: (weight[v.rule], v.path, v.lines)):
        by_rule.setdefault(violation.rule, []).append(violation)
    shown: list[Violation] = []
    for rule, found in by_rule.items():
        shown += found[:MAX_VIOLATIONS]
        if len(found) > MAX_VIOLATIONS:
            shown.append(Violation(rule, "...", detail=f"{len(found) - MAX_VIOLATIONS} more"))
    return Verdict(
        tuple(v for v in shown if v.severity is Level.REJECT), tuple(v for v in shown if v.severity is Level.REVIEW)
    )
