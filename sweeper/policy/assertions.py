"""Tests that say less than before: assertions gone, cases gone, expectations loosened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from sweeper.policy.hollow import squeezed
from sweeper.policy.outline import Definition, Outline
from sweeper.policy.rules import Violation
from sweeper.policy.structure import MOST_COMPARED, Matched, heir_of, match, words_of
from sweeper.policy.version import Pair

# What says how it is compared, not what with what.
_VOCABULARY = re.compile(
    r"assert\w*|self|cls|expect|to\w*|be|been|have|has|eq|eql|equal\w*|is|in|not|require|t|pytest|unittest|msg"
    r"|message|that|Equals?|True|None|true|false"
    r"|assert_eq|assert_ne|raise\w*|match|with|as|toBe|toEqual|toStrictEqual|isEqualTo|must|should\w*|len|length"
    r"|count|size|(?:EXPECT|ASSERT)_(?:TRUE|FALSE|EQ|NE)|nullptr|NULL|Len"
)
_EXACT = re.compile(
    r"==|\bis\b|Equals?\b|Same\b|\bLen\(|\btoBe\(|toEqual|toStrictEqual|toHaveLength|toMatchObject|assert_eq|assert_equal"
    r"|\.to\.?eq|deepEqual|strictEqual"
    r"|isEqualTo|containsExactly|must_equal|EXPECT_EQ|ASSERT_EQ|STREQ|!=|toThrow|raises|CalledWith|called_once_with"
)
# A comparison with a truth value is no more exact than none.
_TRUTH = re.compile(
    r"(?:==\s*|^[\w.]*(?:assert|equal)\w*!?\(.*,\s*)(?:true|false)\s*\)?;?\Z", re.IGNORECASE | re.DOTALL
)
_AND = re.compile(r"\band\b|&&")
_TABLE = re.compile(r"\bparametrize\b|\.each\b|\bsubTest\b|\bParameterizedTest\b|\brstest\b|\bt\.Run\b")
_NEGATIVE = re.compile(r"\bnot\b|(?<!\w)!(?=[\w(])|\.not\.|Not[A-Z]|!=|False|_not_|refute|_ne\b|falsy", re.IGNORECASE)
_FAILS = re.compile(r"(?:self\.|pytest\.|Assert(?:ions)?\.)?(?:fail|flunk)\b")
_RAISES = re.compile(r"\bassertThrows|\bassert_?[rR]aises|\bpytest\.raises|\braise_error|\btoThrow")
_CAUGHT = re.compile(r"\b(?:catch|rescue|except)\b([^\n{:]*)")
_CASES = re.compile(r"parametrize|\.each\b|\bcases?\b|TestCase|ValueSource|CsvSource|rstest|\btests\s*:?=")
# How a failure is told, and how a value is shown in it.
_TOLD = re.compile(r"(?<![\w)\]])%[-+#0-9.]*[a-zA-Z]\b|\b[tb]\.(?:Error|Fatal)f?(?=\()")
_TEXT = re.compile(
    r"\b(?:assert\w*|expect|refute\w*|EXPECT_\w+|ASSERT_\w+|should\w*|verify)\b[.!( ]|\bt\.(?:Error|Fatal)f?\("
    r"|^[ \t]*\[\[?[ \t][^\n]*\]\]?",
    re.MULTILINE,
)


def assertion_rules(pair: Pair) -> Iterator[Violation]:
    before, after = pair.before.outline, pair.after.outline
    if before is None or after is None:
        yield from _by_words(pair)
        return
    matched = match(before, after)
    gone = [one for one in matched.gone if pair.explained.removal(one.first, one.head, one.short)]
    fewer: list[int] = []
    changed: list[int] = []
    for old, new in (*matched.kept, *_renamed(before, after, matched), (before.top, after.top)):
        if not (pair.after.test_file or old.test):
            continue
        if len(new.assertions) < len(old.assertions) and not _explained(pair, old):
            once = _texts(old) <= _texts(new)  # what was said twice is said once
            (changed if once else fewer).append(max(new.head, 1))
        changed += _weaker(pair, old, new)
    total_old = _count(pair, before) - sum(len(one.assertions) for one in gone)
    if fewer:
        merged = _count(pair, after) + _shared(before, after, matched) >= total_old or _tabled(pair)
        rule = "test_changed" if merged else "assertion_removed"
        yield Violation(rule, pair.path, tuple(fewer), "a test asserts less often")
    if changed:
        yield Violation(
            "test_changed", pair.path, tuple(sorted(changed)), "an assertion compares something else, or less exactly"
        )
    yield from _cases(pair)


def _texts(one: Definition) -> frozenset[str]:
    return frozenset(squeezed(text) for text, _ in one.assertions)


def _renamed(before: Outline, after: Outline, matched: Matched) -> Iterator[tuple[Definition, Definition]]:
    """The tests that have another name now, with what they are called."""
    words = [(one, words_of(after, one)) for one in matched.new if one.test][:MOST_COMPARED]
    for one in matched.gone:
        if one.test and (heir := heir_of(one, words_of(before, one), words)) is not None:
            yield one, heir


def _shared(before: Outline, after: Outline, matched: Matched) -> int:
    """How many assertions a call away count once: those of new helpers, for each new call but the first."""
    helpers = [one for one in matched.new if not one.test and one.assertions]
    calls = after.calls - before.calls  # of a helper called like what was called before those are not its own
    return sum(len(one.assertions) * max(0, calls[one.short] - 1) for one in helpers)


def _tabled(pair: Pair) -> bool:
    """Whether assertions became the rows of a table: a new one, and every value of the old ones is still there."""
    rows = len(_TABLE.findall(pair.after.code)) > len(_TABLE.findall(pair.before.code))
    return rows and _literals(pair.before.text).keys() <= _literals(pair.after.text).keys()


def _count(pair: Pair, outline: Outline) -> int:
    return sum(len(one.assertions) for one in (*outline.definitions, outline.top) if pair.after.test_file or one.test)


def _explained(pair: Pair, old: Definition) -> bool:
    """Whether a finding stands at an assertion and says that it is better gone."""
    return any(pair.explained.removal(line, line) for _, line in old.assertions)


def _weaker(pair: Pair, old: Definition, new: Definition) -> list[int]:
    known = Counter(squeezed(text) for text, _ in new.assertions)
    lost = [text for text, _ in old.assertions if not _taken(known, squeezed(text))]
    if not lost:
        return []
    known = Counter(squeezed(text) for text, _ in old.assertions)
    fresh = [(text, line) for text, line in new.assertions if not _taken(known, squeezed(text))]
    fresh = _raised(pair, old, lost, fresh)
    if _together(lost) == _together([text for text, _ in fresh]):
        return []  # split, or joined
    meant = Counter(map(_meaning, lost))
    lines = []
    for text, line in fresh:
        if meant[_meaning(text)]:
            meant[_meaning(text)] -= 1
        else:
            lines.append(line)
    return lines


def _raised(pair: Pair, old: Definition, lost: list[str], fresh: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Without those that say what a failure after the call and a handler said: the same error is expected."""
    failures = sum(_FAILS.match(text) is not None for text in lost)
    if not failures:
        return fresh
    body = "\n".join(pair.before.code.split("\n")[old.first - 1 : old.last])
    caught = {word for head in _CAUGHT.findall(body) for word in re.findall(r"[A-Z]\w+", head)}
    said = [one for one in fresh if _RAISES.search(one[0]) and caught.intersection(re.findall(r"\w+", one[0]))]
    return [one for one in fresh if one not in said[:failures]]


