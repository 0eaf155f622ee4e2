"""Whose fault is a failed test: how often it failed with the changes, held against how often without them. Pure.

The ground decides what is flaky: a test that fails there now and then is blamed on nobody, as long as the changes
do not make it fail much more often. A test that is steady there and fails with the changes, be it only now and then,
is the changes' fault.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

BY_CHANCE = 0.05
BY_LUCK = 0.02
LOOKS = 4  # runs with the changes that decide on a test that failed in one of them only
MOST_LOOKS = 6
MOST_GROUND_LOOKS = 12


class Fault(enum.StrEnum):
    CHANGES = "the changes'"
    NOBODY = "nobody's"
    UNTOLD = "not told yet"


@dataclass(frozen=True, slots=True)
class Tally:
    """How often one test failed in how many runs on one tree."""

    red: int
    runs: int

    @property
    def both_ways(self) -> bool:
        return 0 < self.red < self.runs

    @property
    def patience(self) -> int:
        """The green runs after which it is believed to pass, once it was seen to fail this often."""
        return 1 if self.red == self.runs else math.ceil(math.log(BY_LUCK) / math.log(1 - self.red / self.runs))


def chance(tree: Tally, ground: Tally) -> float:
    """How likely it is that so many of the failures, or more, fall on the tree where both trees are alike.

    Fisher's exact test, one-sided.
    """
    red, runs = tree.red + ground.red, tree.runs + ground.runs
    ways = sum(
        math.comb(tree.runs, on_tree) * math.comb(ground.runs, red - on_tree)
        for on_tree in range(tree.red, min(red, tree.runs) + 1)
    )
    return ways / math.comb(runs, red)


def fault(tree: Tally, ground: Tally) -> Fault:
    """Whose fault it is that a test failed on the tree, at least once."""
    if tree.red > 1 and chance(tree, ground) <= BY_CHANCE:
        return Fault.CHANGES
    if tree.both_ways and (ground.red or (tree.red == 1 and tree.runs >= LOOKS)):
        return Fault.NOBODY
    if tree.runs >= MOST_LOOKS or (asks_the_ground(tree) and ground.runs >= MOST_GROUND_LOOKS):
        return Fault.NOBODY
    return Fault.UNTOLD


def asks_the_ground(tree: Tally) -> bool:
    """Is it clear what the changes do to the test, so that only more runs without them can tell?"""
    return tree.both_ways and tree.red > 1
