"""pyrefly's JSON (`--output-format json`)."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields
from sweeper.backlog.parsed import Parsed

NAME = "pyrefly-json"
FIELDS = Fields(
    file=("path",),
    line=("line",),
    column=("column",),
    rule=("name",),
    message=("description",),
    severity=("severity",),
    severities={"warn": "warning", "warning": "warning", "info": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    found = FIELDS.raw(value)
    if found is None or not found.rule:
        return False
    parsed.findings.append(found)
    return True


DOCUMENT = Document(names=("errors",), leads=True, visit=_visit, results="errors", required=("errors",))
