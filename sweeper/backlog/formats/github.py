"""GitHub's annotations: workflow commands (`::error file=...::text`), or the JSON of its checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields
from sweeper.backlog.formats.lines import digits, each_line
from sweeper.backlog.formats.residue import leftover
from sweeper.backlog.parsed import Parsed, Raw, raw

NAME = "github"
JSON_NAME = "github-json"
# As the runner reads them: whatever the case, and with space before them.
_COMMAND = re.compile(r"^\s*::(error|warning|notice) ([^\r\n]*?)::(.*)$", re.I)
_GROUP = re.compile(r"^::(?:end)?group::")
_PROPERTY = re.compile(r"(?:^|,)\s*([A-Za-z]+)=((?:[^,]|,(?!\s*[A-Za-z]+=))*)")
_SEVERITY = {"error": "error", "warning": "warning", "notice": "info"}
_TITLE = re.compile(r"^(?:[\w .-]+ \(([^()]+)\)|(?:Pyrefly|Ruff) (\S+)|([\w./@-]+(?:\([\w./@-]+\))?))$")
_PLACE = re.compile(r"^\d+:\d+ (?=\[)|^(?:[^\s:]+:)?\d+(?::\d+)?: ?")
_RULE = re.compile(r"^(?:\[([\w./-]+)\]|([A-Z][A-Za-z]*/[A-Z]\w+):|([A-Z]{1,6}\d{2,6}):?) ")
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}


def looks_like(text: str) -> bool:
    return any(_COMMAND.match(line) for line in text.splitlines())


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    parsed = Parsed()

    def others() -> Iterator[str]:
        for data in (stdout, stderr):
            for line in each_line(data):
                match = _COMMAND.match(line)
                if match:
                    parsed.findings.append(_raw(match))
                elif not _GROUP.match(line):
                    yield line

    return leftover(parsed, others())


def _raw(match: re.Match[str]) -> Raw:
    properties = {name.lower(): _unescape(value) for name, value in _PROPERTY.findall(match[2])}
    message = _unescape(match[3]).partition("\n  help: ")[0]
    title = _TITLE.match(properties.get("title", ""))
    rule = next((name for name in title.groups() if name), "") if title else ""
    message = _PLACE.sub("", message, count=1)
    if not rule:
        named = _RULE.match(message)
        if named:
            rule, message = next(name for name in named.groups() if name), message[named.end() :]
    for prefix in (f"{rule}: ", f"{rule} ", f"[{rule}] "):
        if rule and message.startswith(prefix):
            message = message[len(prefix) :]
            break
    path, line, column = properties.get("file", ""), digits(properties.get("line")), digits(properties.get("col"))
    return raw(path, line, column, rule, message, _SEVERITY[match[1].lower()])


def _unescape(text: str) -> str:
    return unquote(text, errors="surrogateescape") if "%" in text else text


def render(found: Raw) -> str:
    """One finding as a workflow command that `parse` reads back."""

    def escape(text: str, characters: str) -> str:
        return "".join(_ESCAPES[c] if c in characters else c for c in text)

    properties = {"file": found.path, "line": found.line, "col": found.column, "title": found.rule}
    listed = ",".join(f"{name}={escape(str(value), ''.join(_ESCAPES))}" for name, value in properties.items() if value)
    command = next(word for word, severity in _SEVERITY.items() if severity == found.severity)
    return f"::{command} {listed}::{escape(found.message, '%' + chr(13) + chr(10))}"


FIELDS = Fields(
    file=("file",),
    line=("start_line",),
    column=("start_column",),
    message=("message",),
    severity=("annotation_level",),
    severities={"warning": "warning", "notice": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    found = FIELDS.raw(value)
    if found is None:
        return False
    named = _RULE.match(found.message)
    if named:
        rule = next(name for name in named.groups() if name)
        found = raw(found.path, found.line, found.column, rule, found.message[named.end() :], found.severity)
    parsed.findings.append(found)
    return True


DOCUMENT = Document(names=("file", "start_line", "annotation_level"), visit=_visit)
