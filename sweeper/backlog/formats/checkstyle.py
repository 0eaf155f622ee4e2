"""checkstyle's XML, the format that most linters can print."""

from __future__ import annotations

import re
from itertools import chain

from sweeper.backlog.formats.documents import malformed
from sweeper.backlog.formats.lines import digits
from sweeper.backlog.formats.xml import element, settled, skeleton
from sweeper.backlog.parsed import Parsed, plain, raw

NAME = "checkstyle"
_SEVERITY = {"warning": "warning", "info": "info", "ignore": "info"}
_RULE_PREFIX = re.compile(r"^(?:eslint\.rules\.|ShellCheck\.|com\.puppycrawl\.tools\.checkstyle\.checks\.(?:\w+\.)*)")
_RULE_AT_END = re.compile(r" \(([\w/@-]+)\)$")


def looks_like(text: str) -> bool:
    return bool(re.search(r"<checkstyle[\s/>]", text))


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    """The rule is the error's source; ESLint repeats it at the end of the message."""
    parsed, roots = skeleton("checkstyle", stdout, stderr)
    for file in chain.from_iterable(roots):
        if file.tag != "file":
            malformed(parsed, file.tag)
        for error in file:
            if error.tag == "exception":
                parsed.incomplete = parsed.incomplete or plain(error.text or "an exception", 300)
                continue
            if error.tag != "error" or "message" not in error.attrib:
                malformed(parsed, error.tag)
                continue
            rule = _RULE_PREFIX.sub("", element(error.get("source", "")))
            message = element(error.get("message", ""))
            named = _RULE_AT_END.search(message)
            if named and named[1] == rule:
                message = message[: named.start()]
            severity = _SEVERITY.get(error.get("severity", "error"), "error")
            line, column = digits(error.get("line")), digits(error.get("column"))
            parsed.findings.append(raw(element(file.get("name", "")), line, column, rule, message, severity))
    return settled(parsed)