def _together(texts: list[str]) -> Counter[tuple[tuple[str, ...], bool, bool]]:
    """What several assertions compare, and how: each part of what holds only as a whole for itself."""
    return Counter(_meaning(part) for text in texts for part in _AND.split(text))


def _taken(left: Counter[str], text: str) -> bool:
    """Whether one more of it is left; then there is one less."""
    there = left[text] > 0
    left[text] -= there
    return there


def _meaning(text: str) -> tuple[tuple[str, ...], bool, bool]:
    """(what is compared, whether the sense is negative, whether exactly)."""
    words = re.findall(r"\w+|[-+*/%<>]=?", _TOLD.sub("", text))
    operands = tuple(sorted(word for word in words if not _VOCABULARY.fullmatch(word)))
    return operands, bool(_NEGATIVE.search(text)), bool(_EXACT.search(text)) and not _TRUTH.search(text)


def _cases(pair: Pair) -> Iterator[Violation]:
    """Lists of cases that lost some."""
    if not pair.after.test_file or not _CASES.search(pair.before.code):
        return
    lost = sum((_literals(pair.before.text) - _literals(pair.after.text)).values())
    gained = sum((_literals(pair.after.text) - _literals(pair.before.text)).values())
    if lost >= 2 and gained == 0:
        yield Violation("test_changed", pair.path, detail="cases or expected values are gone")


def _literals(text: str) -> Counter[str]:
    return Counter(re.findall(r"\"[^\"\n]*\"|'[^'\n]*'|\b\d[\w.]*\b|\b(?:True|False|None|true|false|null|nil)\b", text))


def _by_words(pair: Pair) -> Iterator[Violation]:
    """Without a tree: assertions are counted by their words."""
    if pair.after.test_file and len(_TEXT.findall(pair.after.code)) < len(_TEXT.findall(pair.before.code)):
        yield Violation("assertion_removed", pair.path, detail="fewer assertions")
