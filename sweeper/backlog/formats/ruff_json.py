"""ruff's JSON, as one array (`--output-format json`) or one object a line (`json-lines`)."""

from __future__ import annotations

import json
from typing import Any

from sweeper.backlog.formats import documents
from sweeper.backlog.formats.residue import around, count, no_document
from sweeper.backlog.parsed import SYNTAX, Parsed, Raw, plain, raw, strip_ansi

NAME = "ruff-json"
LINES_NAME = "ruff-json-lines"


def looks_like(text: str) -> bool:
    """`text`: the head of an output without escapes."""
    for start in documents.starts(text):
        rest = text[start : start + 4096].lstrip("[ \t\r\n")
        if text[start] == "[" and (rest.startswith("]") or (rest.startswith("{") and _named(rest))):
            return True
        if text.startswith("null", start):
            return True
    return False


def looks_like_lines(text: str) -> bool:
    first = next((line for line in text.splitlines() if line.startswith("{")), "")
    return _named(first) and '"location"' in first


def _named(text: str) -> bool:
    return '"code"' in text and '"filename"' in text


def element(value: Any) -> Raw | None:
    """One diagnostic; None for another shape (`--statistics` prints objects without a place)."""
    if not isinstance(value, dict) or "code" not in value:
        return None
    path, place, message, code = value.get("filename"), value.get("location"), value.get("message"), value["code"]
    if not isinstance(path, str) or not isinstance(message, str) or not isinstance(code, str | None):
        return None
    where = place if isinstance(place, dict) else {}
    severity = value.get("severity")
    return raw(
        path,
        where.get("row"),
        where.get("column"),
        code or "invalid-syntax",  # versions before 0.15 gave syntax errors no code
        message,
        severity if severity in ("warning", "info") else "error",
        SYNTAX if code is None else "",
    )


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    """An array of diagnostics; `null` is an empty one."""
    parsed = Parsed()
    text = strip_ansi(stdout).decode("utf-8", "surrogateescape")

    def visit(value: Any) -> None:
        found = element(value)
        if found is None:
            parsed.malformed += 1
            parsed.residue = parsed.residue or plain(repr(value)[:400], 200)
        else:
            parsed.findings.append(found)

    def read(text: str, start: int) -> int | None:
        parsed.findings.clear()
        parsed.malformed = 0
        if text[start] == "n":
            return start + len("null")
        return documents.array(text, start, visit) if text[start] == "[" else None

    try:
        place = documents.find(text, read)
    except documents.Broken as error:
        return Parsed(failed=str(error), unparsed=count(text))
    if place is None:
        return no_document(text)
    parsed.understood = parsed.malformed == 0
    parsed.unparsed = parsed.malformed
    return around(parsed, *place)


def parse_lines(stdout: bytes, stderr: bytes) -> Parsed:
    parsed = Parsed()
    rest: list[str] = []
    for line in strip_ansi(stdout).decode("utf-8", "surrogateescape").split("\n"):
        if not line.strip():
            continue
        try:
            found = element(json.loads(line)) if line.startswith("{") else None
        except ValueError:
            found = None
        if found:
            parsed.findings.append(found)
        else:
            rest.append(line)
    parsed.understood = bool(parsed.findings) and not rest
    return around(parsed, *rest)
