"""What became more frequent in the code of a file, or rarer: words of `lexicon` and marks of the syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from sweeper.policy import detours, lexicon
from sweeper.policy.hollow import squeezed
from sweeper.policy.marks import ANSWERED, BROAD, CAST, CAST_ANY, NAMED_CAST, SILENT, SILENT_BROAD, Mark
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair, Version

ONLY_IN_TESTS = frozenset({"test_changed"})
NOT_IN_TESTS = frozenset({"dynamic_code"})

# What one of these became is no news if it was as bad before.
_LADDERS = ((SILENT, BROAD, ANSWERED, SILENT_BROAD), (NAMED_CAST, CAST, CAST_ANY))
WORSE = {said: frozenset(ladder[place:]) for ladder in _LADDERS for place, said in enumerate(ladder)}


# Of these another spelling is news: who is told not to `eval` is not to do it by another name.
EACH_SPELLING = frozenset({"dynamic_code", "debug_output", "new_reach"})

SWALLOWS = frozenset({SILENT, ANSWERED, SILENT_BROAD})
EMPTY = re.compile(r"empty|swallow|silent|\bS11[02]\b", re.IGNORECASE)

# Where a finding asks that a secret be not in the source, it is from the environment that it is read.
_HARD_CODED = re.compile(r"\bS10[5-7]\b|\bB10[5-7]\b|hard-?coded|gitleaks|detect-secrets|api.?key", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"environ|getenv|\bprocess\.env|\bENV\b|\benv::var", re.IGNORECASE)

AROUND = 3  # unchanged lines that are read with the changed ones, for what spans several


def lexical_rules(pair: Pair) -> Iterator[Violation]:
    """A violation for each kind of word or mark of which there is more (or less) than before."""
    before, after = Excerpt.of(pair, old=True), Excerpt.of(pair, old=False)
    new = after.marks()
    # Only what the new version says can have become more frequent: most changes say nothing of the kind.
    old = before.marks(frozenset().union(*(WORSE.get(one, {one}) for one in {mark[:2] for mark in new})))
    found: dict[tuple[str, str], list[int]] = {}
    for said, spelling in dict.fromkeys((mark[:2], mark.spelling) for mark in new):
        rule, _ = said
        if (rule in ONLY_IN_TESTS and not pair.after.test_file) or (rule in NOT_IN_TESTS and pair.after.test_file):
            continue
        if rule == "new_reach" and _ENVIRONMENT.search(spelling) and pair.explained.findings_say(_HARD_CODED):
            continue
        worse = WORSE.get(said, frozenset({said}))
        had = [mark.line for mark in old if mark[:2] in worse and mark.spelling == spelling]
        has = [mark.line for mark in new if mark[:2] in worse and mark.spelling == spelling]
        if len(has) > len(had):
            found.setdefault(said, []).extend(_fresh(pair, had, has))
        elif said in SWALLOWS:
            found.setdefault(said, []).extend(_as_empty(pair, has))
    found = {said: lines for said, lines in found.items() if lines}
    for (rule, what), lines in found.items():
        yield Violation(rule, pair.path, tuple(dict.fromkeys(lines)), f"new: {what}")
    if not pair.after.test_file:
        yield from _gone(pair, before, after)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The changed lines of one version with some around them: elsewhere nothing came or went.

    `code`: without comments and contents of strings, `literal`: with those of one line; both are equally long.
    `numbers`: the line of the version that each of its lines is.
    """

    version: Version
    code: str
    literal: str
    numbers: tuple[int, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, pair: Pair, *, old: bool) -> Excerpt:
        version = pair.before if old else pair.after
        lines = version.code.split("\n")
        wanted: dict[int, None] = {}
        for hunk in pair.hunks:
            first, end = (hunk.before, hunk.before_end) if old else (hunk.after, hunk.after_end)
            wanted.update(dict.fromkeys(range(max(1, first - AROUND), min(len(lines) + 1, end + AROUND))))
        numbers = tuple(wanted)
        kept = [lines[number - 1] for number in numbers]
        texts = version.without_comments.split("\n")
        literal = "\n".join(texts[number - 1] for number in numbers)
        starts = tuple(accumulate((len(line) + 1 for line in kept), initial=0))
        return cls(version, "\n".join(kept), literal, numbers, starts)

    def find(self, pattern: re.Pattern[str], *, literal: bool = False) -> list[tuple[int, str]]:
        """The lines where the pattern matches, and what does, without blanks and arguments."""
        text = self.literal if literal else self.code
        places = ((m.start() + len(m[0]) - len(m[0].lstrip()), m[0]) for m in pattern.finditer(text))
        return [
            (self.numbers[bisect_right(self.starts, place) - 1], _spelt(found))
            for place, found in places
            if place < len(text)
        ]

    def marks(self, wanted: frozenset[tuple[str, str]] | None = None) -> list[Mark]:
        """The words of the excerpt, those in `wanted` or all, and all marks of the version's tree."""
        found = list(self.version.outline.marks) if self.version.outline is not None else []
        for (rule, what), pattern, where in patterns(self.version.language):
            if where != GONE_FROM_CODE and (wanted is None or (rule, what) in wanted):
                each = rule in EACH_SPELLING
                hits = self.find(pattern, literal=where == IN_TEXT)
                found += [Mark(rule, what, line, spelling if each else "") for line, spelling in hits]
        return found


