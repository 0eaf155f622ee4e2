"""Lines that no format understood: harmless chatter, or something that looks like a finding.

"No findings" is believed only when nothing that looks like a finding was left over.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from sweeper.backlog.parsed import Parsed, plain

_NOTHING_FOUND = re.compile(
    r"(?i)\b(?:no|0|zero|without)\s+(?:\w+\s+)?"
    r"(?:issues?|errors?|problems?|warnings?|findings?|violations?|offen[cs]es|fixes)\b|"
    r"\b(?:issues|errors|problems|warnings|findings|violations|offen[cs]es)\s*[:=]\s*0\b|^all checks passed"
)
_LOOKS_LIKE_A_FINDING = re.compile(
    r"(?i)[^\s:]:\d+|\b\d+:\d+\b|\(\d+,\s*\d+\)|\bline \d+|^\s*-->|"
    r"\b(?:error|warning|fatal|fail(?:ed|ure|ures)?|exception|traceback|panic(?:ked)?|abort(?:ed)?|"
    r"cannot|can't|could not|couldn't|unable|invalid|denied|not found|no such|killed)\b|"
    r"^\s*<[?!/A-Za-z]|^\s*[\[{]\s*(?:[\"{\[\]}]|$)|\b[A-Z]{1,8}\d{2,5}\b|"
    r"\b[1-9]\d* (?:\w+ )?(?:issues?|errors?|warnings?|problems?|findings?|violations?|offen[cs]es?)\b"
)
# What tools print below their findings; without findings the same line says that something was missed.
_SUMMARY = re.compile(
    r"^(?:Found \d+ (?:\w+ )?(?:errors?|issues?|problems?|warnings?)|\[\*\] \d+ fixable|No fixes available)\b"
)
_OUTSIDE, _WIDE = 1000, 500  # the last lines that are kept, characters of each
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")


def is_chatter(line: str) -> bool:
    """A line of human text that names no place, no rule and no trouble."""
    if _UNPRINTABLE.search(line):
        return False
    # A form feed and its like may lie within what a format takes for one line.
    return not any(_LOOKS_LIKE_A_FINDING.search(_NOTHING_FOUND.sub(" ", part)) for part in line.splitlines())


def says_nothing_found(text: str) -> bool:
    """Whether the tool says so itself."""
    return bool(_NOTHING_FOUND.search(text))


def count(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def around(parsed: Parsed, *texts: str) -> Parsed:
    """Account for the text that was not part of a document or a finding."""
    return leftover(parsed, (line for text in texts for line in text.splitlines()))


def no_document(text: str) -> Parsed:
    """Text where a document was expected: not even harmless lines say that there are no findings."""
    parsed = around(Parsed(), text)
    parsed.residue = parsed.residue or parsed.note
    return parsed


def leftover(parsed: Parsed, lines: Iterable[str]) -> Parsed:
    note: list[str] = []
    outside: deque[str] = deque(maxlen=_OUTSIDE)
    for line in lines:
        if not line.strip(" \t\r\ufeff"):
            continue
        if parsed.findings and _SUMMARY.match(line):
            continue
        parsed.unparsed += 1
        outside.append(line[:_WIDE])
        if len(note) < 5:
            note.append(plain(line, 200))
        if not parsed.residue and not is_chatter(line):
            parsed.residue = plain(line, 200) or "unprintable bytes"
    parsed.note = "\n".join(note)
    parsed.outside = "\n".join(outside)
    return parsed
