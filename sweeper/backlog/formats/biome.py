"""Biome's own JSON (`--reporter json`), which it calls experimental; its rdjson is asked for instead."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, at
from sweeper.backlog.parsed import SYNTAX, Parsed

NAME = "biome-json"
FIELDS = Fields(
    file=("location", "path"),
    line=("location", "start", "line"),
    column=("location", "start", "column"),
    rule=("category",),
    message=("message",),
    severity=("severity",),
    severities={"warning": "warning", "information": "info", "hint": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    found = FIELDS.raw(value)
    if found is None:
        return False
    if found.rule.startswith("fs/"):  # the file could not be read
        found = found._replace(kind=SYNTAX)
    parsed.findings.append(found)
    return True


def _finish(members: dict[str, Any], parsed: Parsed) -> None:
    counts = [at(members, ("summary", name)) for name in ("changed", "unchanged")]
    if all(type(number) is int for number in counts):
        parsed.files = sum(counts)
    hidden = at(members, ("summary", "diagnosticsNotPrinted"))
    if type(hidden) is int and hidden > 0:
        parsed.incomplete = f"{hidden} diagnostics were not printed"


DOCUMENT = Document(
    names=("diagnostics", "summary", "command"),
    visit=_visit,
    results="diagnostics",
    required=("diagnostics", "summary", "command"),
    finish=_finish,
)
