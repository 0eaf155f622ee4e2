"""mypy's JSON lines (`--output json`). Notes belong to the error before them and are no findings."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Lines
from sweeper.backlog.formats.fields import Fields, record
from sweeper.backlog.parsed import Parsed

NAME = "mypy-json"
FIELDS = Fields(
    file=("file",),
    line=("line",),
    column=("column",),
    column_base=0,
    rule=("code",),
    message=("message",),
    severity=("severity",),
    severities={"note": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    found = FIELDS.raw(value) if {"file", "severity", "code"} <= record(value).keys() else None
    if found is None:
        return False
    if record(value)["severity"] != "note":
        parsed.findings.append(found)
    return True


LINES = Lines(names=("file", "line", "message", "severity", "code", "hint"), visit=_visit)
