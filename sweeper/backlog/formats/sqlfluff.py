"""SQLFluff's JSON (`--format json`): one element a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.documents import malformed
from sweeper.backlog.formats.fields import Fields, named, record
from sweeper.backlog.parsed import Parsed

NAME = "sqlfluff-json"
FIELDS = Fields(
    file=("filepath",),
    line=("start_line_no",),
    column=("start_line_pos",),
    rule=("code",),
    message=("description",),
)
OLD_FIELDS = replace(FIELDS, line=("line_no",), column=("line_pos",))


def _visit(value: Any, parsed: Parsed) -> bool:
    entry = record(value)
    path = named(entry, "filepath")
    if path is None or not isinstance(entry.get("violations"), list):
        return False
    for violation in entry["violations"]:
        fields = OLD_FIELDS if "line_no" in record(violation) else FIELDS
        found = fields.ruled(record(violation), file=path)
        if found is None:
            malformed(parsed, violation)
        else:
            warning = record(violation).get("warning") is True
            parsed.findings.append(found._replace(severity="warning") if warning else found)
    return True


DOCUMENT = Document(names=("filepath", "violations"), visit=_visit, counts=True)
