"""oxlint's JSON (`--format json`)."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, items, record
from sweeper.backlog.parsed import SYNTAX, Parsed

NAME = "oxlint-json"
FIELDS = Fields(
    file=("filename",),
    line=("span", "line"),
    column=("span", "column"),
    rule=("code",),
    message=("message",),
    severity=("severity",),
    severities={"warning": "warning", "advice": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    """The first label is the place. An error without a code is one of the parser."""
    entry = record(value)
    labels = items(entry.get("labels"))
    found = FIELDS.raw({**entry, "span": record(labels[0]).get("span")} if labels else entry)
    if found is None:
        return False
    if not found.rule and entry.get("severity") == "error":
        found = found._replace(rule="parse-error", kind=SYNTAX)
    parsed.findings.append(found)
    return True


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    if type(members.get("number_of_files")) is int:
        parsed.files = members["number_of_files"]


DOCUMENT = Document(
    names=("diagnostics", "number_of_files"),
    visit=_visit,
    results="diagnostics",
    required=("diagnostics", "number_of_files"),
    finish=_finish,
)
