"""Which units broke the gate: the search alone. How a set of units is merged and judged is the caller's."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import anyio

from sweeper.errors import CheckBroken

K = TypeVar("K")


class Colour(enum.StrEnum):
    GREEN = "green"
    RED = "red"
    BROKEN = "broken"


class Verdict(NamedTuple):
    """What the gate says of one set of units. `why` explains a broken gate: one that could not run."""

    colour: Colour
    why: str = ""


GREEN, RED = Verdict(Colour.GREEN), Verdict(Colour.RED)


def broken(why: str) -> Verdict:
    return Verdict(Colour.BROKEN, why)


class GateBroken(CheckBroken):
    """The gate could not run: never green, and no unit's fault."""


@dataclass(frozen=True, slots=True)
class Culprits(Generic[K]):
    """`kept` was seen green as a whole (or is empty, as the base). Each of `ejected` was seen to turn a green set
    red, all of it being kept. In the order given; `runs`: how often the gate ran."""

    ejected: list[K] = field(default_factory=list)
    kept: list[K] = field(default_factory=list)
    runs: int = 0


async def find_culprits(
    units: Sequence[K],
    good: Callable[[Sequence[K]], Awaitable[Verdict]],
    *,
    parallel: int = 1,
) -> Culprits[K]:
    """A largest green set of units whose whole is red on a green base, in few runs of the gate.

    One culprit at a time, as the end of the shortest red prefix: about log2(n) + 1 runs each, where `parallel`
    probes at once take log(n) to the base parallel + 1 rounds instead. Of units that are red only together the
    last is ejected. Raises GateBroken for a broken verdict.
    """
    search = _Search(good, parallel)
    kept: list[K] = []
    rest = list(units)
    ejected: list[K] = []
    while rest:
        # Red: kept + rest. Green: kept.
        green, red = 0, len(rest)
        while red - green > 1:
            cuts = search.cuts(green, red)
            colours = await search.probe([kept + rest[:cut] for cut in cuts])
            for cut, colour in zip(cuts, colours, strict=True):
                if colour is Colour.RED:
                    red = cut
                    break
                green = cut
        kept += rest[:green]
        rest = rest[green:]
        ejected.append(rest.pop(0))
        if rest and await search.probe([kept + rest]) == [Colour.GREEN]:
            kept, rest = kept + rest, []
    return Culprits(ejected, kept, search.runs)


class _Search(Generic[K]):
    def __init__(self, good: Callable[[Sequence[K]], Awaitable[Verdict]], parallel: int) -> None:
        self._good, self._parallel = good, max(1, parallel)
        self.runs = 0

    def cuts(self, green: int, red: int) -> list[int]:
        """Prefix lengths strictly between, evenly spread, as many as may run at once."""
        parts = min(self._parallel, red - green - 1) + 1
        return [green + (red - green) * part // parts for part in range(1, parts)]

    async def probe(self, sets: Sequence[Sequence[K]]) -> list[Colour]:
        """The colours of these sets, all at once."""
        verdicts: list[Verdict] = [GREEN] * len(sets)
        problems: list[Exception] = []
        self.runs += len(sets)
        async with anyio.create_task_group() as group:

            async def run(i: int) -> None:
                try:
                    verdicts[i] = await self._good(sets[i])
                except Exception as problem:  # the caller's own error, not a group of them
                    problems.append(problem)
                    group.cancel_scope.cancel()

            for i in range(len(sets)):
                group.start_soon(run, i)
        if problems:
            raise problems[0]
        for verdict in verdicts:
            if verdict.colour is Colour.BROKEN:
                raise GateBroken(f"the gate could not run: {verdict.why}", hint="run the check and the tests by hand")
        return [verdict.colour for verdict in verdicts]
