"""typos' JSON lines (`--format json`). A typo in a file's name has no line."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Lines
from sweeper.backlog.formats.fields import items, record, string
from sweeper.backlog.parsed import Parsed, number, plain, raw

NAME = "typos-json"


def _visit(value: Any, parsed: Parsed) -> bool:
    """The place is a byte offset within its line, counted from 0."""
    entry = record(value)
    kind = entry.get("type")
    if kind == "error":
        parsed.incomplete = parsed.incomplete or plain(string(entry.get("message")), 300) or "typos failed on a file"
        return True
    if kind in ("binary_file", "file_type", "file", "parse"):
        return True
    path, typo = entry.get("path"), entry.get("typo")
    if kind != "typo" or not isinstance(path, str) or not isinstance(typo, str):
        return False
    line = number(entry.get("line_num"))
    column = number(entry.get("byte_offset")) + 1 if line else 0
    right = ", ".join(f"`{word}`" for word in items(entry.get("corrections"))[:10])
    message = f"`{typo}` should be {right}" if right else f"`{typo}` is not allowed"
    parsed.findings.append(raw(path, line, column, "typo", message, "error"))
    return True


LINES = Lines(names=("type", "path"), visit=_visit)
