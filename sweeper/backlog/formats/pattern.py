"""Text by a pattern of the user's, with the named groups that `TextLines` knows."""

from __future__ import annotations

import re

from sweeper.backlog.formats.lines import TextLines
from sweeper.backlog.parsed import Parsed

NAME = "pattern"
_SEVERITIES = {
    **dict.fromkeys(("error", "e", "err", "fatal", "high", "critical", "major"), "error"),
    **dict.fromkeys(("warning", "w", "warn", "medium", "minor"), "warning"),
    **dict.fromkeys(("info", "i", "note", "notice", "style", "low", "hint"), "info"),
}


def parse(pattern: str, stdout: bytes, stderr: bytes) -> Parsed:
    """Every line that the pattern matches from its beginning is a finding."""
    return TextLines(re.compile(pattern), _SEVERITIES).parse(stdout, stderr)
