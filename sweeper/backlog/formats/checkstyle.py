"""checkstyle's XML, the format that most linters can print."""

from __future__ import annotations

import re

from sweeper.backlog.formats.lines import digits
from sweeper.backlog.formats.xml import element, skeleton
from sweeper.backlog.parsed import Parsed, raw

NAME = "checkstyle"
_SEVERITY = {"warning": "warning", "info": "info", "ignore": "info"}
_RULE_PREFIX = re.compile(r"^(?:eslint\.rules\.|com\.puppycrawl\.tools\.checkstyle\.checks\.(?:\w+\.)*)")
_RULE_AT_END = re.compile(r" \(([\w/@-]+)\)$")


def looks_like(text: str) -> bool:
    return bool(re.search(r"<checkstyle[\s>]", text))


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    """The rule is the error's source; ESLint repeats it at the end of the message."""
    parsed, root = skeleton("checkstyle", stdout, stderr)
    for file in root.iter("file") if root is not None else ():
        for error in file.iter("error"):
            rule = _RULE_PREFIX.sub("", error.get("source", ""))
            message = error.get("message", "")
            named = _RULE_AT_END.search(message)
            if named and named[1] == rule:
                message = message[: named.start()]
            severity = _SEVERITY.get(error.get("severity", "error"), "error")
            line, column = digits(error.get("line")), digits(error.get("column"))
            parsed.findings.append(raw(element(file.get("name", "")), line, column, rule, message, severity))
        for exception in file.iter("exception"):
            parsed.incomplete = parsed.incomplete or (exception.text or "an exception").strip()[:300]
    return parsed
