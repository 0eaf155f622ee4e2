"""The end of what a sandbox's command printed: a file in the coordinator's own folder, read to be shown."""

from __future__ import annotations

import os
from pathlib import Path

TAIL_BYTES = 4000
MAX_LINES = 12


def end_of(path: Path, most: int = TAIL_BYTES) -> bytes:
    """The last bytes of a log, none where there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most))
            return file.read(most)
    except OSError:
        return b""


def tail(printed: bytes) -> tuple[str, ...]:
    """The last lines of a log, shortened. Control characters are for whoever prints them to escape."""
    text = printed[-TAIL_BYTES:].decode("utf-8", "backslashreplace")
    return tuple(line[:300] for line in text.splitlines()[-MAX_LINES:] if line.strip())
