"""Which findings are the same before and after a change. Pure.

Lines move, so a line number identifies nothing: findings are compared as multisets by path, rule, normalised
message and the text of their source line.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeVar

from sweeper.records import Finding

T = TypeVar("T", bound=Hashable)

# Quoted text names things of the source and is kept.
_QUOTED_OR_NUMBER = re.compile(r"(`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*')|(?<![\w.])\d+(?:\.\d+)*(?![\w.]*\w)")
_ABSOLUTE = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}")


@dataclass(frozen=True, slots=True)
class Difference:
    """`gone` are findings of before; `remaining` and `new` are findings of after, `remaining` with their new lines."""

    gone: tuple[Finding, ...] = ()
    remaining: tuple[Finding, ...] = ()
    new: tuple[Finding, ...] = ()


def line_hashes(source: bytes) -> list[str]:
    """A hash of each line, in order; surrounding white space doesn't count, so that an indented block is the same."""
    lines = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return [hashlib.sha256(line.strip()).hexdigest()[:16] for line in lines]


@lru_cache(maxsize=8192)
def normalise(message: str) -> str:
    """The message without what changes when lines move: numbers outside quotes, folders of absolute paths."""
    message = _ABSOLUTE.sub(lambda match: re.split(r"[\\/]", match[0])[-1], message)
    return " ".join(_QUOTED_OR_NUMBER.sub(lambda match: match[1] or "#", message).split())


def fingerprint(finding: Finding, line_hash: str) -> str:
    """32 hex digits over rule, normalised message and the source line's hash."""
    digest = hashlib.sha256()
    for part in (finding.rule, normalise(finding.message), line_hash):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:32]


def stamp(findings: Iterable[Finding], hashes: Mapping[str, Sequence[str]]) -> tuple[Finding, ...]:
    """The findings with their fingerprints. `hashes`: path -> `line_hashes` of its content."""
    stamped = []
    for finding in findings:
        lines = hashes.get(finding.path, ())
        text = lines[finding.line - 1] if 0 < finding.line <= len(lines) else ""
        stamped.append(replace(finding, fingerprint=fingerprint(finding, text)))
    return tuple(stamped)


def compare(before: Sequence[Finding], after: Sequence[Finding]) -> Difference:
    """Pair the findings of before and after, each at most once.

    First equal fingerprints of one path: the same finding on the same text, wherever it moved (the n-th before
    is the n-th after). Then, within one path, rule and normalised message, what is left is paired in line
    order: the line's text was edited and the finding stayed. What is still left is gone or new. So a finding
    is *new* exactly when its path has more findings of its rule and normalised message than before.
    """
    gone, left, remaining = _pair(before, after, _same)
    gone, new, edited = _pair(gone, left, _alike)
    return Difference(tuple(sorted(gone)), tuple(sorted([*remaining, *edited])), tuple(sorted(new)))


def remaining_of(own: Sequence[Finding], others: Sequence[Finding], after: Sequence[Finding]) -> list[Finding]:
    """Which of `after` are findings of `own`, where `others` were there before as well and nobody was to fix them.

    On an unchanged text they stay what they were; where an equal text was on several lines, those that are left are
    the others' first. What is left on an edited text is put down to `own`.
    """
    _, after, _ = _pair(others, after, _same)
    missing, after, same = _pair(own, after, _same)
    return [*same, *_pair(missing, after, _alike)[2]]


def follow(known: Iterable[tuple[Finding, T]], now: Iterable[Finding]) -> tuple[dict[T, list[Finding]], list[Finding]]:
    """Findings of now by whose they were in `known`, paired as in `compare`; and those that were nobody's, sorted."""
    followed: dict[T, list[Finding]] = defaultdict(list)
    before, left = sorted(known, key=itemgetter(0)), sorted(now)
    for key in (_same, _alike):
        waiting: dict[Hashable, deque[tuple[Finding, T]]] = defaultdict(deque)
        for pair in before:
            waiting[key(pair[0])].append(pair)
        alone = []
        for finding in left:
            if places := waiting.get(key(finding)):
                followed[places.popleft()[1]].append(finding)
            else:
                alone.append(finding)
        left, before = alone, sorted(chain.from_iterable(waiting.values()), key=itemgetter(0))
    return dict(followed), left


def _same(finding: Finding) -> Hashable:
    """The same finding on the same text."""
    return finding.path, finding.fingerprint, finding.rule, normalise(finding.message)


def _alike(finding: Finding) -> Hashable:
    """Perhaps the same finding, on a text that was edited."""
    return finding.path, finding.rule, normalise(finding.message)


def _pair(
    before: Iterable[Finding], after: Iterable[Finding], key: Callable[[Finding], Hashable]
) -> tuple[list[Finding], list[Finding], list[Finding]]:
    """(before without a partner, after without a partner, after with a partner), paired in line order."""
    waiting: dict[Hashable, int] = defaultdict(int)
    groups: dict[Hashable, list[Finding]] = defaultdict(list)
    for finding in sorted(before):
        groups[key(finding)].append(finding)
    alone: list[Finding] = []
    paired: list[Finding] = []
    for finding in sorted(after):
        group = key(finding)
        if waiting[group] < len(groups.get(group, ())):
            waiting[group] += 1
            paired.append(finding)
        else:
            alone.append(finding)
    gone = [finding for group, found in groups.items() for finding in found[waiting[group] :]]
    return gone, alone, paired
