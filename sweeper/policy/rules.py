"""The rules of the policy and what a broken one looks like."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

MAX_VIOLATIONS = 20  # of one rule; more are counted in one line
MAX_LINES = 10


class Level(enum.StrEnum):
    REJECT = "reject"
    REVIEW = "review"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Rule:
    """`severity`: reject the attempt, or list it for a reviewer. `allow`: whether a glob of `allow` lifts it.

    `firm`: whether its severity is the same everywhere; that of any other can be set (`sweep.NAME.policy.RULE`).
    """

    severity: Level
    what: str
    allow: bool = False
    firm: bool = False


REJECT, REVIEW = Level.REJECT, Level.REVIEW

# In order of weight: the first broken rule is the reason of a rejection.
RULES: dict[str, Rule] = {
    "secret": Rule(REJECT, "a known credential appears, plain or as base64, hexadecimal or URL encoding", firm=True),
    "denied_path": Rule(
        REJECT, "CI, git, agent-instruction, hook or sweeper configuration is changed", allow=True, firm=True
    ),
    "check_config": Rule(
        REJECT, "the configuration of a check is added, changed or deleted, at any depth", allow=True, firm=True
    ),
    "suppression": Rule(
        REJECT,
        "a finding is suppressed instead of fixed: a new or widened suppression, one over new code, a longer list of "
        "exceptions, a mark that the file is generated",
    ),
    "shadowed_module": Rule(
        REJECT,
        "a file that the check's interpreter loads by itself, or in place of a module of the same name",
        allow=True,
    ),
    "link": Rule(REJECT, "a symbolic link is made or changed", firm=True),
    "special": Rule(REJECT, "something that is no regular file: a device, a pipe, a socket, a submodule", firm=True),
    "mode": Rule(REJECT, "a file mode changes, or a new file is executable", firm=True),
    "unreadable": Rule(
        REJECT, "a change that cannot be read whole: too big, too deep, too many, a forbidden name", firm=True
    ),
    "scope": Rule(REJECT, "a path outside the unit and the sweep's `scope`", firm=True),
    "deleted": Rule(REJECT, "a file is deleted"),
    "emptied": Rule(REJECT, "a file is left without content"),
    "hidden_character": Rule(
        REJECT, "an invisible character, one that turns the direction of the text, a letter that looks like another"
    ),
    "binary": Rule(REJECT, "a file that is not text"),
    "encoding": Rule(REJECT, "the encoding or the byte-order mark of a file changes"),
    "line_endings": Rule(REJECT, "line endings of untouched lines change, or become mixed"),
    "conflict_marker": Rule(REJECT, "a conflict marker is left"),
    "credential": Rule(REJECT, "what looks like a credential by its form: a provider's key, a token, a private key"),
    "placeholder": Rule(REJECT, "a placeholder stands for content: `... rest of code unchanged`"),
    "removed_symbol": Rule(REJECT, "a public function, class or type is gone, and no finding says that it is dead"),
    "hollow_body": Rule(REJECT, "a body was replaced by nothing, by a constant or by an error, or is left at once"),
    "code_moved": Rule(REJECT, "code is in a comment or a string now, where it is not looked at and does not run"),
    "code_disabled": Rule(REJECT, "code stands under a condition that never holds, or after a return"),
    "test_removed": Rule(REJECT, "a test is gone"),
    "test_skipped": Rule(REJECT, "a test is skipped, expected to fail, or made the only one"),
    "test_weakened": Rule(REJECT, "an assertion that always holds"),
    "assertion_removed": Rule(REJECT, "a test asserts less often"),
    "swallowed_error": Rule(REJECT, "every error is caught and nothing is done about it"),
    "silencing_cast": Rule(REJECT, "a cast to anything, or through it: it only silences"),
    "forged_verdict": Rule(
        REVIEW, "a changed file that the check, a test or a build imports or runs, or code that ends them", allow=True
    ),
    "api_changed": Rule(
        REVIEW, "a public name is renamed, moved, no longer public or newly so without use, or a public value is gone"
    ),
    "body_reduced": Rule(REVIEW, "little is left of a body, or a part of it says that it is not made yet"),
    "unrelated_change": Rule(REVIEW, "code is changed that no finding is about"),
    "unsafe_setting": Rule(REVIEW, "a check of certificates, input or access is set to let everything through"),
    "new_reach": Rule(REVIEW, "code reaches further than before: network, processes, environment, deletions"),
    "code_removed": Rule(REVIEW, "statements are gone that no finding calls dead"),
    "code_commented": Rule(REVIEW, "a line of code is in a comment or a string now"),
    "meaning_changed": Rule(REVIEW, "a comparison, a number or a truth value is another, and nothing else"),
    "check_removed": Rule(REVIEW, "a guard, a check or an error that was raised is gone"),
    "test_changed": Rule(REVIEW, "an assertion compares something else or less exactly, cases are gone, a mock is new"),
    "error_ignored": Rule(
        REVIEW, "an error or a result is ignored, every error is caught, or a step of a workflow may fail"
    ),
    "wide_type": Rule(REVIEW, "a type that admits anything: Any, any, unknown, object, interface{}, void *"),
    "unchecked": Rule(REVIEW, "something is taken for granted: a cast, a non-null assertion, an unwrap, unsafe code"),
    "dummy_use": Rule(
        REVIEW, "a use that does nothing but be a use: `_ = x`, `del x`, `(void)x`; what nobody uses is used or renamed"
    ),
    "dynamic_code": Rule(REVIEW, "code or names are made at run time: eval, exec, reflection, a redefined keyword"),
    "possible_secret": Rule(REVIEW, "a literal beside a name that means a secret"),
    "finding_evaded": Rule(
        REVIEW, "what a finding is about is still there, spelt otherwise, or is answered with something empty"
    ),
    "debug_output": Rule(REVIEW, "debug output or a breakpoint"),
    "unfinished": Rule(REVIEW, "a new comment says that work is left"),
    "content_removed": Rule(REVIEW, "keys, headings, links or blocks of a document are gone"),
    "unparsed": Rule(REVIEW, "a text that its grammar does not understand, judged by its lines alone"),
    "shrunk": Rule(REVIEW, "more than half of a file's lines are gone"),
    "oversized": Rule(REVIEW, "the change is out of proportion to the findings"),
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


def verdict(violations: Iterable[Violation], severities: Mapping[str, Level] | None = None) -> Verdict:
    """Sorted by weight, then path; of one rule at most MAX_VIOLATIONS and how many more there are.

    `severities`: rule -> severity in place of its own; a firm rule keeps its own.
    """
    weight = {rule: index for index, rule in enumerate(RULES)}
    by_rule: dict[str, list[Violation]] = {}
    for violation in sorted(violations, key=lambda v: (weight[v.rule], v.path, v.lines)):
        by_rule.setdefault(violation.rule, []).append(violation)
    by_level: dict[Level, list[Violation]] = {level: [] for level in Level}
    for rule, found in by_rule.items():
        level = RULES[rule].severity if RULES[rule].firm else (severities or {}).get(rule, RULES[rule].severity)
        by_level[level] += found[:MAX_VIOLATIONS]
        if len(found) > MAX_VIOLATIONS:
            by_level[level].append(Violation(rule, "...", detail=f"{len(found) - MAX_VIOLATIONS} more"))
    return Verdict(tuple(by_level[Level.REJECT]), tuple(by_level[Level.REVIEW]))
