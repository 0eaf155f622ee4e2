"""What became of a file's definitions: removed, renamed, hollowed out, turned off."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from sweeper.policy.hollow import hollow, nothing, stops
from sweeper.policy.outline import Definition, Outline
from sweeper.policy.rules import Violation
from sweeper.policy.unused import idle, kept_up
from sweeper.policy.version import Pair

ALIKE = 0.55  # of the words of two definitions: then the one is the other under a new name
MOST_COMPARED = 100  # new definitions that a lost one is compared with
UNMADE = re.compile(
    r"NotImplemented|unimplemented!|todo!|not.{0,3}implemented|UnsupportedOperation|unreachable!", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Matched:
    """The definitions of two versions: those that are in both, those that are gone, those that are new."""

    kept: tuple[tuple[Definition, Definition], ...]
    gone: tuple[Definition, ...]
    new: tuple[Definition, ...]


def match(before: Outline, after: Outline) -> Matched:
    """By dotted name, the n-th of a name with the n-th; equal text first."""
    equal: dict[tuple[str, str], deque[Definition]] = defaultdict(deque)
    for one in after.definitions:
        equal[one.name, text_of(after, one)].append(one)
    kept, gone, rest = [], [], []
    for one in before.definitions:
        same = equal[one.name, text_of(before, one)]
        if same:
            kept.append((one, same.popleft()))
        else:
            rest.append(one)
    free: dict[str, deque[Definition]] = defaultdict(deque)
    for (name, _), left in equal.items():
        free[name].extend(left)
    for one in rest:
        if free[one.name]:
            kept.append((one, free[one.name].popleft()))
        else:
            gone.append(one)
    return Matched(tuple(kept), tuple(gone), tuple(it for found in free.values() for it in found))


def text_of(outline: Outline, one: Definition) -> str:
    return outline.text[one.start : one.end]


def words_of(outline: Outline, one: Definition) -> Counter[str]:
    return Counter(re.findall(r"\w+", text_of(outline, one)))


def alike(old: Counter[str], new: Counter[str]) -> float:
    """0..1: how much two definitions have in common."""
    return 2 * sum((old & new).values()) / max(1, sum(old.values()) + sum(new.values()))


def structure_rules(pair: Pair) -> Iterator[Violation]:
    before, after = pair.before.outline, pair.after.outline
    if before is None or after is None:
        return
    matched = match(before, after)
    dead = {id(one) for one in matched.gone if _explained(pair, one)} if pair.explained.removing else set()
    yield from _removed(pair, before, after, matched, dead)
    yield from _hollowed(pair, before, after, matched)
    yield from idle(pair, before, after, matched)
    yield from _less_code(pair, before, after, matched, dead)


def _explained(pair: Pair, one: Definition) -> bool:
    """Whether a finding says of this definition itself that it is better gone."""
    return pair.explained.removal(one.first, one.head, one.short)


def _removed(pair: Pair, before: Outline, after: Outline, matched: Matched, dead: set[int]) -> Iterator[Violation]:
    names = {one.name for one in matched.gone}
    left = {one.name for one, _ in matched.kept}
    shorts = {one.short for one in matched.new}
    words = [(other, words_of(after, other)) for other in matched.new[:MOST_COMPARED]]
    bound = _bound(after) if matched.gone else frozenset()
    lines: dict[str, list[int]] = defaultdict(list)
    heirs: dict[int, Definition | None] = {}
    for one in matched.gone:
        if one.local or one.name.rpartition(".")[0] in names:
            continue
        heir = heirs[id(one)] = heir_of(one, words_of(before, one), words) if words else None
        if id(one) not in dead and one.name not in left:
            rule = _fate(one, heir, one.short in shorts, one.short.rstrip("=") in bound)
            if rule == "removed_symbol" and _INHERITED.search(text_of(before, one).partition("{")[0]):
                rule = "api_changed"  # what it took the place of is there again
            lines[rule].append(one.head)
    for rule, what in _FATES.items():
        if lines[rule]:
            yield Violation(rule, pair.path, _places(pair, lines[rule]), f"{len(lines[rule])} {what}")
    untested = tuple(new.head for old, new in matched.kept if old.test and not new.test)
    if untested:
        yield Violation("test_removed", pair.path, untested, "no longer a test")
    hidden = tuple(new.head for old, new in matched.kept if old.public and not new.public and not new.test)
    if hidden:
        yield Violation("api_changed", pair.path, hidden, "no longer public")
    alone = [one.head for one in matched.gone if id(one) in dead and not heirs.get(id(one)) and _only_one(one, matched)]
    if alone:
        what = "no other test has the same body as the one that is gone"
        yield Violation("test_changed", pair.path, _places(pair, alone), what)
    yield from kept_up(pair, before, after, matched, heirs)


_INHERITED = re.compile(r"@Override\b|\boverride\b")
_FATES = {
    "removed_symbol": "public definitions are gone",
    "test_removed": "tests are gone",
    "api_changed": "public names changed or are gone",
}


def _fate(one: Definition, heir: Definition | None, moved: bool, bound: bool) -> str:
    """The rule that the end of a definition breaks; "" for none."""
    if one.test and one.kind in ("function", "test"):
        return "" if heir is not None and heir.test else "test_removed"
    if heir is not None or bound:
        return "api_changed" if one.public and not moved else ""
    if not one.public:
        return ""  # whether its code is missed is `_less_code`'s to say
    return "api_changed" if one.kind == "value" else "removed_symbol"


def _places(pair: Pair, lines: Iterable[int]) -> tuple[int, ...]:
    """Where in the new version the lines of the old one were."""
    found, ends = [], [hunk.before_end for hunk in pair.hunks]
    for line in lines:
        following = bisect_right(ends, line)
        hunk = pair.hunks[following] if following < len(ends) and pair.hunks[following].before <= line else None
        found.append(max(1, min(hunk.after, len(pair.after.lines))) if hunk is not None else line)
    return tuple(dict.fromkeys(found))


def heir_of(one: Definition, words: Counter[str], new: list[tuple[Definition, Counter[str]]]) -> Definition | None:
    """The new definition that is this one under another name or in another place."""
    for other, others in new:
        if other.short == one.short and other.kind == one.kind:
            return other if not other.hollow or one.hollow else None
        if other.kind == one.kind and alike(words, others) >= ALIKE:
            return other
    return None


def _only_one(one: Definition, matched: Matched) -> bool:
    """Whether a test that is gone tested what none of those that stay does."""
    return one.test and one.has_body and all(one.statements != other.statements for _, other in matched.kept)


_BINDING = re.compile(
    r"\b(?:import|from|export|use|require|alias|alias_method|attr_\w+|def_delegators?|using|typedef|const|let|var|type|def"
    r"|class|function)\b[^\n;]*|^[ \t]*\w+[ \t]*(?::[^=\n]+)?=(?!=)",
    re.MULTILINE,
)


def _bound(after: Outline) -> frozenset[str]:
    """The names that still mean something: imported, assigned, exported or defined."""
    return frozenset(word for line in _BINDING.findall(after.code) for word in re.findall(r"(?<!\.)\b\w+", line))


def _hollowed(pair: Pair, before: Outline, after: Outline, matched: Matched) -> Iterator[Violation]:
    lines: list[int] = []
    weak: list[int] = []
    for old, new in matched.kept:
        if text_of(before, old) == text_of(after, new) or old.kind not in ("function", "test") or not old.has_body:
            continue
        if _thinned(pair, old, new) or (old.hollow and not new.has_body):
            continue
        if not new.has_body:
            lines.append(new.head)
        elif not old.hollow and not _early(old.statements) and new.hollow:
            simple = len(old.statements) == 1 and old.size <= 1 and "(" not in old.statements[0]
            constant = simple and not any(stops(one) for one in new.statements) and bool(new.statements)
            (weak if constant else lines).append(new.head)
        elif _early(new.statements) and not _early(old.statements):
            lines.append(new.head)
        elif (old.size >= 5 and new.size * 3 <= old.size and _length(after, new) * 3 <= _length(before, old)) or (
            UNMADE.search(text_of(after, new)) and not UNMADE.search(text_of(before, old))
        ):
            weak.append(new.head)
    for new in matched.new:
        if new.kind == "function" and new.has_body and new.public and new.hollow and UNMADE.search(text_of(after, new)):
            weak.append(new.head)
    if lines:
        yield Violation("hollow_body", pair.path, tuple(lines), "a body does nothing now")
    if weak:
        yield Violation("body_reduced", pair.path, tuple(weak), "little is left of a body, or a part of it is not made")


def _thinned(pair: Pair, old: Definition, new: Definition) -> bool:
    """Whether a body lost nothing but statements that findings call dead."""
    lost = Counter(old.statements) - Counter(new.statements)
    came = Counter(new.statements) - Counter(old.statements)
    dead = pair.explained.dead(old.first, old.last)
    return not came.keys() - {"pass", ";", "..."} and 0 < sum(lost.values()) <= dead


def _length(outline: Outline, one: Definition) -> int:
    return sum(words_of(outline, one).values())


def _early(statements: tuple[str, ...]) -> bool:
    """Whether a body ends before its work begins."""
    first = statements[0] if statements else ""
    leaves = first.startswith(("return", "raise", "throw", "panic", "todo!", "unimplemented!", "exit"))
    return len(statements) > 1 and leaves and (nothing(first) or stops(first)) and not hollow(statements[1:])


def _less_code(pair: Pair, before: Outline, after: Outline, matched: Matched, dead: set[int]) -> Iterator[Violation]:
    """Statements that only went, and calls that are made no more."""
    if pair.after.test_file:
        return
    spans = [(one.first, one.last) for one in matched.gone if id(one) in dead]
    missed = []
    says = cache(partial(_says, pair))  # generated code repeats its lines
    running, raw = pair.before.running, pair.before.lines
    for hunk in pair.hunks:
        went = [
            line
            for line in range(hunk.before, hunk.before_end)
            if says(running[line - 1], raw[line - 1]) and not any(first <= line <= last for first, last in spans)
        ]
        if not went or pair.explained.removal(hunk.before - 1, hunk.before_end):
            continue
        if hunk.after == hunk.after_end or not any(
            pair.after.running[n - 1] for n in range(hunk.after, hunk.after_end)
        ):
            missed.append(hunk.after)
    top_old, top_new = _size(before), _size(after)
    lost = before.calls - after.calls
    gained = after.calls - before.calls
    for one in (one for one in matched.gone if id(one) in dead):
        lost -= Counter(re.findall(r"[\w.]+(?=\()", text_of(before, one)))
    if missed and top_new < top_old:
        yield Violation(
            "code_removed",
            pair.path,
            tuple(min(n, len(pair.after.lines)) for n in missed),
            "statements are gone that no finding calls dead",
        )
    elif (
        sum(lost.values()) >= 2 + sum(gained.values()) and top_new < top_old and not pair.explained.removal(0, 1 << 30)
    ):
        yield Violation("code_removed", pair.path, detail="calls are gone")


def _size(outline: Outline) -> int:
    return sum(one.size for one in outline.definitions) + outline.top.size


# Lines that only hold others together: an import, a bracket, a handler's frame, one literal of a list.
FRAME = re.compile(
    r"(?:import|from|use|using|#include|require|package|@|#!?\[)|[\[\](){}.,;]*\Z|(?:end|pass|try|else|finally|begin"
    r"|ensure|then"
    r"|fi|done|do|esac|in)[:{]?\Z|\}?(?:except|catch|rescue|else|elif"
    r"|finally)\b[^()]*[:{]?\Z|\}?catch\(\w*\)\{\Z|except.*:\Z"
    r"|[\"'][^\"']*[\"'],?(?:[\"'][^\"']*[\"'],?)*\Z"
)


def _says(pair: Pair, text: str, raw: str) -> bool:
    """Whether a line of the base, without blanks and as it is, says what the new version says nowhere any more."""
    if len(text) <= 2 or not pair.went[text] or FRAME.match(text):
        return False
    return not pair.new_words.issuperset(re.findall(r"\w+", raw))
