"""ESLint's JSON (`--format json`, and `json-with-metadata`): one element a file, also for files without findings."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.documents import malformed
from sweeper.backlog.formats.fields import Fields, items, named, record
from sweeper.backlog.parsed import IGNORED, SYNTAX, Parsed

NAME = "eslint-json"
META_NAME = "eslint-json-with-metadata"
FIELDS = Fields(file=("filePath",), line=("line",), column=("column",), rule=("ruleId",), message=("message",))


def _visit(value: Any, parsed: Parsed) -> bool:
    path = named(value, "filePath")
    if path is None or not isinstance(value.get("messages"), list):
        return False
    for message in value["messages"]:
        entry = record(message)
        kind = ""
        if entry.get("fatal") is True:
            kind = SYNTAX
        elif entry.get("ruleId") is None and not entry.get("line") and _is_ignored(entry):
            kind = IGNORED
        severity = "warning" if entry.get("severity") == 1 else "error"
        found = FIELDS.raw(entry, file=path, rule="fatal" if kind == SYNTAX else "", severity=severity, kind=kind)
        if found is None:
            malformed(parsed, message)
        else:
            parsed.findings.append(found)
    return True


def _is_ignored(entry: dict[str, Any]) -> bool:
    """A warning about a file as a whole, with no rule: ESLint didn't look at it."""
    return "ignored" in str(entry.get("message")).lower()


def _meta(value: Any, parsed: Parsed) -> bool:
    parsed.files = (parsed.files or 0) + 1
    return _visit(value, parsed)


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    parsed.files = parsed.files or 0
    if members.get("results") is None and not items(members.get("results")):
        malformed(parsed, members)


DOCUMENT = Document(names=("filePath", "messages"), visit=_visit, counts=True)
META = Document(
    names=("filePath", "messages", "metadata"),
    visit=_meta,
    results="results",
    required=("results", "metadata"),
    finish=_finish,
)
