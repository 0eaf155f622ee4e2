"""The recorded runs: name, command line and exit code, from COMMANDS.md beside them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

from sweeper.backlog.classify import classify
from sweeper.backlog.reading import read
from sweeper.backlog.tools import RUFF, Tool
from sweeper.records import BaseEntry, CheckResult, Listing

DATA = Path(__file__).parent.parent / "data" / "backlog"
FOLDER = DATA / "ruff"
_ROW = re.compile(r"^\| (\S+) \| `(.+)` \| (\d+) \|", re.MULTILINE)
_SETUP = re.compile(r"^(?:(?:cd \S+|touch \S+|git init -q \.) && )+")


def recorded(folder: Path = FOLDER) -> dict[str, tuple[str, int]]:
    return {name: (command, int(code)) for name, command, code in _ROW.findall((folder / "COMMANDS.md").read_text())}


def words(command: str) -> list[str]:
    """The linter's own command line of a recorded run."""
    return shlex.split(_SETUP.sub("", command))


def output(name: str, folder: Path = FOLDER) -> tuple[bytes, bytes]:
    stderr = folder / (Path(name).stem + ".err")
    return (folder / name).read_bytes(), stderr.read_bytes() if stderr.exists() else b""


def expected() -> dict[str, dict[str, dict[str, Any]]]:
    """What each recorded run says, written down from its raw output: tool -> sample -> facts."""
    facts: dict[str, dict[str, dict[str, Any]]] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
    return facts


def tree(*paths: str) -> Listing:
    return {path.encode("utf-8", "surrogateescape"): BaseEntry(0o100644, "0" * 40) for path in paths}


# Every path of the recorded runs but the one that they name on purpose although it is missing.
RECORDED_TREE = tree(
    *("bad.py", "syntax.py", "clean.py", "sub dir/ünï code.py", "bad.js", "syntax.js", "warn.js", "f.js", "bad.ts"),
    *("syntax.ts", "bad.css", "f.css", "bad.md", "f.md", "src/main.rs", "main.go", "main2.go", "m/main.go", "bad.rb"),
    *("syntax.rb", "f.rb", "bad.sh", "syntax.sh", "Dockerfile.bad", ".github/workflows/bad.yml", "wf/bad.yml", "f.py"),
    *("bad.txt", "bad.yaml", "bad.sql", "bad.c"),
)


def said(
    stdout: bytes,
    stderr: bytes = b"",
    *,
    code: int | None = 1,
    tool: Tool = RUFF,
    format: str = "auto",
    pattern: str = "",
    listing: Listing | None = None,
    root: str = ".",
    signal: int | None = None,
    truncated: bool = False,
    checkouts: tuple[str, ...] = ("/repo",),
    foreign: bool = False,
) -> CheckResult:
    """What the check said, without the child process around the parser."""
    return classify(
        read(stdout, stderr, tool.how(format, pattern)),
        exit_code=code,
        signal=signal,
        truncated=truncated,
        tool=tool,
        root=root,
        listing=listing,
        checkouts=checkouts,
        foreign=foreign,
    )


def told(result: CheckResult) -> str:
    """A check's result on one line: its state, findings as places and rules, skips, whether it is incomplete."""
    findings = [f"{f.path}:{f.line}:{f.column} {f.rule}".strip() for f in result.findings]
    skips = [f"{s.path}? {s.reason}" for s in result.skips]
    return "; ".join([result.state, *findings, *skips, *(["incomplete"] if result.incomplete else [])])
