"""GitLab's and Code Climate's report: an array of issues, or issues one after the other with NUL between them."""

from __future__ import annotations

import json
from typing import Any

from sweeper.backlog.formats import documents
from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, at, record, string
from sweeper.backlog.parsed import Parsed, strip_ansi

NAME = "gitlab"
STREAM_NAME = "codeclimate"
_SEVERITIES = {"info": "info", "minor": "warning", "major": "error", "critical": "error", "blocker": "error"}
FIELDS = Fields(
    file=("location", "path"),
    line=("line",),
    column=("column",),
    rule=("check_name",),
    message=("description",),
    severity=("severity",),
    severities=_SEVERITIES,
)
_LINES = (("location", "lines", "begin"), ("location", "positions", "begin", "line"))


def _visit(value: Any, parsed: Parsed) -> bool:
    entry = record(value)
    line = next((number for path in _LINES if (number := at(entry, path)) is not None), None)
    if isinstance(line, dict):  # some tools print a position where the line should be
        line = line.get("line")
    column = at(entry, ("location", "positions", "begin", "column"))
    found = FIELDS.raw({**entry, "line": line, "column": column})
    if found is None:
        return False
    prefix = f"{found.rule}: "
    parsed.findings.append(found._replace(message=found.message.removeprefix(prefix)) if found.rule else found)
    return True


DOCUMENT = Document(names=("description", "location", "path", "fingerprint"), visit=_visit)


def looks_like_stream(text: str) -> bool:
    first = documents.first_object(text.replace("\0", " "))
    return {"description", "location", "check_name", "categories"} <= first.keys()


def parse_stream(stdout: bytes, stderr: bytes) -> Parsed:
    """Issues with NUL bytes, spaces or line ends between them: read as the array that they are part of."""
    text = strip_ansi(stdout).decode("utf-8", "surrogateescape").replace("\0", " ").strip()
    parts: list[str] = []
    index = 0
    while index < len(text):
        try:
            value, end = documents.decode(text, index)
        except json.JSONDecodeError:
            break
        if not string(record(value).get("description")):
            break
        parts.append(text[index:end])
        index = len(text) - len(text[end:].lstrip())
    rest = text[index:]
    return DOCUMENT.parse(f"[{','.join(parts)}]\n{rest}".encode("utf-8", "surrogateescape"), b"")
