"""SIGKILL of the coordinator at random moments of a 60-unit run, resumed each time until it is drained."""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from bench.projects import configuration, git, scripted, sweeper, unused_imports
from bench.rows import Row

UNITS, KILLS, SLOTS = 60, 200, 4
CHECK = "ruff check --output-format json ."
STEPS = ([["sleep", "0.2"], "fix_some"], [["sleep", "0.2"], "fix"])


def measure(kills: int = KILLS, seed: int = 842) -> list[Row]:
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="sweeper-bench-") as name:
        undisturbed = _project(Path(name) / "undisturbed")
        began = time.monotonic()
        sweeper(undisturbed, "run", "--sandbox", "bubblewrap", codes=(0,))
        longest = time.monotonic() - began
        want = git(undisturbed, "rev-parse", "sweeper/bench^{tree}").strip()
        lost = duplicated = orphans = wrong = done = runs = 0
        while done < kills:
            folder = _project(Path(name) / f"killed-{runs}")
            runs += 1
            done += _kill_until_drained(folder, moments, longest, kills - done)
            found = inspect(folder, UNITS)
            lost, duplicated = lost + found["lost"], duplicated + found["duplicated"]
            orphans += living_sandboxes(folder)
            wrong += git(folder, "rev-parse", "sweeper/bench^{tree}").strip() != want
    detail = f"{done} kills over {runs} runs"
    return [
        Row("kills: units lost", lost, 0, at_least=False, detail=detail),
        Row("kills: attempts or merges duplicated", duplicated, 0, at_least=False),
        Row("kills: sandboxes outliving their owner", orphans, 0, at_least=False),
        Row("kills: final trees that differ from an undisturbed run", wrong, 0, at_least=False),
    ]


def _project(folder: Path) -> Path:
    unused_imports(folder, UNITS)
    configuration(folder, slots=SLOTS, ladder=scripted(*STEPS, mark=str(folder)), check=CHECK)
    return folder


def _kill_until_drained(folder: Path, moments: random.Random, longest: float, most: int) -> int:
    """Run, kill, run again, ... until a run ends by itself. The number of kills."""
    kills = 0
    while True:
        words = [sys.executable, "-m", "sweeper", "run", "--sandbox", "bubblewrap"]
        child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            _, stderr = child.communicate(timeout=moments.uniform(0.2, longest / 3) if kills < most else None)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.communicate()
            kills += 1
            continue
        if child.returncode != 0:
            raise RuntimeError(f"exit {child.returncode} after {kills} kills:\n{stderr.decode()[-3000:]}")
        return kills


def inspect(folder: Path, units: int) -> dict[str, int]:
    """What the ledger and the branch say: units in no final state, and work that was done twice."""
    with closing(sqlite3.connect(folder / ".git" / "sweeper" / "ledger.sqlite3")) as ledger:
        states = Counter(state for (state,) in ledger.execute("SELECT state FROM unit"))
        landed = ledger.execute(
            "SELECT count(*) FROM (SELECT 1 FROM attempt WHERE state = 'landed'"
            " GROUP BY unit, round HAVING count(*) > 1)"
        ).fetchone()[0]
    merges = Counter(
        re.findall(r"Sweeper-Unit: (\w+)\nSweeper-Attempt: (\d+)", git(folder, "log", "main..sweeper/bench"))
    )
    twice = sum(count - 1 for count in merges.values())
    return {"lost": units - states["settled"], "duplicated": landed + twice}


def living_sandboxes(folder: Path) -> int:
    """Agents of this project that are alive, though its coordinator has ended."""
    time.sleep(0.5)
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            found += f"SWEEPER_BENCH={folder}\0".encode() in environment
    return found
