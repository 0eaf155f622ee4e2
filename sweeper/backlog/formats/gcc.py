"""gcc's JSON (`-fdiagnostics-format=json`): one array a compiled file. Its text is the format `text`."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, items, record
from sweeper.backlog.parsed import FATAL, SYNTAX, Parsed

NAME = "gcc-json"
FIELDS = Fields(
    file=("caret", "file"),
    line=("caret", "line"),
    column=("caret", "column"),
    rule=("option",),
    message=("message",),
    severity=("kind",),
    severities={"warning": "warning"},
)
# What ends the compiling of a file before all of it was looked at.
KINDS = {"fatal error": SYNTAX, "internal compiler error": FATAL}


def _visit(value: Any, parsed: Parsed) -> bool:
    """Notes are children of what they explain; one that stands alone explains nothing that is ours."""
    entry = record(value)
    if not isinstance(entry.get("kind"), str):
        return False
    if entry["kind"] == "note":
        return True
    locations = items(entry.get("locations"))
    place = record(locations[0]).get("caret") if locations else {"file": ""}
    found = FIELDS.raw({**entry, "caret": place})
    if found is None:
        return False
    parsed.findings.append(found._replace(kind=KINDS.get(entry["kind"], found.kind)))
    return True


DOCUMENT = Document(names=("kind", "locations", "message", "caret"), visit=_visit)
