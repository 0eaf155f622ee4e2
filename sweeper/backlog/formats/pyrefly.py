"""pyrefly's JSON (`--output-format json`)."""

from __future__ import annotations

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields

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


DOCUMENT = Document(names=("errors",), leads=True, visit=FIELDS.visit, results="errors", required=("errors",))
