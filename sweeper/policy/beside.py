"""Changes beside the findings: code that none is about, names no longer passed on, checks and types that are fewer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sweeper.policy.lines import Hunk
from sweeper.policy.outline import Definition, Outline
from sweeper.policy.rules import Violation
from sweeper.policy.structure import FRAME, Matched, match
from sweeper.policy.version import Pair

ANNOTATED = re.compile(r"annotation|inferrable|quot|UP0\d\d|redundant|FA10\d", re.IGNORECASE)


def beside_rules(pair: Pair) -> Iterator[Violation]:
    yield from _exports(pair)
    before, after = pair.before.outline, pair.after.outline
    if before is None or after is None:
        return
    matched = match(before, after)
    yield from _unrelated(pair, before, after, matched)
    yield from _fewer(pair, before, after, matched)


def _fewer(pair: Pair, before: Outline, after: Outline, matched: Matched) -> Iterator[Violation]:
    """In what both versions have: types that are declared, conditions that leave early."""
    kept = [*matched.kept, (before.top, after.top)]
    new = matched.new
    if sum(b.annotations - a.annotations for a, b in kept) < 0 and not pair.explained.findings_say(ANNOTATED):
        yield Violation("wide_type", pair.path, detail="types are no longer declared")
    guards = sum(b.guards - a.guards for a, b in kept) + sum(one.guards for one in new)
    if guards < 0 and not pair.after.test_file:
        yield Violation("check_removed", pair.path, detail="a condition that left early is gone")


def _unrelated(pair: Pair, before: Outline, after: Outline, matched: Matched) -> Iterator[Violation]:
    """Code that is changed where no finding is, and for the sake of no name that one is about."""
    findings = pair.explained.findings
    if not findings or pair.explained.about_layout:
        return
    homes = [
        one
        for one in before.definitions
        if one.kind in ("function", "test", "value")
        and any(one.first <= finding.line <= one.last for finding in findings)
    ]
    names = {one.short.split("(")[0] for one in (*homes, *matched.new, *matched.gone)}
    names |= {word for finding in findings for word in re.findall(r"[`'\"‘]([\w.-]+)[`'\"’]", finding.message)}
    added = [(one.first, one.last) for one in matched.new]
    kept = {id(new): old for old, new in matched.kept}
    lines = [
        hunk.after
        for hunk in pair.hunks
        if not any(hunk.before - NEAR <= finding.line < hunk.before_end + NEAR for finding in findings)
        and not any(one.first <= hunk.before <= one.last for one in homes)
        and not _harmless(pair, after, hunk, names, added, kept)
    ]
    if lines:
        yield Violation("unrelated_change", pair.path, tuple(lines), "no finding is about it")


def _harmless(
    pair: Pair,
    after: Outline,
    hunk: Hunk,
    names: set[str],
    added: list[tuple[int, int]],
    kept: dict[int, Definition],
) -> bool:
    """Whether a hunk changes no code, or serves the fix: an import, a new definition, a use of a name of it."""
    went = [line for line in range(hunk.before, hunk.before_end) if _counts(pair.before.running[line - 1], pair.went)]
    came = [line for line in range(hunk.after, hunk.after_end) if _counts(pair.after.running[line - 1], pair.came)]
    came = [line for line in came if not any(first <= line <= last for first, last in added)]
    if not went and not came:
        return True
    if not went and not any(one.first <= hunk.after <= one.last and one.kind != "class" for one in after.definitions):
        return True  # something new at the top, which nobody used before
    texts = [pair.before.lines[line - 1] for line in went] + [pair.after.lines[line - 1] for line in came]
    return all(names.intersection(re.findall(r"\w+", text)) for text in texts)


def _counts(text: str, changed: Counter[str]) -> bool:
    return len(text) > 1 and changed[text] > 0 and not FRAME.match(text)


NEAR = 4  # lines
_ALL = re.compile(r"^__all__\b[^\[(\n]*[\[(]([^\])]*)[\])]", re.MULTILINE)
_REEXPORT = re.compile(r"^[ \t]*export\b[^\n;]*\bfrom\b[^\n]*|^(?:from|import)[ \t][^\n(]*(?:\([^)]*\))?", re.MULTILINE)
_PACKAGE = re.compile(r"(?:^|/)(?:__init__\.pyi?|index\.[cm]?[jt]sx?|mod\.rs|lib\.rs)\Z")


def _exports(pair: Pair) -> Iterator[Violation]:
    """Names that a module lists or passes on, and does so no more."""
    old, new = pair.before.text, pair.after.text
    lost = _listed(old) - _listed(new)
    if _PACKAGE.search(pair.path):
        passed = {word for line in _REEXPORT.findall(old) for word in re.findall(r"\w+", line)}
        lost |= {word for word in passed if not re.search(rf"\b{word}\b", new)}
    if lost:
        yield Violation("api_changed", pair.path, detail=f"{len(lost)} names are no longer listed or passed on")


def _listed(text: str) -> set[str]:
    return {name for listed in _ALL.findall(text) for name in re.findall(r"[\"'](\w+)[\"']", listed)}
