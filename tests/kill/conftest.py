"""A project that meets everything once: mended at once, a cheat, a unit that breaks the tests and is ejected."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fire.project import Project

BREAKS = """import pathlib, unittest
class T(unittest.TestCase):
    def test_whole(self):
        self.assertFalse(any("BROKEN" in p.read_text() for p in pathlib.Path("pkg").glob("*.py")))
"""
FIRST = {
    "units": {"pkg/m1.py": [["fix", ["append", "\nBROKEN = 1\n"]]], "pkg/m2.py": ["suppress"]},
    "default": ["fix"],
}


@dataclass(frozen=True)
class Killed:
    """A project, and `sweeper` with the points of `sweeper.testing.kill_points`."""

    project: Project
    state: Path

    def run(self, *words: str, sandbox: str = "bubblewrap", **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sweeper.testing.kill_points", str(self.state), *(words or ("run",)), "--json"]
            + ([] if words else ["--sandbox", sandbox]),
            cwd=self.project.folder,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
        )

    def met(self) -> list[str]:
        return self.state.read_text().split() if self.state.exists() else []

    def check_promises(self, units: int = 4) -> None:
        """Nothing lost, nothing twice, nothing running, and the branch is the one that everybody gets."""
        states = Counter(state for (state,) in self.project.ledger("SELECT state FROM unit"))
        assert states == {"settled": units}
        landed = "SELECT unit, round FROM attempt WHERE state = 'landed' AND kind <> 'transient'"
        assert self.project.ledger(f"{landed} GROUP BY unit, round HAVING count(*) > 1") == []
        commits = self.project.git("log", "--format=%s", "main..sweeper/s").split("\n")
        assert sorted(filter(None, commits)) == [f"s: fix pkg/m{number}.py" for number in range(units)]
        for number in range(units):
            assert self.project.show(f"pkg/m{number}.py") == f"\nVALUE = {number}\n"
        assert self.project.agents() == []
        assert self.project.recount() == 0


@pytest.fixture
def killed(tmp_path: Path, bwrap: Path) -> Killed:
    project = Project(tmp_path / "project")
    (project.folder / "test_all.py").write_text(BREAKS)
    project.commit()
    project.configure(FIRST, {"default": ["fix"]}, more='test = "python3 -m unittest -q"', top="[limits]\nslots = 2")
    return Killed(project, tmp_path / "points")
