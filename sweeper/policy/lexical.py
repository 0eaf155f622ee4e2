"""What became more frequent in the code of a file, or rarer: words of `lexicon` and marks of the syntax tree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

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


def lexical_rules(pair: Pair) -> Iterator[Violation]:
    """A violation for each kind of word or mark of which there is more (or less) than before."""
    old, new = marks(pair.before), marks(pair.after)
    for said in dict.fromkeys((mark.rule, mark.what) for mark in new):
        rule, what = said
        if (rule in ONLY_IN_TESTS and not pair.after.test_file) or (rule in NOT_IN_TESTS and pair.after.test_file):
            continue
        worse = WORSE.get(said, frozenset({said}))
        before = [mark.line for mark in old if mark[:2] in worse]
        after = [mark.line for mark in new if mark[:2] in worse]
        if len(after) > len(before):
            yield Violation(rule, pair.path, _fresh(pair, before, after), f"new: {what}")
    yield from _gone(pair)


def marks(version: Version) -> list[Mark]:
    """All words and marks of a version."""
    found = list(version.outline.marks) if version.outline is not None else []
    for (rule, what), pattern, gone in patterns(version.language):
        if not gone:
            found += [
                Mark(rule, what, version.line_at(_start(m[0], m.start()))) for m in pattern.finditer(version.code)
            ]
    return found


def _start(text: str, at: int) -> int:
    return at + len(text) - len(text.lstrip())


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


def _gone(pair: Pair) -> Iterator[Violation]:
    for (rule, what), pattern, gone in patterns(pair.after.language):
        if not gone or pair.after.test_file:
            continue
        lines: dict[str, list[int]] = defaultdict(list)
        for match in pattern.finditer(pair.before.code):
            lines[squeezed(match[0])].append(pair.before.line_at(_start(match[0], match.start())))
        before = sum(map(len, lines.values()))
        after = sum(1 for _ in pattern.finditer(pair.after.code))
        if after >= before:
            continue
        left = {number for hunk in pair.hunks for number in range(hunk.before, hunk.before_end)}
        touched = [line for found in lines.values() for line in found if line in left]
        if not all(pair.explained.removal(line - 1, line + 1) for line in touched):
            yield Violation(rule, pair.path, detail=what)
