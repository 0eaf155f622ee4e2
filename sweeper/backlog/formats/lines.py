"""Text formats of one finding a line: a pattern says where its parts are."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sweeper.backlog.formats.residue import leftover
from sweeper.backlog.parsed import Parsed, Raw, raw, strip_ansi


@dataclass(frozen=True, slots=True)
class TextLines:
    """A format whose pattern has groups `path`, `line` and `message`, and perhaps `column`, `rule`, `severity`.

    `severities` maps the tool's words, lower case; `otherwise` is what no word or another one means.
    """

    pattern: re.Pattern[str]
    severities: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = "error"
    rule: str = ""

    def looks_like(self, text: str) -> bool:
        return any(self.pattern.match(line) for line in text.splitlines())

    def parse(self, stdout: bytes, stderr: bytes) -> Parsed:
        """Findings of both streams, since some tools print them on one and their summary on the other."""
        parsed = Parsed()
        return leftover(parsed, self._others(parsed, stdout, stderr))

    def _others(self, parsed: Parsed, *outputs: bytes) -> Iterator[str]:
        for data in outputs:
            for line in each_line(data):
                match = self.pattern.match(line)
                found = self._raw(match) if match else None
                if found:
                    parsed.findings.append(found)
                else:
                    yield line

    def _raw(self, match: re.Match[str]) -> Raw | None:
        groups = match.groupdict()
        severity = self.severities.get((groups.get("severity") or "").lower(), self.otherwise)
        if not groups.get("path"):
            return None
        return raw(
            groups["path"],
            digits(groups.get("line")),
            digits(groups.get("column")),
            groups.get("rule") or self.rule,
            groups.get("message") or "",
            severity,
        )


def digits(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else 0


def each_line(data: bytes) -> Iterator[str]:
    """The lines, one at a time, without escapes and line ends."""
    for line in io.BytesIO(strip_ansi(data)):
        yield line.decode("utf-8", "surrogateescape").rstrip("\r\n")
