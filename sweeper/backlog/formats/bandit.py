"""Bandit's JSON (`-f json`). It ends with exit code 0 when it could read no file at all."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, items, record, string
from sweeper.backlog.parsed import SYNTAX, Parsed, raw

NAME = "bandit-json"
FIELDS = Fields(
    file=("filename",),
    line=("line_number",),
    column=("col_offset",),
    column_base=0,
    rule=("test_id",),
    message=("issue_text",),
    severity=("issue_severity",),
    severities={"medium": "warning", "low": "info", "undefined": "info"},
)


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    metrics = record(members.get("metrics"))
    if metrics:
        parsed.files = len(metrics.keys() - {"_totals"})
    for error in items(members.get("errors")):
        entry = record(error)
        reason = string(entry.get("reason"))
        parsed.findings.append(raw(string(entry.get("filename")), 0, 0, "syntax-error", reason, "error", SYNTAX))


DOCUMENT = Document(
    names=("results", "metrics", "generated_at"),
    visit=FIELDS.visit,
    results="results",
    required=("results", "errors", "metrics"),
    finish=_finish,
)
