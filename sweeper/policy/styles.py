"""Style sheets: declarations that are gone from what they were about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sweeper.policy.hollow import squeezed
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair, Version

_END = re.compile(r"[{};]")
_DEEPEST, _MOST = 20, 500  # blocks around a declaration; declarations that are looked for elsewhere
_VENDOR = re.compile(r"-(?:webkit|moz|ms|o)-")
# Findings about a selector: its declarations are to be kept elsewhere.
_MERGED = re.compile(r"selector|descending|block-no-empty|import", re.IGNORECASE)


def style_rules(pair: Pair) -> Iterator[Violation]:
    """Declarations that a selector had and has no more, that no finding on them calls needless."""
    if pair.after.language != "css":
        return
    old, new = _declarations(pair.before), _declarations(pair.after)
    gone = {key: line for key, line in old.items() if key not in new and not _dead(pair, line)}
    came = [key for key in new if key not in old]
    for selector, name in came[:_MOST]:
        # Under another selector, as the short name of several, or in place of what a finding is about.
        moved = next((key for key in gone if key[1] == name), None)
        short = [key for key in gone if key[1].startswith(f"{name}-")]
        asked = [key for key, line in gone.items() if key[0] == selector and pair.explained.at([line])]
        for key in [moved] if moved is not None else short or asked[:1]:
            del gone[key]
    if gone:
        yield Violation("content_removed", pair.path, detail=f"{len(gone)} declarations are gone")


def _dead(pair: Pair, line: int) -> bool:
    return any(
        finding.line == line and not _MERGED.search(finding.rule) and pair.explained.removal(line, line)
        for finding in pair.explained.findings
    )


def _declarations(version: Version) -> dict[tuple[tuple[str, ...], str], int]:
    """(the selectors around it, its name without vendor) -> its line; each selector of a list for itself."""
    found: dict[tuple[tuple[str, ...], str], int] = {}
    around: list[str] = []
    start, whole = 0, version.without_comments
    for match in _END.finditer(whole):
        text, end = whole[start : match.start()], match[0]
        if end == "{":
            around.append(squeezed(text))
        else:
            name, colon, _ = text.partition(":")
            if colon or text.strip().startswith("@"):
                line = version.line_at(start + len(text) - len(text.lstrip()))
                for selector in _each(around[:_DEEPEST]):
                    found[selector, _VENDOR.sub("", squeezed(name if colon else text))] = line
            if end == "}" and around:
                around.pop()
        start = match.end()
    return found


def _each(around: list[str]) -> Iterator[tuple[str, ...]]:
    outer, last = tuple(around[:-1]), around[-1] if around else ""
    plain = "(" not in last and not last.startswith("@")
    for selector in last.split(",")[:50] if plain else (last,):
        yield (*outer, _VENDOR.sub("", selector))
