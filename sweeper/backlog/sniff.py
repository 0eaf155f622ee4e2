"""Which format an output has, by its content."""

from __future__ import annotations

from sweeper.backlog.formats import FORMATS
from sweeper.backlog.parsed import strip_ansi

HEAD = 1 << 18  # bytes


def sniff(stdout: bytes, stderr: bytes = b"", expected: str = "") -> str:
    """The name of the first format of the table that the head looks like, "" if none does.

    A tail is looked at too: SARIF may name its version after everything else. `expected`: the format that the
    tool was asked for, which is asked first: an empty list looks like many.
    """
    names = [*([expected] if expected in FORMATS else []), *FORMATS]
    for data in (stdout, stderr):
        sample = data if len(data) <= 2 * HEAD else data[:HEAD] + b"\n" + data[-HEAD:]
        text = strip_ansi(sample).decode("utf-8", "replace")
        if not text.strip():
            continue
        for name in names:
            if FORMATS[name].looks_like(text):
                return name
    return ""
