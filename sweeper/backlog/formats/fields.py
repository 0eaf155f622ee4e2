"""Reading values of unknown shape: a literal table says where the parts of a result are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sweeper.backlog.parsed import Raw, raw

Path = tuple[str, ...]


def record(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def at(value: Any, path: Path) -> Any:
    """The value below these member names, None where one of them is missing."""
    for name in path:
        if type(value) is not dict:
            return None
        value = value.get(name)
    return value


@dataclass(frozen=True, slots=True)
class Fields:
    """Where the parts of one result are, and how they are counted.

    A result without a text for `file` or `message` has another shape. `rule` may be missing or null.
    `severities` maps the tool's words, compared without regard to case; `otherwise` is what other words mean.
    `line_base` and `column_base`: the number of the first line and column.
    """

    file: Path
    line: Path
    message: Path
    column: Path = ()
    rule: Path = ()
    severity: Path = ()
    severities: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = "error"
    line_base: int = 1
    column_base: int = 1

    def raw(self, value: Any, *, file: str | None = None, rule: str = "", kind: str = "") -> Raw | None:
        """The result, None if it has another shape. `file` and `rule` stand in for what the result lacks."""
        name = at(value, self.file) if file is None else file
        message = at(value, self.message)
        if not isinstance(name, str) or not isinstance(message, str):
            return None
        code = at(value, self.rule) if self.rule else None
        if code is not None and not isinstance(code, str):
            if not isinstance(code, int):
                return None
            code = str(code)
        word = at(value, self.severity) if self.severity else None
        severity = self.severities.get(word.lower(), self.otherwise) if isinstance(word, str) else self.otherwise
        line, column = at(value, self.line), None
        if self.line_base == 0 and type(line) is int:
            line += 1
        if self.column and line:
            column = at(value, self.column)
            if self.column_base == 0 and type(column) is int:
                column += 1
        return raw(name, line, column, code or rule, message, severity, kind)
