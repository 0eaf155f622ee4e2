"""RuboCop's JSON (`--format json`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.documents import malformed
from sweeper.backlog.formats.fields import Fields, at, named, record
from sweeper.backlog.parsed import Parsed

NAME = "rubocop-json"
FIELDS = Fields(
    file=("path",),
    line=("location", "start_line"),
    column=("location", "start_column"),
    rule=("cop_name",),
    message=("message",),
    severity=("severity",),
    severities={"info": "info", "refactor": "info", "convention": "info", "warning": "warning"},
)
OLD_FIELDS = replace(FIELDS, line=("location", "line"), column=("location", "column"))  # before version 0.52


def _visit(value: Any, parsed: Parsed) -> bool:
    """What a fixer has corrected on the way is no finding any more."""
    entry = record(value)
    path = named(entry, "path")
    if path is None or not isinstance(entry.get("offenses"), list):
        return False
    for offense in entry["offenses"]:
        fields = FIELDS if at(offense, FIELDS.line) is not None else OLD_FIELDS
        found = fields.ruled(record(offense), file=path)
        if found is None:
            malformed(parsed, offense)
        elif record(offense).get("corrected") is not True:
            parsed.findings.append(found)
    return True


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    files = at(members, ("summary", "inspected_file_count"))
    if type(files) is int:
        parsed.files = files


DOCUMENT = Document(
    names=("metadata", "files", "summary"),
    visit=_visit,
    results="files",
    required=("files", "summary", "metadata"),
    finish=_finish,
)
