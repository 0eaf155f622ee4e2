"""The types of configuration values: what each takes, and what it says of what it does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from string import Formatter
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from sweeper.commands import argv
from sweeper.config.quantities import parse_bytes, parse_seconds
from sweeper.errors import ConfigError

PATTERN_GROUPS = frozenset({"path", "line", "column", "rule", "message", "severity"})
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


def _command(value: str | list[str]) -> str | list[str]:
    try:
        argv(value)
    except ConfigError as problem:
        raise ValueError(f"{problem}; {problem.hint}") from problem
    return value


def _some_command(value: str | list[str]) -> str | list[str]:
    if not argv(value):
        raise ValueError("expected a command, not nothing")
    return value


def _pattern(value: str) -> str:
    if not value:
        return value
    try:
        groups = re.compile(value).groupindex.keys()
    except re.error as problem:
        raise ValueError(f"not a regular expression: {problem}") from problem
    wrong = ({"path", "line"} - groups) | (groups - PATTERN_GROUPS)
    if wrong:
        raise ValueError(
            "expected the groups (?P<path>...) and (?P<line>...), and perhaps column, rule, message, severity; "
            f"missing or unknown: {', '.join(sorted(wrong))}"
        )
    return value


def _inside(value: str) -> str:
    if value.startswith("/") or ".." in value.split("/"):
        raise ValueError("expected a path inside the repository, relative to its top")
    return value


def _environment(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not name or "=" in name or "\0" in name + text:
            raise ValueError(f"no program can get a variable {name!r}: no name is empty or has '=', no text has a NUL")
    return value


def _host_port(value: str) -> str:
    if not re.fullmatch(r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}", value):
        raise ValueError('expected an address as "host:port", such as "api.example.com:443"')
    host, _, port = value.rpartition(":")
    if not 0 < int(port) < 1 << 16:
        raise ValueError(f"there is no port {port}")
    if host[0] != "[" and not all(0 < len(label) < 64 for label in host.split(".")):
        raise ValueError(f"no host can be called {host}")
    return value.lower()


def _sweep_name(value: str) -> str:
    if not re.fullmatch(NAME, value):
        raise ValueError("a sweep's name is letters, digits and, after the first one, '.', '_' and '-', at most 64")
    if ".." in value or value.endswith((".", ".lock")):
        raise ValueError("expected a name that a branch can have: no '..', no '.' or '.lock' at its end")
    return value


def _template(*names: str) -> Callable[[str], str]:
    """A validator: of "{...}" only these names may stand in the text."""

    def check(value: str) -> str:
        try:
            fields = [field for _, field, _, _ in Formatter().parse(value) if field is not None]
        except ValueError as problem:
            raise ValueError(f"not a template: {problem}") from problem
        if unknown := [field for field in fields if field not in names]:
            raise ValueError(f"unknown {{{unknown[0]}}}; known: {', '.join(f'{{{name}}}' for name in names)}")
        return value

    return check


def _branch_template(value: str) -> str:
    filled = _template("sweep")(value).replace("{sweep}", "s")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]*", filled) or any(
        not part or part.startswith(".") or part.endswith((".", ".lock")) or ".." in part for part in filled.split("/")
    ):
        raise ValueError("expected a branch's name, such as sweeper/{sweep}")
    if "{sweep}" not in value:
        raise ValueError("expected {sweep} in it: every sweep has a branch of its own")
    return value


_message_template = _template("sweep", "title", "rules", "units", "before", "after", "rung")
_title_template = _template("sweep", "part", "fixed", "remaining", "units")

Seconds = Annotated[
    float,
    BeforeValidator(parse_seconds),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*(ms|s|m|min|h|d)?\s*$"},
            ]
        }
    ),
]
Bytes = Annotated[
    int,
    BeforeValidator(parse_bytes),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*([kKmMgGtT]?[iI]?[bB])?\s*$"},
            ]
        }
    ),
]
Command = Annotated[str | list[str], AfterValidator(_command)]
CommandLine = Annotated[str, AfterValidator(_command)]
Environment = Annotated[dict[str, str], AfterValidator(_environment)]
HostPort = Annotated[str, AfterValidator(_host_port)]
Inside = Annotated[str, AfterValidator(_inside)]
Pattern = Annotated[str, AfterValidator(_pattern)]
SweepName = Annotated[str, AfterValidator(_sweep_name), WithJsonSchema({"type": "string", "pattern": NAME})]
SomeCommand = Annotated[Command, AfterValidator(_some_command)]
BranchTemplate = Annotated[str, AfterValidator(_branch_template)]
MessageTemplate = Annotated[str, AfterValidator(_message_template)]
TitleTemplate = Annotated[str, AfterValidator(_title_template)]
