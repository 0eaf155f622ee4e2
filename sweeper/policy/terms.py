"""What changed lines say otherwise with nearly the same words: a part is gone, a comparison or a number is another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sweeper.policy.comments import BY_SUFFIX, PLAIN, suffix_of
from sweeper.policy.languages import LANGUAGES
from sweeper.policy.lines import Hunk
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair, Version

_PREFIX = re.compile(r"(?<![%\w])[fFrRbBuULiw]{1,2}(?=[\"'])|->|=>|::|\?\.|[*&](?=[\w)])")
_TERM = re.compile(
    r"%[a-zA-Z]\b|\d[\w.]*|\bis\s+not\b|[^\W\d]\w*|[!=]==?|<>|<=|>=|<<|>>|&&|\|\||[<>+*/%&|^~!-]", re.ASCII
)
_SAME = {
    "===": "==", "!==": "!=", "is": "==", "<>": "!=", "&&": "and", "||": "or", "!": "not", "unless": "not",
    "yes": "true", "on": "true", "no": "false", "off": "false",
}  # fmt: skip
_FRAME = frozenset({
    "if", "elif", "else", "elsif", "elseif", "then", "case", "when", "switch", "match", "default", "return", "break",
    "continue", "end", "begin", "let", "const", "var", "val", "final", "pass", "do", "done", "fi", "esac", "function",
    "def", "fn", "func", "lambda", "self", "this", "void", "new", "in", "of", "the", "from", "import", "as", "async",
    "static", "private", "protected", "public", "override", "inline", "auto", "mut", "ref",
})  # fmt: skip
_SHELL = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SHELL_ORDER = re.compile(r" -(eq|ne|lt|le|gt|ge)(?=\s)")
_ORDER = frozenset({"==", "!=", "<", ">", "<=", ">=", "and", "or", "not"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "<<", ">>", "^", "~", "&", "|"})
_TRUTH = frozenset({"true", "false", "none", "null", "nil", "undefined"})
_BRANCHES = re.compile(r"\b(?:case|when|elif|elsif|else\s+if)\b|=>|\|\s*\w+\s*->|^\s*[\w\"'*|-]+\)", re.MULTILINE)
_LEAVES = re.compile(r"\b(?:raise|throw|return|exit|continue|panic|Err|abort|die|fail|break|next)\b")
_ASKS = re.compile(r"\b(?:if|elif|elsif|unless|while)\b")
_WIDE = frozenset({
    "string", "number", "str", "int", "float", "boolean", "bool", "any", "object", "unknown", "Any",
})  # fmt: skip
# A finding about how something is compared or counted explains that it is compared or counted otherwise.
_EXPLAINS = re.compile(
    r"compar|negat|yoda|equal|eqeq|operator|chain|boolean|morgan|simplif|invert|truthy|null|none|nil|len\b|length|empty"
    r"|plusplus|increment|E71[1-4]|SIM\d|PLR1714|C18\d\d|collapsible|coerc|range|nullish|optional|redundant",
    re.IGNORECASE,
)
_NUMERIC = re.compile(
    r"literal|precision|printf|directive|injection|interpolat|percent|octal|hex|digit|zero|fraction|separator|len\b|length|empty|range|coerc|nullish",
    re.I,
)
_DELIBERATE = re.compile(r"needless|elid|inherit|super|diamond|UP0|simplif|C4\d\d")
_MOST = 4000  # characters of a hunk: a longer one is no wording any more


@dataclass(frozen=True, slots=True)
class _Change:
    """One hunk. `before`, `after`: its texts without comments. `old`, `new`: their terms."""

    hunk: Hunk
    before: str
    after: str
    old: Counter[str]
    new: Counter[str]


def term_rules(pair: Pair) -> Iterator[Violation]:
    """Hunks of which a part went and nothing came, or whose signs, numbers and truth values are others."""
    if (pair.after.test_file and pair.after.language != "bash") or not pair.before.text or not _is_code(pair.after):
        return
    old_lines, new_lines = pair.before.without_comments.split("\n"), pair.after.without_comments.split("\n")
    changes = []
    if all(
        _length(old_lines[hunk.before - 1 : hunk.before_end - 1]) > _MOST
        or _length(new_lines[hunk.after - 1 : hunk.after_end - 1]) > _MOST
        for hunk in pair.hunks
    ):
        return  # no wording anywhere
    for hunk in pair.hunks:
        before = "\n".join(old_lines[hunk.before - 1 : hunk.before_end - 1])
        after = "\n".join(new_lines[hunk.after - 1 : hunk.after_end - 1])
        changes.append(_Change(hunk, before, after, _terms(before), _terms(after)))
    old, new = Counter[str](), Counter[str]()
    for each in changes:
        old.update(each.old)
        new.update(each.new)
    lost, gained = old - new, new - old
    found: dict[tuple[str, str], list[int]] = {}
    for each in changes:
        follows = "".join(new_lines[each.hunk.after_end - 1 : each.hunk.after_end])
        if (said := _said(pair, each, lost, gained, follows)) is not None:
            found.setdefault(said, []).append(min(each.hunk.after, len(pair.after.lines)))
    for (rule, what), lines in found.items():
        yield Violation(rule, pair.path, tuple(dict.fromkeys(lines)), what)


def _is_code(version: Version) -> bool:
    """Whether it is a program, not a document, a style sheet, data or settings: those have rules of their own."""
    if version.language:
        return version.language not in ("markdown", "yaml", "css")
    suffix = suffix_of(version.path)
    return suffix not in PLAIN | {"toml"} and BY_SUFFIX.get(suffix) not in ("ini", "html", None)


def _terms(text: str) -> Counter[str]:
    """Its words, numbers and signs, spelt alike where they mean the same; no brackets, quotes or separators."""
    found: Counter[str] = Counter()
    text = _SHELL_ORDER.sub(lambda match: f" {_SHELL[match[1]]}", text)
    for term, times in Counter(_TERM.findall(_PREFIX.sub(" ", text))).items():
        if term[0].isdigit():
            term = _number(term)
        elif term.startswith("is") and term != "is" and term[2:].lstrip() == "not" and term[2].isspace():
            term = "!="
        elif term.lower() in _TRUTH or term.lower() in _SAME:
            term = _SAME.get(term.lower(), term.lower())
        found[_SAME.get(term, term)] += times
    return found


def _length(lines: list[str]) -> int:
    return sum(map(len, lines)) + len(lines) - 1


def _number(term: str) -> str:
    plain = term.lower().replace("_", "")
    if plain.startswith("0x"):
        return plain
    plain = re.sub(r"(?<=\d)(?:[uilfdn]+(?:8|16|32|64|128|size)?)$", "", plain)
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def _said(pair: Pair, one: _Change, lost: Counter[str], gained: Counter[str], follows: str) -> tuple[str, str] | None:
    """The rule that a hunk breaks, and how. `lost`, `gained`: by the file. `follows`: the line behind the hunk."""
    before, after, hunk = one.before, one.after, one.hunk
    if max(len(before), len(after)) > _MOST or not before.strip():
        return None
    if pair.explained.removal(hunk.before - 1, hunk.before_end):
        return None
    went, came = (one.old - one.new) & lost, (one.new - one.old) & gained
    words = {term for term in went if _is_word(term) and not one.new[term]}
    fresh = {term for term in came if _is_word(term) and not one.old[term]}
    if not after.strip():
        # with a tree, what became of whole statements is for the structure to say
        return ("content_removed", "lines are gone") if words and pair.after.language not in LANGUAGES else None
    if _fewer_branches(one, went, came):
        return "code_removed", "branches are gone with what they were for"
    if (went["true"] and came["false"]) or (went["false"] and came["true"]):
        return _OTHER
    if fresh:
        narrower = words <= {"any", "Any"} and bool(words)
        return (
            ("wide_type", "a type admits more") if fresh <= _WIDE and not narrower and (words or "|" in went) else None
        )
    if words:
        missed = {word for word in words if word.lower() not in _named(pair, hunk)}
        short = _near(pair, hunk, _DELIBERATE)
        return ("code_removed", "a part of a statement is gone") if missed and not short else None
    return _OTHER if _signs_differ(pair, one, went, came, follows) else None


_OTHER = ("meaning_changed", "a comparison, a number or a truth value is another")


def _is_word(term: str) -> bool:
    return (term[0].isalpha() or term[0] == "_") and term not in _ORDER | _TRUTH and term not in _FRAME


def _fewer_branches(one: _Change, went: Counter[str], came: Counter[str]) -> bool:
    """Whether cases went with their own words and values, and not into another form of the same."""
    if len(_BRANCHES.findall(one.after)) >= len(_BRANCHES.findall(one.before)):
        return False
    lost = sum(n for term, n in went.items() if _is_word(term) or term[0].isdigit())
    new = sum(n for term, n in came.items() if _is_word(term) or term[0].isdigit())
    return lost >= 2 and lost > 2 * new


def _signs_differ(pair: Pair, one: _Change, went: Counter[str], came: Counter[str], follows: str) -> bool:
    """Whether signs say something else, where no word is another."""
    numbers = {term for term in went if term[0].isdigit() or (term[0] == "%" and len(term) > 1)}
    if numbers and not _near(pair, one.hunk, _NUMERIC):
        return True
    if not went and (leaves := came.keys() & {"return", "break", "continue"}):
        return not leaves <= _named(pair, one.hunk) or "0" in came
    asks = len(_ASKS.findall(one.before)) <= len(_ASKS.findall(one.after))
    if not went and came.keys() & {"and", "or", "not"} and asks:
        return bool(_ASKS.search(one.after) and _LEAVES.search(f"{one.after}\n{follows}"))
    signs = {term for term in (*went, *came) if term in _ORDER or term in _TRUTH}
    if signs and (went.keys() & signs or "not" in came):
        alone = "\n" not in one.before and "\n" not in one.after and not _TWO_WAYS.search(one.after)
        if alone and _same_negation(went, came):
            return False
        return (alone and _turned(went, came)) or not _near(pair, one.hunk, _EXPLAINS)
    return bool(went and came) and {*went, *came} <= _ARITHMETIC


_NEGATIVE = ("not", "!=", "false")
_TWO_WAYS = re.compile(r"\?[^.?]|\belse\b")


def _turned(went: Counter[str], came: Counter[str]) -> bool:
    """Whether signs of one line alone make it mean something else, whatever asked for another spelling."""
    negations = sum(went[term] - came[term] for term in _NEGATIVE)
    ordered = any(term in ("<", ">", "<=", ">=") for term in (*went, *came))
    joined = (went["and"], went["or"]) != (came["and"], came["or"])
    if joined:
        return negations == 0 and went["and"] + went["or"] == came["and"] + came["or"]
    return negations % 2 == 1 and not ordered


def _same_negation(went: Counter[str], came: Counter[str]) -> bool:
    """Whether `not a == b` became `a != b`, or the reverse."""
    spelt = {*went, *came} <= {"==", "!=", "not", "(", ")"}
    return spelt and sum(went[term] - came[term] for term in _NEGATIVE) == 0


def _near(pair: Pair, hunk: Hunk, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(said) for said in _sayings(pair, hunk))


def _named(pair: Pair, hunk: Hunk) -> frozenset[str]:
    """The words of the findings there, in lower case."""
    return frozenset(word.lower() for said in _sayings(pair, hunk) for word in re.findall(r"[A-Za-z_]\w*", said))


def _sayings(pair: Pair, hunk: Hunk) -> Iterator[str]:
    for finding in pair.explained.findings:
        if hunk.before - 2 <= finding.line < hunk.before_end + 2:
            yield f"{finding.rule} {finding.message}"
