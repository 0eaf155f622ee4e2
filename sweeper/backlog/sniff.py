"""Which format an output has, by its content."""

from __future__ import annotations

from sweeper.backlog.formats import FORMATS
from sweeper.backlog.formats.documents import after_empty_lists, empty_list
from sweeper.backlog.parsed import strip_ansi

HEAD = 1 << 18  # bytes


def sniff(stdout: bytes, stderr: bytes = b"", expected: str = "") -> str:
    """The name of the first format of the table that the head looks like, "" if none does.

    A tail is looked at too: SARIF may name its version after everything else. An empty list looks like many
    formats: what follows it tells (gcc prints a list for each file that it compiles); if nothing does, it is
    `expected`, the one that the tool was asked for, if that is one of them.
    """
    for data in (stdout, stderr):
        sample = data if len(data) <= 2 * HEAD else data[:HEAD] + b"\n" + data[-HEAD:]
        text = strip_ansi(sample).decode("utf-8", "replace")
        if not text.strip():
            continue
        text = after_empty_lists(text)
        if expected in FORMATS and empty_list(text) and FORMATS[expected].looks_like(text):
            return expected
        for name, format in FORMATS.items():
            if format.looks_like(text):
                return name
    return ""
