"""Reading values of unknown shape: a literal table says where the parts of a result are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sweeper.backlog.parsed import Parsed, Raw, raw, whole

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


def named(value: Any, name: str) -> str | None:
    """The text of this member, "" if it is null; None if it is missing or something else."""
    found = value.get(name) if type(value) is dict else None
    if found is None and is_null(value, (name,)):
        return ""
    return found if isinstance(found, str) else None


def is_null(value: Any, path: Path) -> bool:
    """Whether one of these members is there and null, which is something else than another shape."""
    for name in path:
        if type(value) is not dict or name not in value:
            return False
        value = value[name]
        if value is None:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Fields:
    """Where the parts of one result are, and how they are counted.

    A result without a text for `file` or `message` has another shape; a `file` of null is a result that names no
    file. `rule` may be missing or null.
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

    def raw(
        self, value: Any, *, file: str | None = None, rule: str = "", severity: str = "", kind: str = ""
    ) -> Raw | None:
        """The result, None if it has another shape. `file`, `rule` and `severity` stand in for what it lacks."""
        name = at(value, self.file) if file is None else file
        message = at(value, self.message)
        if name is None and is_null(value, self.file):
            name = ""
        if not isinstance(name, str) or not isinstance(message, str):
            return None
        code = at(value, self.rule) if self.rule else None
        if code is not None and not isinstance(code, str):
            if not isinstance(code, int):
                return None
            code = str(code)
        if not severity:
            word = at(value, self.severity) if self.severity else None
            severity = self.severities.get(word.lower(), self.otherwise) if isinstance(word, str) else self.otherwise
        line, column = whole(at(value, self.line)), None
        if self.line_base == 0 and line is not None:
            line += 1
        if self.column and line:
            column = whole(at(value, self.column))
            if self.column_base == 0 and column is not None:
                column += 1
        return raw(name, line, column, code or rule, message, severity, kind)

    def ruled(self, value: Any, *, file: str | None = None) -> Raw | None:
        """As `raw`, and None also for a result that names no rule."""
        found = self.raw(value, file=file)
        return found if found is not None and found.rule else None

    def visit(self, value: Any, parsed: Parsed) -> bool:
        """Add a result as it is; False if its shape is not known, or it names no rule."""
        found = self.ruled(value)
        if found is not None:
            parsed.findings.append(found)
        return found is not None
