"""ShellCheck's JSON: `json1` (an object) and the older `json` (an array, tabs counted as eight columns)."""

from __future__ import annotations

import re
from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields
from sweeper.backlog.parsed import SYNTAX, Parsed

NAME = "shellcheck-json1"
OLD_NAME = "shellcheck-json"
FIELDS = Fields(
    file=("file",),
    line=("line",),
    column=("column",),
    rule=("code",),
    message=("message",),
    severity=("level",),
    severities={"warning": "warning", "info": "info", "style": "info"},
)
_PARSER = re.compile(r"1\d{3}")
_WHERE = "1009"  # "The mentioned syntax error was in this ..."


def _visit(value: Any, parsed: Parsed) -> bool:
    """Codes 1000 to 1999 are the parser's: at level "error" the script was not looked at any further."""
    found = FIELDS.ruled(value)
    if found is None:
        return False
    found = found._replace(rule=found.rule.removeprefix("SC"))
    not_parsed = _PARSER.fullmatch(found.rule) and found.severity == "error"
    kind = SYNTAX if not_parsed or found.rule == _WHERE else found.kind
    parsed.findings.append(found._replace(rule=f"SC{found.rule}", kind=kind))
    return True


DOCUMENT = Document(names=("comments",), leads=True, visit=_visit, results="comments", required=("comments",))
OLD = Document(names=("file", "line", "endLine", "level", "code", "fix"), visit=_visit)
