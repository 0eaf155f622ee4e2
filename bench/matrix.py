"""SIGKILL of the coordinator before and after every ledger write, sandbox call and write to the repository.

The points are enumerated by an instrumented run, not sampled: for each of them a fresh copy of the project is run,
killed right there, and run again to its end.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.kills import inspect, living_sandboxes
from bench.projects import commit, configuration, git, scripted, sweeper, unused_imports
from bench.rows import Row

UNITS, WORKERS = 4, 2
CHECK = "ruff check --output-format json ."
BREAKS = """import pathlib, unittest
class T(unittest.TestCase):
    def test_whole(self):
        self.assertFalse(any("BROKEN" in p.read_text() for p in pathlib.Path("pkg").glob("*.py")))
"""


def measure(most: int = 0) -> list[Row]:
    """`most`: points to kill at, evenly spread; 0 for all of them."""
    with tempfile.TemporaryDirectory(prefix="sweeper-bench-") as name:
        folder = Path(name)
        template = _template(folder / "template")
        points, want = _undisturbed(template, folder / "undisturbed")
        chosen = points[:: max(1, len(points) // most)] if most else points
        with ThreadPoolExecutor(WORKERS) as pool:
            found = list(
                pool.map(
                    lambda each: _killed_at(template, folder / f"killed-{each[0]}", each[1], want), enumerate(chosen)
                )
            )
    total = sum(found, Counter[str]())
    detail = f"{len(points)} points, {total['killed']} kills"
    return [
        Row(
            "kill matrix: points that were not reached again",
            len(chosen) - total["killed"],
            0,
            at_least=False,
            detail=detail,
        ),
        Row("kill matrix: units lost", total["lost"], 0, at_least=False),
        Row("kill matrix: attempts or merges duplicated", total["duplicated"], 0, at_least=False),
        Row("kill matrix: sandboxes outliving their owner", total["orphans"], 0, at_least=False),
        Row(
            "kill matrix: false successes",
            total["wrong"],
            0,
            at_least=False,
            detail="trees that differ from an undisturbed run",
        ),
    ]


def _template(folder: Path) -> Path:
    """Four units: two are mended at once, one suppresses first, one breaks the tests first and is ejected."""
    unused_imports(folder, UNITS)
    (folder / "test_all.py").write_text(BREAKS)
    commit(folder)
    return folder


def _copy(template: Path, folder: Path) -> Path:
    shutil.copytree(template, folder, symlinks=True)
    first = {"pkg/module_001.py": [["fix", ["append", "\nBROKEN = 1\n"]]], "pkg/module_002.py": ["suppress"]}
    configuration(
        folder,
        slots=2,
        ladder=scripted(["fix"], ["fix"], units=first, mark=str(folder)),
        check=CHECK,
        more='test = "python3 -m unittest -q"',
    )
    return folder


def _instrumented(folder: Path, only: str) -> int:
    words = [sys.executable, "-m", "sweeper.testing.kill_points", str(folder.with_suffix(".points")), "run"]
    environment = {**os.environ, "KILL_POINTS_ONLY": only}
    done = subprocess.run(
        [*words, "--sandbox", "bubblewrap"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"exit {done.returncode} with {only}:\n{done.stderr[-3000:]}")
    return done.returncode


def _undisturbed(template: Path, folder: Path) -> tuple[list[str], str]:
    _instrumented(_copy(template, folder), "0")
    points = folder.with_suffix(".points").read_text().split()
    return points, git(folder, "rev-parse", "sweeper/bench^{tree}").strip()


def _killed_at(template: Path, folder: Path, point: str, want: str) -> Counter[str]:
    killed = _instrumented(_copy(template, folder), point) == -signal.SIGKILL
    sweeper(folder, "run", "--sandbox", "bubblewrap", codes=(0,))
    found = Counter(inspect(folder, UNITS))
    found["killed"] = killed
    found["orphans"] = living_sandboxes(folder)
    found["wrong"] = git(folder, "rev-parse", "sweeper/bench^{tree}").strip() != want
    if found["lost"] or found["duplicated"] or found["orphans"] or found["wrong"] or not killed:
        print(f"   at {point}: {dict(found)}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    return found
