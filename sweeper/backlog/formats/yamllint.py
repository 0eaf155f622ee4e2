"""yamllint's lines (`-f parsable`): `file:line:column: [error] text (rule)`."""

from __future__ import annotations

import re

from sweeper.backlog.formats.lines import TextLines
from sweeper.backlog.parsed import Raw

NAME = "yamllint"
TEXT = TextLines(
    re.compile(
        r"^(?P<path>[^\r\n]+?):(?P<line>\d{1,9}):(?P<column>\d{1,9}): \[(?P<severity>error|warning)\] "
        r"(?P<message>.*?)(?: \((?P<rule>[a-z][a-z-]*)\))?$"
    ),
    {"warning": "warning"},
)


def render(found: Raw) -> str:
    return f"{found.path}:{found.line}:{found.column}: [{found.severity}] {found.message} ({found.rule})"
