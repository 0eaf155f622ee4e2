"""reviewdog's diagnostic format: one object (`rdjson`) or one diagnostic a line (`rdjsonl`)."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document, Lines
from sweeper.backlog.formats.fields import Fields, at, is_null, record, string
from sweeper.backlog.parsed import FATAL, SYNTAX, Parsed

NAME = "rdjson"
LINES_NAME = "rdjsonl"
FIELDS = Fields(
    file=("location", "path"),
    line=("location", "range", "start", "line"),
    column=("location", "range", "start", "column"),
    rule=("code", "value"),
    message=("message",),
    severity=("severity",),
    severities={"warning": "warning", "info": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    entry = record(value)
    if not isinstance(entry.get("location"), dict) and not is_null(entry, ("location",)):
        return False
    if isinstance(entry.get("code"), str):
        entry = {**entry, "code": {"value": entry["code"]}}
    if entry.get("severity") in (1, 2, 3):  # protobuf's numbers
        entry = {**entry, "severity": ("error", "warning", "info")[entry["severity"] - 1]}
    found = FIELDS.raw(entry)
    if found is None:
        return False
    if found.rule.startswith("fs/") and string(at(entry, ("source", "name"))) in ("", "Biome"):
        found = found._replace(kind=SYNTAX)  # Biome's "cannot read this file"
    elif found.rule.startswith("internalError/"):
        found = found._replace(kind=FATAL)  # Biome failed on the file
    parsed.findings.append(found)
    return True


DOCUMENT = Document(names=("diagnostics",), visit=_visit, results="diagnostics", required=("diagnostics",))
LINES = Lines(names=("message", "location"), visit=_visit)
