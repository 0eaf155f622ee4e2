"""codespell's lines: `file:line: wrong ==> right`, without a line for a file's own name."""

from __future__ import annotations

import re

from sweeper.backlog.formats.lines import TextLines
from sweeper.backlog.parsed import Raw

NAME = "codespell"
TEXT = TextLines(
    re.compile(r"^(?P<path>[^\r\n]+?):(?:(?P<line>\d{1,9}):)? (?P<message>\S+ ==> \S.*)$"), rule="misspelling"
)


def render(found: Raw) -> str:
    return f"{found.path}:{found.line}: {found.message}"
