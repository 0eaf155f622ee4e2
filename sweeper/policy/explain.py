"""What a unit's findings explain: code that a finding says is dead may go."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from sweeper.records import Finding

REMOVAL = re.compile(
    r"unused|never[ -](?:read|used|accessed|called|reached)|not[ -](?:used|accessed|referenced|called)"
    r"|un(?:reachable|necessary|needed|referenced)"
    r"|dead[ -_]?(?:code|store)|redundant|useless|superfluous|extraneous|duplicat|redefin|redeclar"
    r"|already (?:defined|declared)|repeated"
    r"|no[ -]?effect|ineff(?:ectual|assign)|obsolete|deprecat|commented|no-(?:console|debugger|empty|useless"
    r"|else-return|unused|dupe|extra|alert)"
    r"|\bprint\b|debugger|pprint|dbg_macro|can be removed|should be removed|(?<!will be )remove[d ]|identical|shadow"
    r"|empty|multiple|overrid|lost"
    r"|\b(?:F401|F811|F841|ERA001|T20[13]|SC2034|SC2317|SA4006|SA9003|U1000|S1023|W0611|W0612|W0613|V107)\b",
    re.IGNORECASE,
)
LAYOUT = re.compile(
    r"format|indent|prettier|quote|whitespace|import.?(?:order|sort)|unsorted|un-sorted|gofmt|rustfmt|E1\d\d|W19\d"
    r"|I001|Layout/|semi\b|tabs?\b|stylistic|line.?ending",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Explained:
    """The findings of one path."""

    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, findings: Iterable[Finding], path: str) -> Explained:
        return cls(tuple(finding for finding in findings if finding.path == path))

    @cached_property
    def removing(self) -> tuple[Finding, ...]:
        """Those that say that something is better gone."""
        return tuple(one for one in self.findings if REMOVAL.search(f"{one.rule} {one.message}"))

    def removal(self, first: int, last: int, name: str = "") -> bool:
        """Whether something in these lines of the base, or called `name`, is said to be better gone."""
        return any(
            first <= finding.line <= last
            or (name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", finding.message) is not None)
            for finding in self.removing
        )

    def dead(self, first: int, last: int) -> int:
        """How many findings in these lines of the base say that something is better gone."""
        return sum(first <= finding.line <= last for finding in self.removing)

    def all_dead(self, text: bytes) -> bool:
        """Whether a finding says of each line with something on it that it is better gone."""
        lines = [number for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        return bool(lines) and {finding.line for finding in self.removing}.issuperset(lines)

    def at(self, lines: Collection[int]) -> bool:
        """Whether a finding is in one of the lines of the base."""
        return any(finding.line in lines for finding in self.findings)

    def findings_say(self, words: re.Pattern[str]) -> bool:
        return any(words.search(f"{finding.rule} {finding.message}") for finding in self.findings)

    @property
    def about_layout(self) -> bool:
        """Whether a finding is about how a file is laid out, which is everywhere in it."""
        return self.findings_say(LAYOUT)
