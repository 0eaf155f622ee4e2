"""Biome's own JSON (`--reporter json`), which it calls experimental; its rdjson is asked for instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, at, items
from sweeper.backlog.parsed import FATAL, SYNTAX, Parsed

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


OLD_FIELDS = replace(
    FIELDS, file=("location", "path", "file"), line=("line",), column=("column",), message=("description",)
)


def _visit(value: Any, parsed: Parsed) -> bool:
    found = OLD_FIELDS.raw(_placed(value)) if isinstance(at(value, ("location", "path")), dict) else FIELDS.raw(value)
    if found is None:
        return False
    if found.rule.startswith("fs/"):  # the file could not be read
        found = found._replace(kind=SYNTAX)
    elif found.rule.startswith("internalError/"):
        found = found._replace(kind=FATAL)
    parsed.findings.append(found)
    return True


def _placed(value: dict[str, Any]) -> dict[str, Any]:
    """A diagnostic of version 1 with line and column, for which it gives an offset into the text, in bytes."""
    span, text = at(value, ("location", "span")), at(value, ("location", "sourceCode"))
    if not isinstance(text, str) or not items(span) or type(span[0]) is not int or span[0] < 0:
        return value
    before = text.encode("utf-8", "replace")[: span[0]].decode("utf-8", "replace")
    return {**value, "line": before.count("\n") + 1, "column": len(before) - before.rfind("\n")}


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
