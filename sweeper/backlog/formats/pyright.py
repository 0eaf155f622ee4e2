"""pyright's and basedpyright's JSON (`--outputjson`): lines and columns are counted from 0."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, at
from sweeper.backlog.parsed import SYNTAX, Parsed

NAME = "pyright-json"
FIELDS = Fields(
    file=("file",),
    line=("range", "start", "line"),
    column=("range", "start", "character"),
    line_base=0,
    column_base=0,
    rule=("rule",),
    message=("message",),
    severity=("severity",),
    severities={"warning": "warning", "information": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    """An error without a rule is one of the parser."""
    found = FIELDS.raw(value)
    if found is None:
        return False
    if not found.rule and value.get("severity") == "error":
        found = found._replace(rule="syntax", kind=SYNTAX)
    parsed.findings.append(found)
    return True


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    files = at(members, ("summary", "filesAnalyzed"))
    if type(files) is int:
        parsed.files = files


DOCUMENT = Document(
    names=("generalDiagnostics", "summary"),
    visit=_visit,
    results="generalDiagnostics",
    required=("generalDiagnostics", "summary"),
    finish=_finish,
)
