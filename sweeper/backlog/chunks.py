"""A group of findings, cut into chunks that keep their content from round to round. Pure.

Chunks of one file are ranges of lines. They take turns, one a round, each on what the one before it left: so no two
ever write the same file at once, and nothing that was paid for fails to fit. What a chunk holds is decided once and
then followed by the findings' fingerprints, for lines move, and a chunk that waits for a human must still be that one
when the others are done.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import count, groupby
from operator import attrgetter

from sweeper.backlog.fingerprint import follow
from sweeper.records import Finding, Unit


def numbered(
    findings: Sequence[Finding], most: int, standing: Sequence[Unit], held: Container[str]
) -> list[tuple[int, list[Finding]]]:
    """(chunk, its findings) of one group. `findings` are sorted; chunk 0 is the whole group.

    `standing`: chunks of this group that are not settled. They keep their number and what is left of their findings;
    what is in none of them is cut anew. One that is larger than `most` allows is given up, unless it is `held`.
    """
    kept = [unit for unit in standing if unit.key in held or len(list(cut(unit.findings, most))) == 1]
    if not kept:
        chunks = list(cut(findings, most))
        return [(0, chunks[0])] if len(chunks) == 1 else list(enumerate(chunks, 1))
    followed, left = follow(((finding, unit.chunk) for unit in kept for finding in unit.findings), findings)
    taken = {unit.chunk for unit in kept}
    free = (number for number in count(1) if number not in taken)
    return [*sorted(followed.items()), *zip(free, cut(left, most), strict=False)]


def cut(findings: Iterable[Finding], most: int) -> Iterator[list[Finding]]:
    """Chunks of at most `most` findings: whole files in path order, and of a file that has more its lines in order.

    Findings on one line stay together, however many they are. `findings` are sorted.
    """
    files: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        files[finding.path].append(finding)
    chunk: list[Finding] = []
    for found in files.values():
        if len(found) > most:
            if chunk:
                yield chunk
                chunk = []
            yield from _joined(_places(found), most)
        elif len(chunk) + len(found) > most:
            yield chunk
            chunk = found
        else:
            chunk += found
    if chunk:
        yield chunk


def _places(findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """What cannot be cut: the findings of one line; one without a line stands alone."""
    for line, found in groupby(findings, key=attrgetter("line")):
        if line:
            yield list(found)
        else:
            yield from ([finding] for finding in found)


def _joined(places: Iterable[list[Finding]], most: int) -> Iterator[list[Finding]]:
    chunk: list[Finding] = []
    for place in places:
        if chunk and len(chunk) + len(place) > most:
            yield chunk
            chunk = []
        chunk += place
    if chunk:
        yield chunk
