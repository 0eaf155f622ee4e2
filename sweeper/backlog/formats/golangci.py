"""golangci-lint's JSON, the same in versions 1 and 2."""

from __future__ import annotations

import re
from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, at, items, record, string
from sweeper.backlog.parsed import Parsed, plain

NAME = "golangci-json"
FIELDS = Fields(
    file=("Pos", "Filename"),
    line=("Pos", "Line"),
    column=("Pos", "Column"),
    rule=("FromLinter",),
    message=("Text",),
    severity=("Severity",),
    severities={"warning": "warning", "info": "info", "low": "info", "medium": "warning"},
)
_NOT_LOOKED_AT = re.compile(r"(?i)can't run|compilation errors|failed to|could not|no go files")


def _visit(value: Any, parsed: Parsed) -> bool:
    """`typecheck` is no linter: the code does not compile (a rule of the syntax class)."""
    found = FIELDS.ruled(value)
    if found is None:
        return False
    parsed.findings.append(found)
    if found.rule == "typecheck":
        parsed.incomplete = parsed.incomplete or plain(f"the code does not compile: {found.message}", 300)
    return True


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    for warning in items(at(members, ("Report", "Warnings"))):
        text = string(record(warning).get("Text"))
        if _NOT_LOOKED_AT.search(text):
            parsed.incomplete = parsed.incomplete or plain(text, 300)
    error = string(at(members, ("Report", "Error")))
    if error:
        parsed.failed = f"golangci-lint reports: {plain(error, 300)}"


DOCUMENT = Document(
    names=("Issues",),
    leads=True,
    visit=_visit,
    results="Issues",
    required=("Issues",),
    optional=("Report",),
    finish=_finish,
)
