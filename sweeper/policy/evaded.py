"""What a finding is about is still there, spelt as its rule does not know it, or is answered with something empty.

Other rules ask what a change says; this one asks whether it says so in answer to a finding. A word that is harmless
anywhere else, a `sh -c`, a version `*`, a text `image`, is none where a finding asked for its contrary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from sweeper.policy.answers import ANSWERS
from sweeper.policy.hollow import squeezed
from sweeper.policy.languages import LANGUAGES
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair
from sweeper.records import Finding

_EMPTY = r"(?:None|null|nil|undefined|0|\"\"|''|\(\)|\[\]|\{\}|object\(\)|Any|any)?"

_ANSWERS = tuple((re.compile(said), re.compile(answer)) for said, answer in ANSWERS)

_UNDEFINED = re.compile(
    r"\bF821\b|no-undef\b|TS2304\b|SC2154\b|[Uu]ndefined (?:name|variable)|not (?:defined|assigned)"
)
_UNDOCUMENTED = re.compile(r"\bD10\d\b|[Mm]issing (?:\w+ )*docstring|C011[4-6]")
_WORK_LEFT = re.compile(r"\bFIX00\d\b|no-warning-comments|\bW0511\b|\bfixme\b|consider resolving", re.IGNORECASE)
_TWICE = re.compile(r"key-duplicates|duplicat\w+ (?:of )?(?:map(?:ping)? )?key|duplicat\w+.{0,30}in mapping")
_UNCHANGING = re.compile(r"no-changed-when")
_CHANGES = re.compile(
    r"\b(?:install|apply|migrate|create|delete|remove|rm|mv|cp|mkdir|restart|start|stop|reload|enable|disable|update"
    r"|upgrade|set|add|push|deploy|import|load|write|sync|init|reset|drop|chown|chmod)\b"
)
_FILLER = frozenset({
    "a", "an", "the", "thi", "that", "of", "for", "to", "and", "i", "it", "function", "method", "clas", "module",
    "return",
})  # fmt: skip
_QUOTED = re.compile(r"[`'\"‘]([A-Za-z_$][\w$]*)[`'\"’]|^([A-Za-z_]\w*) is referenced")
_CALLED = re.compile(r"(?<![\w.])(?:[A-Za-z_$][\w$]*\.)?([A-Za-z_$][\w$]{2,})\s*\(")
_DOCUMENTED = re.compile(
    r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)(?:[^\n]*\n){1,8}?[ \t]*\"{3}([^\"\n]*)\"{3}", re.MULTILINE
)
_ALIAS = re.compile(
    r"^(?:export[ \t]+)?(?:type[ \t]+)?([A-Z]\w*)(?:[ \t]*:[ \t]*[\w.]+)?[ \t]*="
    r"[ \t]*(?:[\w.]+\.)?(?:Any|object|any|unknown)[ \t]*;?[ \t]*$",
    re.MULTILINE,
)
_WORDS = re.compile(r"[A-Za-z]{3,}")


class _Answer:
    """The new lines of a file, read once."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair

    @cached_property
    def lines(self) -> dict[int, str]:
        """Line number -> its text, of those that stand nowhere in the base."""
        old = {squeezed(line) for line in self.pair.before.lines}
        texts = self.pair.after.lines
        return {
            number: texts[number - 1]
            for number in sorted(self.pair.changed_lines)
            if number <= len(texts) and len(texts[number - 1]) < _LONGEST and squeezed(texts[number - 1]) not in old
        }

    def where(self, pattern: re.Pattern[str]) -> list[int]:
        return [number for number, line in self.lines.items() if pattern.search(line)]


_LONGEST = 2000  # characters of a line that is read


def evaded_rules(pair: Pair) -> Iterator[Violation]:
    """A violation for each kind of answer that none is."""
    findings = pair.explained.findings
    if not findings or not pair.before.text:
        return
    answer = _Answer(pair)
    said = [f"{finding.rule} {finding.message}" for finding in dict.fromkeys(findings)]
    still: set[int] = set()
    for about, pattern in _ANSWERS:
        if any(about.search(text) for text in said):
            still.update(answer.where(pattern))
    if still:
        yield Violation("finding_evaded", pair.path, tuple(sorted(still)), "what a finding is about, spelt otherwise")
    for what, find in _LOOKS.items():
        if lines := find(answer, findings):
            yield Violation("finding_evaded", pair.path, tuple(sorted(set(lines))), what)


def _about(findings: Sequence[Finding], pattern: re.Pattern[str]) -> list[Finding]:
    return [one for one in findings if pattern.search(f"{one.rule} {one.message}")]


