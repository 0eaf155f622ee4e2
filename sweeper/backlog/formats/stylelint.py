"""Stylelint's JSON (`--formatter json`): one element a file. Since version 16 it is printed on stderr."""

from __future__ import annotations

import re
from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.documents import malformed
from sweeper.backlog.formats.fields import Fields, items, named, record, string
from sweeper.backlog.parsed import IGNORED, SYNTAX, Parsed, plain, raw

NAME = "stylelint-json"
FIELDS = Fields(
    file=("source",),
    line=("line",),
    column=("column",),
    rule=("rule",),
    message=("text",),
    severity=("severity",),
    severities={"warning": "warning"},
)
_RULE_AT_END = re.compile(r" \([\w/@-]+\)$")


def _visit(value: Any, parsed: Parsed) -> bool:
    entry = record(value)
    path = named(entry, "source")
    if path is None or not isinstance(entry.get("warnings"), list):
        return False
    if entry.get("ignored") is True:
        parsed.findings.append(raw(path, 0, 0, "", "ignored by stylelint", "info", IGNORED))
    for warning in entry["warnings"]:
        found = FIELDS.raw(record(warning), file=path)
        if found is None:
            malformed(parsed, warning)
        elif found.message == f"Unknown rule {found.rule}." or found.message.startswith(f"Unknown rule {found.rule}. "):
            parsed.incomplete = parsed.incomplete or f"stylelint's configuration: {found.message}"
        else:
            parsed.findings.append(found._replace(message=_RULE_AT_END.sub("", found.message)))
    for error in items(entry.get("parseErrors")):
        text = string(record(error).get("text")) or "does not parse"
        parsed.findings.append(raw(path, record(error).get("line"), 0, "parse-error", text, "error", SYNTAX))
    for warning in items(entry.get("invalidOptionWarnings")):
        parsed.incomplete = parsed.incomplete or plain(string(record(warning).get("text")), 300)
    return True


DOCUMENT = Document(names=("source", "warnings"), visit=_visit, counts=True)
