"""Code that no longer runs: moved into comments or strings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sweeper.policy.hollow import squeezed
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair, Version

SHORTEST = 8  # characters without blanks: what is shorter proves nothing
MANY = 3  # lines
_PROSE = re.compile(r"[\w,.;:'\"-]+(?:\s+[\w,.;:'\"-]+)*[.:]?$")
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)


def moved_rules(pair: Pair) -> Iterator[Violation]:
    """Lines that were code before and stand in a comment or a string now."""
    went = {line for line in pair.went if len(line) >= SHORTEST and pair.after.tokens[line] == 0}
    found: dict[str, set[int]] = {"comment": set(), "string": set()}
    moved: set[str] = set()
    if went:
        for kind, spans, known in (
            ("comment", pair.after.comments, _texts(pair.before, pair.before.comments)),
            ("string", pair.after.strings, _texts(pair.before, pair.before.strings)),
        ):
            for start, end in spans:
                if squeezed(pair.after.text[start:end]) in known:
                    continue
                for line, text in _inner(pair.after, start, end):
                    for hit in _hits(text, went, kind):
                        moved.add(hit)
                        found[kind].add(line)
    lines = sorted(found["comment"] | found["string"])
    if lines:
        flagged = pair.explained.at([n for n, text in enumerate(pair.before.lines, 1) if squeezed(text) in moved])
        rule = "code_moved" if flagged or len(moved) >= MANY else "code_commented"
        where = " and ".join(f"a {kind}" for kind in found if found[kind])
        yield Violation(rule, pair.path, tuple(lines), f"what was code is in {where} now")
    if pair.after.language == "markdown":
        yield from _fenced(pair)


def _texts(version: Version, spans: list[tuple[int, int]]) -> set[str]:
    return {squeezed(version.text[start:end]) for start, end in spans}


def _inner(version: Version, start: int, end: int) -> Iterator[tuple[int, str]]:
    first = version.line_at(start)
    for number, line in enumerate(version.text[start:end].split("\n")):
        yield first + number, line


def _hits(text: str, went: set[str], kind: str) -> list[str]:
    """The lost lines that a line of a comment or a string holds."""
    bare = squeezed(text)
    stripped = bare.lstrip("/*#-!;<>%").rstrip("*/>-")
    if stripped in went or bare in went:
        return [stripped if stripped in went else bare]
    if len(bare) < SHORTEST or (kind == "comment" and len(bare) < 12):
        return []
    plain = bare.replace("\\n", "").replace('\\"', '"').replace("\\'", "'")
    return [line for line in went if len(line) >= 12 and line in plain and not _PROSE.match(line)]


def _fenced(pair: Pair) -> Iterator[Violation]:
    """Prose of a Markdown file that stands in a block of code now."""
    old, new = _outside(pair.before.text), _outside(pair.after.text)
    hidden = [line for line in old if line not in new and len(line) >= SHORTEST and line in _inside(pair.after.text)]
    if hidden:
        lines = [n for n, text in enumerate(pair.after.lines, 1) if squeezed(text) in set(hidden)]
        yield Violation("code_moved", pair.path, tuple(lines), "text is in a block of code now")


def _parts(text: str) -> list[str]:
    return _FENCE.split(text)


def _outside(text: str) -> set[str]:
    return {squeezed(line) for part in _parts(text)[::2] for line in part.split("\n")}


def _inside(text: str) -> set[str]:
    return {squeezed(line) for part in _parts(text)[1::2] for line in part.split("\n")[1:]}
