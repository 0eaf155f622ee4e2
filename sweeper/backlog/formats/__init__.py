"""The formats, one module each: name -> how to recognise and how to parse it.

A new format is a module with `looks_like(text) -> bool` and `parse(stdout, stderr) -> Parsed`, and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sweeper.backlog.formats import ruff_json, sarif, text
from sweeper.backlog.parsed import Parsed


@dataclass(frozen=True, slots=True)
class Format:
    """`looks_like` gets the head of an output (escapes stripped); rows are asked in the table's order."""

    parse: Callable[[bytes, bytes], Parsed]
    looks_like: Callable[[str], bool]


FORMATS: dict[str, Format] = {
    sarif.NAME: Format(sarif.parse, sarif.looks_like),
    ruff_json.LINES_NAME: Format(ruff_json.parse_lines, ruff_json.looks_like_lines),
    ruff_json.NAME: Format(ruff_json.parse, ruff_json.looks_like),
    text.NAME: Format(text.parse, text.looks_like),
}
