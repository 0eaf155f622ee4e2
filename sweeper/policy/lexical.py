"""What became more frequent in the code of a file, or rarer: words of `lexicon` and marks of the syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from sweeper.policy.hollow import squeezed
from sweeper.policy.lexicon import patterns
from sweeper.policy.marks import ANSWERED, BROAD, CAST, CAST_ANY, SILENT, SILENT_BROAD, Mark
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair, Version

ONLY_IN_TESTS = frozenset({"test_changed"})
NOT_IN_TESTS = frozenset({"dynamic_code"})

# What one of these became is no news if it was as bad before.
_LADDERS = ((SILENT, BROAD, ANSWERED, SILENT_BROAD), (CAST, CAST_ANY))
WORSE = {said: frozenset(ladder[place:]) for ladder in _LADDERS for place, said in enumerate(ladder)}


AROUND = 3  # unchanged lines that are read with the changed ones, for what spans several


def lexical_rules(pair: Pair) -> Iterator[Violation]:
    """A violation for each kind of word or mark of which there is more (or less) than before."""
    before, after = Excerpt.of(pair, old=True), Excerpt.of(pair, old=False)
    old, new = before.marks(), after.marks()
    for said in dict.fromkeys((mark.rule, mark.what) for mark in new):
        rule, what = said
        if (rule in ONLY_IN_TESTS and not pair.after.test_file) or (rule in NOT_IN_TESTS and pair.after.test_file):
            continue
        worse = WORSE.get(said, frozenset({said}))
        had = [mark.line for mark in old if mark[:2] in worse]
        has = [mark.line for mark in new if mark[:2] in worse]
        if len(has) > len(had):
            yield Violation(rule, pair.path, _fresh(pair, had, has), f"new: {what}")
    if not pair.after.test_file:
        yield from _gone(pair, before, after)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The changed lines of one version with some around them: elsewhere nothing came or went.

    `code`: without comments and contents of strings; `numbers`: the line of the version that each of its lines is.
    """

    version: Version
    code: str
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
        return cls(version, "\n".join(kept), numbers, tuple(accumulate((len(line) + 1 for line in kept), initial=0)))

    def find(self, pattern: re.Pattern[str]) -> list[int]:
        """The lines where the pattern matches."""
        places = (m.start() + len(m[0]) - len(m[0].lstrip()) for m in pattern.finditer(self.code))
        return [self.numbers[bisect_right(self.starts, place) - 1] for place in places if place < len(self.code)]

    def marks(self) -> list[Mark]:
        """The words of the excerpt, and all marks of the version's tree."""
        found = list(self.version.outline.marks) if self.version.outline is not None else []
        for (rule, what), pattern, gone in patterns(self.version.language):
            if not gone:
                found += [Mark(rule, what, line) for line in self.find(pattern)]
        return found


def _fresh(pair: Pair, before: list[int], after: list[int]) -> tuple[int, ...]:
    """Those of the lines `after` that don't stand so in `before`."""
    known = Counter(squeezed(pair.before.lines[line - 1]) for line in before)
    fresh = []
    for line in after:
        text = squeezed(pair.after.lines[line - 1])
        if known[text]:
            known[text] -= 1
        else:
            fresh.append(line)
    return tuple(dict.fromkeys(fresh))


def _gone(pair: Pair, before: Excerpt, after: Excerpt) -> Iterator[Violation]:
    left = {number for hunk in pair.hunks for number in range(hunk.before, hunk.before_end)}
    for (rule, what), pattern, gone in patterns(pair.after.language):
        if not gone:
            continue
        lines = before.find(pattern)
        if len(after.find(pattern)) < len(lines):
            touched = [line for line in lines if line in left]
            if not touched or not all(pair.explained.removal(line - 1, line + 1) for line in touched):
                yield Violation(rule, pair.path, detail=what)
