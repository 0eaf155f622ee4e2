"""The recorded runs of ruff: name, command line and exit code, from COMMANDS.md beside them."""

from __future__ import annotations

import re
from pathlib import Path

from sweeper.backlog.classify import classify
from sweeper.backlog.reading import read
from sweeper.backlog.tools import RUFF, Tool
from sweeper.records import BaseEntry, CheckResult, Listing

FOLDER = Path(__file__).parent.parent / "data" / "backlog" / "ruff"
_ROW = re.compile(r"^\| (\S+) \| `(.+)` \| (\d+) \|", re.MULTILINE)


def recorded() -> dict[str, tuple[str, int]]:
    return {name: (command, int(code)) for name, command, code in _ROW.findall((FOLDER / "COMMANDS.md").read_text())}


def output(name: str) -> tuple[bytes, bytes]:
    stderr = FOLDER / (Path(name).stem + ".err")
    return (FOLDER / name).read_bytes(), stderr.read_bytes() if stderr.exists() else b""


def tree(*paths: str) -> Listing:
    return {path.encode("utf-8", "surrogateescape"): BaseEntry(0o100644, "0" * 40) for path in paths}


def said(
    stdout: bytes,
    stderr: bytes = b"",
    *,
    code: int | None = 1,
    tool: Tool = RUFF,
    format: str = "auto",
    listing: Listing | None = None,
    root: str = ".",
    signal: int | None = None,
    truncated: bool = False,
    checkouts: tuple[str, ...] = ("/repo",),
    foreign: bool = False,
) -> CheckResult:
    """What the check said, without the child process around the parser."""
    return classify(
        read(stdout, stderr, format, tool.streams, tool.incomplete),
        exit_code=code,
        signal=signal,
        truncated=truncated,
        tool=tool,
        root=root,
        listing=listing,
        checkouts=checkouts,
        foreign=foreign,
    )
