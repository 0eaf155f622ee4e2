"""cppcheck's XML (`--xml`), printed on stderr. Its text is the format `text`."""

from __future__ import annotations

import re
from itertools import chain

from sweeper.backlog.formats.documents import malformed
from sweeper.backlog.formats.lines import digits
from sweeper.backlog.formats.xml import element, settled, skeleton
from sweeper.backlog.parsed import Parsed, raw

NAME = "cppcheck-xml"
_SEVERITY = {"warning": "warning", "style": "info", "performance": "info", "portability": "info", "information": "info"}


def looks_like(text: str) -> bool:
    return bool(re.search(r"<results\s[^>]*>\s*<cppcheck\s", text))


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    """The first location is the place. What cppcheck says of its own run has none and is no finding."""
    parsed, roots = skeleton("results", stdout, stderr)
    lists = [root.find("errors") for root in roots]
    if None in lists:
        parsed.failed = parsed.failed or "cppcheck's report has no list of errors"
    for error in chain.from_iterable(errors for errors in lists if errors is not None):
        if error.tag != "error" or "msg" not in error.attrib:
            malformed(parsed, error.tag)
            continue
        location = error.find("location")
        severity = error.get("severity", "error")
        if location is None and severity == "information":
            continue
        path, line, column = element(error.get("file0", "")), 0, 0
        if location is not None:
            path = element(location.get("file", ""))
            line, column = digits(location.get("line")), digits(location.get("column"))
        rule, message = element(error.get("id", "")), element(error.get("msg", ""))
        parsed.findings.append(raw(path, line, column, rule, message, _SEVERITY.get(severity, "error")))
    return settled(parsed)
