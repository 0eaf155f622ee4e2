"""tsc's lines with `--pretty false`, `file(line,column): error TS1234: text`; MSBuild's and pylint's `msvs` too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sweeper.backlog.formats.lines import TextLines, each_line
from sweeper.backlog.formats.residue import leftover
from sweeper.backlog.parsed import SYNTAX, Parsed, Raw, plain

NAME = "tsc"
_GLOBAL = re.compile(r"^error TS\d+: ")
_PARSER = re.compile(r"TS1\d{3}")
_LEVELS = {"warning": "warning", "info": "info", "message": "info"}
TEXT = TextLines(
    re.compile(
        r"^(?P<path>[^\r\n]+?)\((?P<line>\d{1,9})(?:,(?P<column>\d{1,9}))?\): "
        r"(?:\[(?P<code>[A-Z]\d{4})[^\]]*\] |(?P<severity>error|warning|info|message) (?P<rule>[A-Za-z]+\d+): )"
        r"(?P<message>.*)$"
    ),
    _LEVELS,
)


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    """Indented lines go on with the message before them. An error without a file is one of the run itself."""
    parsed = Parsed()
    trouble: list[str] = []

    def others() -> Iterator[str]:
        for data in (stdout, stderr):
            for line in each_line(data):
                match = TEXT.pattern.match(line)
                if match:
                    found = TEXT._raw(match)
                    assert found is not None
                    code = match["code"] or found.rule
                    kind = SYNTAX if _PARSER.fullmatch(code) else found.kind
                    parsed.findings.append(found._replace(rule=code, kind=kind))
                elif not (line.startswith(" ") and parsed.findings):
                    if _GLOBAL.match(line) and not trouble:
                        trouble.append(plain(line, 300))
                    yield line

    leftover(parsed, others())
    if trouble and parsed.findings:
        parsed.incomplete = trouble[0]
    elif trouble:
        parsed.failed = trouble[0]
    return parsed


def render(found: Raw) -> str:
    return f"{found.path}({found.line},{found.column}): {found.severity} {found.rule}: {found.message}"
