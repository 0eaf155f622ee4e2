"""Which lines of two versions stand in the same place. Linear but for one sort."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple


def gaps(before: Sequence[str], after: Sequence[str]) -> tuple[Callable[[int], int], Callable[[int], int]]:
    """Two functions, line number -> gap, for `before` and `after`; equal gaps mean the same place.

    Lines that are unique in both versions and keep their order are anchors; a gap is what lies between two of
    them, or an anchor itself.
    """
    once_before = {line: number for number, line in enumerate(before, 1) if line.strip()}
    once_after = {line: number for number, line in enumerate(after, 1) if line.strip()}
    seen_before, seen_after = Counter(before), Counter(after)
    pairs = [
        (number, once_after[line])
        for line, number in once_before.items()
        if seen_before[line] == 1 and seen_after[line] == 1
    ]
    anchors = _rising(sorted(pairs))
    return _finder([a for a, _ in anchors]), _finder([b for _, b in anchors])


def _finder(anchors: list[int]) -> Callable[[int], int]:
    def gap(line: int) -> int:
        index = bisect_left(anchors, line)
        return 2 * index + (index < len(anchors) and anchors[index] == line)

    return gap


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second numbers rise (patience sorting)."""
    tops: list[int] = []  # second number on top of each pile
    indices: list[int] = []  # index of the pair on top of each pile
    previous: list[int] = []
    for index, (_, second) in enumerate(pairs):
        pile = bisect_left(tops, second)
        if pile == len(tops):
            tops.append(second)
            indices.append(index)
        else:
            tops[pile], indices[pile] = second, index
        previous.append(indices[pile - 1] if pile else -1)
    chosen, index = [], indices[-1] if indices else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = previous[index]
    return chosen[::-1]


class Hunk(NamedTuple):
    """Lines `before`..`before_end` (1-based, the end not included) became lines `after`..`after_end`."""

    before: int
    before_end: int
    after: int
    after_end: int


def hunks(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """Where two versions differ, by lines without trailing blanks; in order. Linear but for one sort."""
    old, new = [line.rstrip() for line in before], [line.rstrip() for line in after]
    seen_old, seen_new = Counter(old), Counter(new)
    place = {line: number for number, line in enumerate(new)}
    pairs = [(n, place[line]) for n, line in enumerate(old) if line and seen_old[line] == 1 and seen_new[line] == 1]
    found: list[Hunk] = []
    a = b = 0
    for anchor_a, anchor_b in [*_rising(pairs), (len(old), len(new))]:
        if anchor_a < a or anchor_b < b:
            continue  # grown over from the last anchor
        end_a, end_b = anchor_a, anchor_b
        while a < end_a and b < end_b and old[a] == new[b]:
            a, b = a + 1, b + 1
        while end_a > a and end_b > b and old[end_a - 1] == new[end_b - 1]:
            end_a, end_b = end_a - 1, end_b - 1
        if end_a > a or end_b > b:
            found.append(Hunk(a + 1, end_a + 1, b + 1, end_b + 1))
        a, b = anchor_a + 1, anchor_b + 1
    return found
