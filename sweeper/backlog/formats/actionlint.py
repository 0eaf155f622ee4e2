"""actionlint's JSON (`-format '{{json .}}'`, or one object a line)."""

from __future__ import annotations

from sweeper.backlog.formats.declared import Document, Lines
from sweeper.backlog.formats.fields import Fields

NAME = "actionlint-json"
LINES_NAME = "actionlint-json-lines"
FIELDS = Fields(file=("filepath",), line=("line",), column=("column",), rule=("kind",), message=("message",))


DOCUMENT = Document(names=("message", "filepath", "line", "kind"), visit=FIELDS.visit)
LINES = Lines(names=("message", "filepath", "line", "kind"), visit=FIELDS.visit)