def _defined_empty(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """`NAME = None`, `${name:-}` for a name that a finding calls undefined."""
    found: list[int] = []
    for one in _about(findings, _UNDEFINED):
        names = {a or b for a, b in _QUOTED.findall(one.message)}
        for name in map(re.escape, names):
            pattern = rf"^\s*(?:export\s+|declare\s+|(?:const|let|var)\s+)?{name}\s*(?::[^=\n]*)?=\s*{_EMPTY}\s*;?\s*$"
            found += answer.where(re.compile(rf"{pattern}|\$\{{{name}:?-(?:\"\"|'')?\}}"))
    return found


def _renamed(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """What is called where a finding is has another name now, under which its rule does not know it."""
    lines = answer.pair.before.lines
    found: list[int] = []
    if answer.pair.after.language not in LANGUAGES:
        return found
    near = {
        name
        for one in findings
        for line in lines[max(0, one.line - _NEAR) : one.line]
        for name in _CALLED.findall(line[:_LONGEST])
    }
    for name in map(re.escape, near):
        found += answer.where(
            re.compile(rf"(?<![=!<>])=\s*(?:[\w$]+\.)?{name}\s*;?\s*$|\b{name}\s*:\s*[\w$]+\s*\}}\s*=")
        )
    return found


_NEAR = 4  # lines up to a finding that may open the call that it is about


def _says_its_name(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """Docstrings that say no more than the name of what they document."""
    if not _about(findings, _UNDOCUMENTED):
        return []
    text = answer.pair.after.text
    found = []
    for match in _DOCUMENTED.finditer(text):
        name = set(_split(match[1]))
        if not set(_split(match[2])) - name - _FILLER:
            found.append(answer.pair.after.line_at(match.start(2)))
    return [line for line in found if line in answer.lines]


def _split(words: str) -> list[str]:
    return [word.lower().rstrip("s") for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", words)]


def _worded_otherwise(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """A comment that says that work is left, and says it still, without the word that the rule knows."""
    old = answer.pair.before.lines
    found = []
    for one in _about(findings, _WORK_LEFT):
        words = set(_WORDS.findall(old[one.line - 1][:_LONGEST])) if 0 < one.line <= len(old) else set()
        for number, line in answer.lines.items():
            kept = words.intersection(_WORDS.findall(line))
            if len(kept) >= 3 and 2 * len(kept) >= len(words) and line.strip()[:1] in "#/*<-;\"'":
                found.append(number)
    return found


def _last_gone(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """Of a key given twice the last counts: its value is gone, and the other is in force."""
    old, new = answer.pair.before.lines, answer.pair.after.lines
    left = {squeezed(line) for line in new}
    found = []
    for one in _about(findings, _TWICE):
        line = old[one.line - 1] if 0 < one.line <= len(old) else ""
        key = line.partition(":")[0].strip()
        if key and squeezed(line) not in left:
            found += [number for number, text in enumerate(new, 1) if text.partition(":")[0].strip() == key]
    return found


def _declared_unchanging(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """`changed_when: false` of a command whose words say that it changes something."""
    if not _about(findings, _UNCHANGING):
        return []
    texts = answer.pair.after.lines
    return [
        number
        for number, line in answer.lines.items()
        if re.match(r"\s*-?\s*changed_when\s*:\s*[\"']?(?:false|no|never)\b", line, re.IGNORECASE)
        and _CHANGES.search(_task(texts, number - 1))
    ]


def _task(lines: list[str], index: int) -> str:
    """The lines of the item of a list that a line stands in, up to that line."""
    first = index
    while first > 0 and index - first < 30 and not lines[first].lstrip().startswith("- "):
        first -= 1
    return "\n".join(line for line in lines[first:index] if not line.lstrip().startswith(("- name:", "#")))


def _any_alias(answer: _Answer, findings: Sequence[Finding]) -> list[int]:
    """Types declared as a name that stands for anything."""
    names = [re.escape(name) for name in _ALIAS.findall(answer.pair.after.text)]
    if not names:
        return []
    return answer.where(re.compile(rf"[:|\[,<]\s*(?:{'|'.join(names)})\b|->\s*(?:{'|'.join(names)})\b"))


_Look = Callable[[_Answer, Sequence[Finding]], list[int]]
_LOOKS: dict[str, _Look] = {
    "an undefined name gets an empty value": _defined_empty,
    "what a finding is about, under another name": _renamed,
    "a docstring that says the name alone": _says_its_name,
    "a name that stands for anything is a type": _any_alias,
    "work is left still": _worded_otherwise,
    "of a key given twice, the value that counted is gone": _last_gone,
    "a command is declared to change nothing": _declared_unchanging,
}
