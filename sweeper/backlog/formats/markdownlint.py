"""markdownlint-cli2's and markdownlint-cli's lines: `file:line[:column] [severity] MD001/alias text`."""

from __future__ import annotations

import re

from sweeper.backlog.formats.lines import TextLines
from sweeper.backlog.parsed import Raw

NAME = "markdownlint"
TEXT = TextLines(
    re.compile(
        r"^(?P<path>[^\r\n]+?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))? (?:(?P<severity>error|warning) )?"
        r"(?P<rule>[A-Z]{2,12}\d{3,5})(?P<alias>(?:/[\w-]+)+) (?P<message>.*)$"
    ),
    {"warning": "warning"},
)


def render(found: Raw) -> str:
    column = f":{found.column}" if found.column else ""
    return f"{found.path}:{found.line}{column} {found.severity} {found.rule}/alias {found.message}"