IN_CODE, IN_TEXT, GONE_FROM_CODE = range(3)


@cache
def patterns(language: str) -> tuple[tuple[tuple[str, str], re.Pattern[str], int], ...]:
    """((rule, what), pattern, where it is looked for) of a language; one GONE_FROM_CODE must not become rarer."""
    rows = [
        (said, pattern, where)
        for table, where in (
            (lexicon.IN_CODE, IN_CODE), (detours.IN_CODE, IN_CODE), (detours.IN_TEXT, IN_TEXT),
            (lexicon.GONE, GONE_FROM_CODE), (detours.GONE, GONE_FROM_CODE),
        )
        for names, said, pattern in table
        if language in names.split()
    ]  # fmt: skip
    return tuple((said, re.compile(pattern, re.MULTILINE), where) for said, pattern, where in rows)


def _spelt(found: str) -> str:
    """Without blanks, arguments and the kind of its quotes."""
    return re.sub(r"[`\"]", "'", "".join(squeezed(found).partition("(")[:2]))


def _fresh(pair: Pair, before: list[int], after: list[int]) -> tuple[int, ...]:
    """Those of the lines `after` that don't stand so in `before`."""
    was = {line: squeezed(pair.before.lines[line - 1]) for line in set(before)}
    now = {line: squeezed(pair.after.lines[line - 1]) for line in set(after)}
    known = Counter(was[line] for line in before)
    fresh = []
    for line in after:
        text = now[line]
        if known[text]:
            known[text] -= 1
        else:
            fresh.append(line)
    return tuple(dict.fromkeys(fresh))


def _as_empty(pair: Pair, lines: list[int]) -> list[int]:
    """Those of the handlers in changed lines that findings called empty, and that still swallow what they catch."""
    asked = [one.line for one in pair.explained.findings if EMPTY.search(f"{one.rule} {one.message}")]
    return [
        line
        for line in lines
        for hunk in pair.hunks
        if hunk.after - 1 <= line <= hunk.after_end
        and any(hunk.before - 2 <= place <= hunk.before_end + 1 for place in asked)
    ]


def _gone(pair: Pair, before: Excerpt, after: Excerpt) -> Iterator[Violation]:
    left = {number for hunk in pair.hunks for number in range(hunk.before, hunk.before_end)}
    for (rule, what), pattern, where in patterns(pair.after.language):
        if where != GONE_FROM_CODE:
            continue
        lines = [line for line, _ in before.find(pattern)]
        if lines and len(after.find(pattern)) < len(lines):
            touched = [line for line in lines if line in left]
            if not touched or not all(pair.explained.removal(line - 1, line + 1) for line in touched):
                yield Violation(rule, pair.path, detail=what)
