"""Semgrep's JSON (`--json`)."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, at, items, record, string
from sweeper.backlog.parsed import IGNORED, Parsed, plain, raw

NAME = "semgrep-json"
FIELDS = Fields(
    file=("path",),
    line=("start", "line"),
    column=("start", "col"),
    rule=("check_id",),
    message=("extra", "message"),
    severity=("extra", "severity"),
    severities={"warning": "warning", "medium": "warning", "info": "info", "low": "info", "inventory": "info"},
)
# Of the reasons why a file was skipped, those that nobody asked for.
_TOO_LARGE = frozenset({"exceeded_size_limit", "too_big", "minified"})
_FAILED = frozenset({"analysis_failed_parser_or_internal_error", "too_many_matches", "insufficient_permissions"})


def _visit(value: Any, parsed: Parsed) -> bool:
    found = FIELDS.ruled(value)
    if found is None:
        return False
    if at(value, ("extra", "is_ignored")) is not True:
        parsed.findings.append(found)
    return True


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    scanned = at(members, ("paths", "scanned"))
    if isinstance(scanned, list):
        parsed.files = (parsed.files or 0) + len(scanned)
    for error in items(members.get("errors")):
        said = plain(string(record(error).get("message")), 300) or "an error without a message"
        if record(error).get("level") == "error" and not parsed.findings:
            parsed.failed = parsed.failed or f"semgrep reports: {said}"
        parsed.incomplete = parsed.incomplete or said
    for skipped in items(at(members, ("paths", "skipped"))):
        path, reason = string(record(skipped).get("path")), string(record(skipped).get("reason"))
        if reason in _TOO_LARGE:
            parsed.findings.append(raw(path, 0, 0, "", f"skipped by semgrep: {reason}", "info", IGNORED))
        elif reason in _FAILED:
            parsed.incomplete = parsed.incomplete or plain(f"{path}: {reason}", 300)


DOCUMENT = Document(
    names=("results", "errors", "paths"),
    visit=_visit,
    results="results",
    required=("results", "errors", "paths"),
    finish=_finish,
)
