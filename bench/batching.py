"""Units of a type checker verified together against one by one: whole checks and wall time, both in this run."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench.projects import commit, sweeper
from bench.rows import Row

UNITS, SLOTS = 48, 4
CHECK = "mypy pkg"
SCRIPT = {"fix": [["return str", "return int"]], "default": ["fix"]}


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="sweeper-bench-") as name:
        checks, seconds = _run(Path(name) / "together", "")
        alone, slower = _run(Path(name) / "alone", "verify_batch = 1\n")
    units = f"{UNITS} units of mypy"
    return [
        Row(
            "batching: whole checks against one by one",
            checks / alone,
            0.4,
            at_least=False,
            detail=f"{checks} against {alone}, {units}",
        ),
        Row(
            "batching: wall time against one by one",
            seconds / slower,
            0.6,
            at_least=False,
            detail=f"{seconds:.1f} s against {slower:.1f} s, {units}",
        ),
    ]


def _run(folder: Path, more: str) -> tuple[int, float]:
    """(whole checks that verified, seconds of the run)"""
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text("")
    for number in range(UNITS):
        text = f"def f{number}(x: int) -> int:\n    return str(x)\n"
        (folder / "pkg" / f"m{number:03}.py").write_text(text)
    commit(folder)
    (folder / "sweeper.toml").write_text(
        f'[sweep.bench]\ncheck = "{CHECK}"\n{more}[[sweep.bench.ladder]]\nagent = "scripted"\n'
        f"run = '''{json.dumps(SCRIPT)}'''\n[limits]\nslots = {SLOTS}\n"
    )
    began = time.monotonic()
    sweeper(folder, "run", "--sandbox", "bubblewrap", codes=(0,))
    seconds = time.monotonic() - began
    with closing(sqlite3.connect(folder / ".git" / "sweeper" / "ledger.sqlite3")) as ledger:
        outcomes = [json.loads(text) for (text,) in ledger.execute("SELECT outcome FROM attempt")]
    return len({check for outcome in outcomes for check in outcome["evidence"]["checks"]}), seconds
