"""Suppressions in source code: what a change adds or widens.

Spellings count in comments only (or as code, for languages that suppress by attribute or pragma). What is
removed, unchanged, narrowed or moved together with its line is fine; another spelling is a new suppression.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from sweeper.policy.comments import Source, decode, read, suffix_of
from sweeper.policy.lines import gaps
from sweeper.policy.spellings import CODE_ALONE, CODE_BY_SUFFIX, COMMENTS, CONTINUED, ENDINGS, ONLY, WORDS

# More unmatched ones than this are not compared with each other: each counts as new.
MOST_COMPARED = 1000
EVERYTHING = frozenset({"all", "*"})


@dataclass(frozen=True, slots=True)
class Suppression:
    """`codes`: what it suppresses, empty for everything. `anchor`: the code it stands on, or before if `alone`;
    `words`: those of that code, sorted, by which a line is known again whose names a formatter put in order.

    `spelling`: its words without codes and blanks. `alone`: it has lines of its own, so that it may reach further
    than one. `ends`: it ends a region instead.
    """

    tool: str
    spelling: str
    codes: frozenset[str]
    alone: bool
    ends: bool
    line: int
    anchor: str
    words: tuple[str, ...]

    def within(self, other: Suppression) -> bool:
        """Whether it suppresses no more than `other`."""
        same = (self.tool, self.spelling, self.ends) == (other.tool, other.spelling, other.ends)
        narrower = not other.codes or (bool(self.codes) and self.codes <= other.codes)
        return same and self.alone <= other.alone and narrower

    def like(self, other: Suppression) -> bool:
        """Whether both stand on the same names, in whatever order."""
        return bool(self.words) and self.words == other.words


def added(
    path: str, before: bytes, after: bytes, sources: tuple[Source | None, Source | None] = (None, None)
) -> Iterator[tuple[int, str]]:
    """(line, what) for each suppression that `after` has or widens beyond `before`; line 0 where a line is gone.

    `sources`: both as their grammar reads them, where it does; without both the lexers of `comments` read them.
    """
    old_text, new_text = decode(before), decode(after)
    old_source, new_source = sources if all(sources) else (None, None)
    old, new = find(path, old_text, old_source), find(path, new_text, new_source)
    starts = {one.tool for one in new if not one.ends}
    old, new = _without_common(old, new)
    if not old and not new:
        return
    where_old, where_new = gaps(old_text.split("\n"), new_text.split("\n"))
    if len(old) > MOST_COMPARED or len(new) > MOST_COMPARED:
        old = [one for one in old if one.ends][:MOST_COMPARED]
    for one in new:
        gap = where_new(one.line)
        near = [each for each in old if where_old(each.line) == gap or one.anchor == each.anchor or one.like(each)]
        fitting = next((other for other in near if one.within(other)), None)
        if fitting is not None:
            old.remove(fitting)
        elif not one.ends:
            widened = any(other.tool == one.tool and not other.ends for other in near)
            yield one.line, f"{'widened' if widened else 'new'} suppression ({one.tool})"
    # An ending that is gone, or stands elsewhere, leaves its region open, unless the start is gone as well.
    for lost in [other for other in old if other.ends]:
        start = next((other for other in old if not other.ends and other.tool == lost.tool), None)
        if start is not None:
            old.remove(start)
        elif lost.tool in starts:
            yield 0, f"widened suppression ({lost.tool}): the end of its region is gone or moved"


def find(path: str, text: str, source: Source | None = None) -> list[Suppression]:
    """All suppressions of a text (see `comments.decode`), in order of their lines."""
    lower = text.lower()
    words = [word for word in WORDS if word in lower]
    if not words:
        return []  # no spelling can be in it
    source = source or read(path, text)
    place = _Places(source)
    found = []
    for start, end in source.comments:
        comment = text[start:end]
        lower = comment.lower()
        if not any(word in lower for word in words):
            continue  # nor in this one: true for nearly every comment
        for tool, ends, match in _spelt(suffix_of(path), comment):
            found.append(place.suppression(tool, ends, match, start))
    code = CODE_BY_SUFFIX.get(suffix := suffix_of(path))
    if code is not None:
        joined, moved = _joined(source.code if suffix in CODE_ALONE else text, suffix in CONTINUED)
        for match in re.finditer(code, joined):
            offset = moved(match.start())
            if source.code[match.start() + offset] == match[0][0]:
                found.append(place.suppression("code", False, match, offset))
    return sorted(found, key=lambda one: one.line)


def _joined(text: str, continued: bool) -> tuple[str, Callable[[int], int]]:
    """The text with its continued lines joined, and how far what stands at a position of it was moved."""
    ends = [(m.start(), len(m[0])) for m in re.finditer(r"\\[ \t]*\n", text)] if continued else []
    starts, lost = [], [0]
    for at, length in ends:
        starts.append(at - lost[-1])
        lost.append(lost[-1] + length)
    joined = re.sub(r"\\[ \t]*\n", "", text) if ends else text
    return joined, lambda position: lost[bisect_right(starts, position)]


@lru_cache(maxsize=256)
def _spelt(suffix: str, comment: str) -> tuple[tuple[str, bool, re.Match[str]], ...]:
    """The spellings in a comment; most stand in both versions of a file."""
    return tuple((tool, ends, m) for tool, ends, pattern in _patterns(suffix) for m in pattern.finditer(comment))


@cache
def _patterns(suffix: str) -> tuple[tuple[str, bool, re.Pattern[str]], ...]:
    starts = [(tool, False, text) for tool, text in COMMENTS.items() if tool not in ONLY or suffix in ONLY[tool]]
    ends = [(tool, True, text) for tool, text in ENDINGS.items()]
    return tuple((tool, end, re.compile(text, re.IGNORECASE)) for tool, end, text in (*starts, *ends))


class _Places:
    """Lines and anchors of matches in one source."""

    def __init__(self, source: Source) -> None:
        self._code = source.code.split("\n")
        self._raw = source.text.split("\n")
        self._starts = [0]
        for line in self._raw:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._with_code = [number for number, line in enumerate(self._code) if line.strip()]
        self._anchors: dict[int, tuple[bool, str, tuple[str, ...]]] = {}

    def suppression(self, tool: str, ends: bool, match: re.Match[str], offset: int) -> Suppression:
        line = bisect_right(self._starts, offset + match.start()) - 1
        groups = match.groupdict()
        written = groups.get("codes") or groups.get("codes2") or ""
        codes = frozenset(re.split(r"[,\s()\"]+", written.casefold())) - {""}
        spelling = re.sub(r"[\s\[\](){}:=,]+", "", match[0].replace(written, "", 1) if written else match[0])
        alone, anchor, named = self._anchor(line)
        kept = frozenset() if codes & EVERYTHING else codes
        return Suppression(tool, spelling.casefold(), kept, alone, ends, line + 1, anchor, named)

    def _anchor(self, line: int) -> tuple[bool, str, tuple[str, ...]]:
        """Whether a line has no code of its own, the code it stands on or before, without blanks, and its words."""
        if line not in self._anchors:
            code = self._code[line]
            if alone := not code.strip():
                following = bisect_left(self._with_code, line)
                code = self._raw[self._with_code[following]] if following < len(self._with_code) else ""
            self._anchors[line] = (alone, "".join(code.split()), tuple(sorted(re.findall(r"\w+", code))))
        return self._anchors[line]


def _without_common(
    old: Sequence[Suppression], new: Sequence[Suppression]
) -> tuple[list[Suppression], list[Suppression]]:
    """Both without what stands unchanged on the same code, wherever that is now."""

    def key(one: Suppression) -> tuple[object, ...]:
        return one.tool, one.spelling, one.codes, one.alone, one.ends, one.anchor

    shared = Counter(map(key, old)) & Counter(map(key, new))
    return _less(old, key, shared), _less(new, key, shared)


def _less(
    items: Sequence[Suppression], key: Callable[[Suppression], tuple[object, ...]], shared: Counter[tuple[object, ...]]
) -> list[Suppression]:
    left, rest = Counter(shared), []
    for one in items:
        if left[key(one)]:
            left[key(one)] -= 1
        else:
            rest.append(one)
    return rest
