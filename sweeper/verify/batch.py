"""Which captured changes one whole check judges together, and what its answer proves. Pure.

What a clean batch proves. One check of the whole project ran on the pinned base plus the changes of all members, and
exactly the findings that the members were given are gone: none of them remains, nothing is new anywhere, no file
reads worse than before, and no finding went from a file that no member touched. Anything else is not clean, and then
nobody's verdict comes from it: whoever is in doubt is judged again, in smaller batches and in the end alone, where
the verdict is the one-by-one verdict. So "fixed" alone can come from a batch, never "partial" and never a failure.

Why that is no weaker than one by one. The claim of a clean batch is about its members together; it would be weaker
for a pair of which one change mends the other's finding as well, or hides what the other one breaks. Three things
stand against that:

- Units that may see each other are never put together (`independent`): same paths, a path below the other's, a file
  that names the other's file (imports, includes), packages whose files need not name each other.
- A change that reaches beyond its own files shows: a finding that comes or goes elsewhere makes the batch unclean.
- What is left (an effect through a third file that has no finding of its own) is a claim about the members together
  and is kept as one: the evidence says how many were judged together, and the barrier holds each of them to its claim
  on the tree that is really merged (`Gate.held_to`). All members merged is what the batch has shown. If one is
  missing, ejected by the gate or in conflict at the merge, the gate's own whole check on the rest is the new proof:
  a finding of a remaining member that came back with the missing one's absence turns the tree red, and bisection
  ejects that member, too. No unit that was judged together is ever merged on a tree that has its findings.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sweeper.backlog.fingerprint import Difference, remaining_of
from sweeper.records import Finding, Unit

MOST_BYTES = 20_000_000  # of changed content in one batch
READABLE_BYTES = 1_000_000  # a larger change is not searched for names: it is judged alone
_WORD = re.compile(r"\w+")
# Files that stand for their folder: what lies in it, at any depth, may mean them without a name.
HUBS = frozenset({"__init__", "index", "mod", "lib", "main"})
PACKAGES = (".go", ".tf")  # files of one folder are one package and see each other without a name
AMBIENT = ".d.ts"  # declares for the whole project


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one change touches and speaks of. `paths`: its unit's and the changed ones; `folders`: all above them.

    `names`: the words that another file's content would have if it meant one of the paths. `words`: those of its own
    content. `size`: bytes of that content.
    """

    paths: frozenset[str]
    folders: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    size: int


def footprint_of(unit: Unit, contents: Mapping[str, bytes | None]) -> Footprint:
    """`contents`: what the unit's and the changed paths hold now, None for a deleted one."""
    paths = frozenset((*unit.paths, *contents))
    folders = frozenset(folder for path in paths for folder in _above(path))
    words = {f"{folder}/" for folder in folders}
    names: set[str] = set()
    for path in paths:
        folder, name = posixpath.split(path)
        names.update(_names(folder, name))
        if name.endswith(PACKAGES):
            words.add(f"{folder}/*")
    for data in contents.values():
        words.update(_WORD.findall((data or b"").decode("utf-8", "replace")))
    return Footprint(
        paths, folders, frozenset(names), frozenset(words), sum(len(data or b"") for data in contents.values())
    )


def _above(path: str) -> Iterator[str]:
    while path:
        path = posixpath.dirname(path)
        yield path


def _names(folder: str, name: str) -> Iterator[str]:
    stem = name.lstrip(".").partition(".")[0]
    if stem in HUBS:
        yield f"{folder}/"
        stem = posixpath.basename(folder)
    if name.endswith(AMBIENT):
        yield "/"
    # whoever writes the whole name writes its longest word, too
    yield from sorted(_WORD.findall(stem), key=len)[-1:]
    if name.endswith(PACKAGES):
        yield f"{folder}/*"


def independent(one: Footprint, other: Footprint) -> bool:
    """Whether two changes can lie in one tree, and neither one's files speak of the other's."""
    return (
        one.paths.isdisjoint(other.paths)
        and one.paths.isdisjoint(other.folders)
        and other.paths.isdisjoint(one.folders)
        and one.names.isdisjoint(other.words)
        and other.names.isdisjoint(one.words)
    )


def choose(waiting: Sequence[Footprint], most: int, most_bytes: int = MOST_BYTES) -> tuple[int, ...]:
    """The places in `waiting` of one batch: the first, and in order whatever is independent of all chosen before."""
    chosen: list[int] = []
    size = 0
    for place, footprint in enumerate(waiting):
        if len(chosen) >= max(1, most):
            break
        if chosen and size + footprint.size > most_bytes:
            continue
        if all(independent(footprint, waiting[other]) for other in chosen):
            chosen.append(place)
            size += footprint.size
    return tuple(chosen)


@dataclass(frozen=True, slots=True)
class Member:
    """One unit of a batch. `touched`: its paths and those that it changed, nobody else's. `beside`: other findings that
    its paths had on the base."""

    unit: Unit
    touched: frozenset[str]
    beside: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a batch's check says. `suspects`: places of the members in whose own files something is left or wrong.

    `unclear`: something is wrong that belongs to nobody, or nothing was proven.
    """

    suspects: frozenset[int] = frozenset()
    unclear: bool = False

    @property
    def clean(self) -> bool:
        return not self.suspects and not self.unclear


NOTHING_PROVEN = Answer(unclear=True)


def attribute(
    members: Sequence[Member], difference: Difference, after: Sequence[Finding], unread: Collection[str]
) -> Answer:
    """Whose findings remain, and whose files are worse. `difference`: base to batch, over everything; `after`: all
    findings with the batch, stamped; `unread`: files that don't parse with it."""
    owner = {path: place for place, member in enumerate(members) for path in member.touched}
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in after:
        by_path[finding.path].append(finding)
    wrong: set[int | None] = {owner.get(path) for path in unread}
    wrong |= {owner.get(finding.path) for finding in difference.new}
    wrong |= {None for finding in difference.gone if finding.path not in owner}
    for place, member in enumerate(members):
        own = [finding for path in member.unit.paths for finding in by_path.get(path, ())]
        if remaining_of(member.unit.findings, member.beside, own):
            wrong.add(place)
    return Answer(frozenset(place for place in wrong if place is not None), None in wrong)


def split(count: int, answer: Answer) -> tuple[tuple[int, ...], ...]:
    """Who is judged next after an unclean batch of `count`: each suspect alone and the rest together, or halves.

    Each member is in exactly one part, and each part is smaller: `count` members come to fewer than 2 x `count` checks.
    """
    if answer.clean:
        return ()
    if answer.suspects:
        rest = tuple(place for place in range(count) if place not in answer.suspects)
        return (*((rest,) if rest else ()), *((place,) for place in sorted(answer.suspects)))
    half = (count + 1) // 2
    return tuple(part for part in (tuple(range(half)), tuple(range(half, count))) if part)


def next_size(size: int, most: int, answer: Answer) -> int:
    """How many to put together next: less after a batch that told nothing, again more after one that was clean."""
    if answer.clean:
        return min(most, size * 2)
    return size if answer.suspects else max(2, size // 2)
