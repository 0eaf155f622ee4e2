"""What nobody uses and stays nevertheless, and what is new and does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sweeper.policy.hollow import nothing
from sweeper.policy.rules import Violation

if TYPE_CHECKING:
    from sweeper.policy.outline import Definition, Outline
    from sweeper.policy.structure import Matched
    from sweeper.policy.version import Pair

_UNUSED = re.compile(
    r"unused|never (?:used|read|called|constructed)|not (?:used|called)|dead_code|U1000", re.IGNORECASE
)


def kept_up(
    pair: Pair, before: Outline, after: Outline, matched: Matched, heirs: Mapping[int, Definition | None]
) -> Iterator[Violation]:
    """What findings call unused and is not gone: public now, under a name that says so, or with a new use.

    `heirs`: what a definition that is gone is called now, by its id.
    """
    if not pair.explained.removing:
        return
    shown = [new.head for old, new in matched.kept if not old.public and new.public and not new.local]
    shown += [heir.head for one in matched.gone if not one.public and (heir := heirs.get(id(one))) and heir.public]
    if shown:
        yield Violation("api_changed", pair.path, tuple(shown), "what nobody uses is public now")
    found = _used_at_last(pair, before, after, matched, heirs)
    if found:
        what = "what nobody uses stays, with a new use or name"
        yield Violation("dummy_use", pair.path, tuple(dict.fromkeys(found)), what)


def _used_at_last(
    pair: Pair, before: Outline, after: Outline, matched: Matched, heirs: Mapping[int, Definition | None]
) -> list[int]:
    said = " ".join(one.message for one in pair.explained.removing if _UNUSED.search(f"{one.rule} {one.message}"))
    named = frozenset(re.findall(r"\w+", said))
    members = frozenset(re.findall(r"\b(?:variants?|fields?) [`'\"‘]?(\w+)", said))
    kept = {old.short for old, _ in matched.kept if not old.local and old.kind != "scope" and old.short in named}
    found = [
        heir.head
        for one in matched.gone
        if (heir := heirs.get(id(one))) and one.short in named and heir.short.strip("_") == one.short.strip("_")
    ]
    for name in sorted(kept | members):
        word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        had = len(word.findall(before.code))
        places = [after.code.count("\n", 0, one.start()) + 1 for one in word.finditer(after.code)] if had else []
        if len(places) > had:
            found += [line for line in places if line in pair.changed_lines][:1]
    return found


def idle(pair: Pair, before: Outline, after: Outline, matched: Matched) -> Iterator[Violation]:
    """New functions that do nothing and are called nevertheless: a result goes there, a constant comes from there."""
    if pair.after.test_file:
        return
    lines = [
        new.head
        for new in matched.new
        if new.kind == "function" and new.has_body and not new.test and all(map(nothing, new.statements))
        and after.calls[new.short] > before.calls[new.short]
    ]  # fmt: skip
    if lines:
        yield Violation("dummy_use", pair.path, tuple(lines), "a new function that does nothing is called")
