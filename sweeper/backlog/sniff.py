"""Which format an output has, by its content."""

from __future__ import annotations

from sweeper.backlog.formats import FORMATS
from sweeper.backlog.parsed import strip_ansi

HEAD = 1 << 18  # bytes


def sniff(stdout: bytes, stderr: bytes = b"") -> str:
    """The name of the first format of the table that the head looks like, "" if none does.

    A tail is looked at too: SARIF may name its version after everything else.
    """
    for data in (stdout, stderr):
        sample = data if len(data) <= 2 * HEAD else data[:HEAD] + b"\n" + data[-HEAD:]
        text = strip_ansi(sample).decode("utf-8", "replace")
        if not text.strip():
            continue
        for name, format in FORMATS.items():
            if format.looks_like(text):
                return name
    return ""
