"""`go vet -json`: for each package a comment line and an object package -> analyser -> diagnostics."""

from __future__ import annotations

import json
import re
from typing import Any

from sweeper.backlog.formats import documents
from sweeper.backlog.formats.fields import items, record, string
from sweeper.backlog.formats.lines import digits
from sweeper.backlog.formats.residue import around, count, leftover
from sweeper.backlog.parsed import Parsed, plain, raw, strip_ansi

NAME = "go-vet-json"
_POSITION = re.compile(r"(?s)^(.+?):(\d+)(?::(\d+))?$")
_PACKAGE = re.compile(r"(?m)^# \S+( \[[^\]\n]*\])?[ \t\r]*$\n?")
_PLAIN_EMPTY = re.compile(r"\{\s*\}")


def looks_like(text: str) -> bool:
    opening = documents.opening(text)
    return '"posn"' in opening or (bool(_PACKAGE.search(text)) and bool(_PLAIN_EMPTY.match(opening)))


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    """Compile errors stand between the objects as text: then not everything was looked at."""
    parsed = Parsed()
    text = strip_ansi(stdout + b"\n" + stderr).decode("utf-8", "surrogateescape")

    def read(text: str, start: int) -> int | None:
        try:
            value, end = documents.decode(text, start)
        except json.JSONDecodeError:
            raise
        if not isinstance(value, dict):
            return None
        for analysers in value.values():
            for analyser, diagnostics in record(analysers).items():
                _add(analyser, diagnostics, parsed)
            if not isinstance(analysers, dict):
                documents.malformed(parsed, analysers)
        return end

    try:
        texts = documents.find(text, read)
    except documents.Broken as error:
        return Parsed(failed=str(error), unparsed=count(text))
    around_text = [_PACKAGE.sub("", part) for part in (texts if texts is not None else [text])]
    if texts is None:
        return leftover(parsed, "\n".join(around_text).splitlines())
    parsed.understood = parsed.malformed == 0
    parsed.unparsed = parsed.malformed
    around(parsed, *around_text)
    if parsed.residue and not parsed.malformed:
        parsed.incomplete = parsed.incomplete or parsed.residue
    return parsed


def _add(analyser: str, diagnostics: Any, parsed: Parsed) -> None:
    if isinstance(diagnostics, dict) and "error" in diagnostics:
        parsed.incomplete = parsed.incomplete or plain(f"{analyser}: {diagnostics['error']}", 300)
        return
    if not isinstance(diagnostics, list):
        documents.malformed(parsed, diagnostics)
    for diagnostic in items(diagnostics):
        entry = record(diagnostic)
        place = _POSITION.match(string(entry.get("posn")))
        if place is None or not isinstance(entry.get("message"), str):
            documents.malformed(parsed, diagnostic)
            continue
        parsed.findings.append(raw(place[1], digits(place[2]), digits(place[3]), analyser, entry["message"], "error"))
