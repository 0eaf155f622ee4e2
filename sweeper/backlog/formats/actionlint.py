"""actionlint's JSON (`-format '{{json .}}'`, or one object a line)."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document, Lines
from sweeper.backlog.formats.fields import Fields
from sweeper.backlog.parsed import Parsed

NAME = "actionlint-json"
LINES_NAME = "actionlint-json-lines"
FIELDS = Fields(file=("filepath",), line=("line",), column=("column",), rule=("kind",), message=("message",))


def _visit(value: Any, parsed: Parsed) -> bool:
    found = FIELDS.raw(value)
    if found is None or not found.rule:
        return False
    parsed.findings.append(found)
    return True


DOCUMENT = Document(names=("message", "filepath", "line", "kind"), visit=_visit)
LINES = Lines(names=("message", "filepath", "line", "kind"), visit=_visit)
