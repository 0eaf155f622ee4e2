"""hadolint's JSON (`-f json`), and its lines for people (`tty`, `gnu`)."""

from __future__ import annotations

import re
from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields
from sweeper.backlog.formats.lines import TextLines
from sweeper.backlog.parsed import SYNTAX, Parsed, Raw

NAME = "hadolint-json"
TEXT_NAME = "hadolint-text"
_LEVEL = {"warning": "warning", "info": "info", "style": "info"}
_NOT_PARSED = "DL1000"
FIELDS = Fields(
    file=("file",),
    line=("line",),
    column=("column",),
    rule=("code",),
    message=("message",),
    severity=("level",),
    severities=_LEVEL,
)


def _visit(value: Any, parsed: Parsed) -> bool:
    found = FIELDS.ruled(value)
    if found is None:
        return False
    parsed.findings.append(found._replace(kind=SYNTAX) if found.rule == _NOT_PARSED else found)
    return True


DOCUMENT = Document(names=("file", "line", "column", "level", "code", "message"), visit=_visit)
TEXT = TextLines(
    re.compile(
        r"^(?:hadolint:)?(?P<path>[^\r\n]+?):(?P<line>\d{1,9}):? (?P<rule>(?:DL|SC)\d{4}) "
        r"(?P<severity>error|warning|info|style): (?P<message>.*)$"
    ),
    _LEVEL,
)


def render(found: Raw) -> str:
    return f"{found.path}:{found.line} {found.rule} {found.severity}: {found.message}"
