"""pylint's JSON: `json2` (an object with statistics) and the older `json` (an array)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, at, record
from sweeper.backlog.parsed import Parsed

NAME = "pylint-json2"
OLD_NAME = "pylint-json"
FIELDS = Fields(
    file=("path",),
    line=("line",),
    column=("column",),
    column_base=0,
    rule=("messageId",),
    message=("message",),
    severity=("type",),
    severities={"warning": "warning", "refactor": "info", "convention": "info", "info": "info"},
)
OLD_FIELDS = replace(FIELDS, rule=("message-id",))


def _visit(value: Any, parsed: Parsed) -> bool:
    fields = OLD_FIELDS if "message-id" in record(value) else FIELDS
    found = fields.ruled(value)
    if found is None:
        return False
    parsed.findings.append(found)
    return True


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    linted = at(members, ("statistics", "modulesLinted"))
    if type(linted) is int:
        parsed.files = linted


DOCUMENT = Document(
    names=("messages", "statistics"),
    visit=_visit,
    results="messages",
    required=("messages", "statistics"),
    finish=_finish,
)
OLD = Document(names=("path", "symbol", "message-id"), visit=_visit)
