"""ruff's JSON, as one array (`--output-format json`) or one object a line (`json-lines`)."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document, Lines
from sweeper.backlog.formats.fields import Fields
from sweeper.backlog.parsed import SYNTAX, Parsed

NAME = "ruff-json"
LINES_NAME = "ruff-json-lines"
FIELDS = Fields(
    file=("filename",),
    line=("location", "row"),
    column=("location", "column"),
    rule=("code",),
    message=("message",),
    severity=("severity",),
    severities={"warning": "warning", "info": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    """`--statistics` prints objects without a place. Versions before 0.15 gave syntax errors no code."""
    if not isinstance(value, dict) or "code" not in value:
        return False
    found = FIELDS.raw(value, rule="invalid-syntax", kind=SYNTAX if value["code"] is None else "")
    if found is None:
        return False
    parsed.findings.append(found)
    return True


DOCUMENT = Document(names=("code", "filename", "location"), visit=_visit)
LINES = Lines(names=("code", "filename", "location"), visit=_visit)
