"""Which lines of two versions stand in the same place. Linear but for one sort."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence


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
