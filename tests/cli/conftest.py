"""A repository to sweep, and the program as a user starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.waiting import PATIENCE

PROGRAM = (sys.executable, "-c", "import sys; from sweeper.cli import main; sys.exit(main())")
GIT = ("git", "-c", "user.name=A", "-c", "user.email=a@example.invalid")
CACHE: dict[str, str] = {}


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SWEEPER_", "CI", "GIT_"))}
    return kept | {"SWEEPER_SANDBOX": "bubblewrap"} | CACHE | more


@pytest.fixture(scope="session", autouse=True)
def cache() -> None:
    """Snapshots of these tests are in the session's folder too."""
    CACHE["SWEEPER_CACHE"] = os.environ["SWEEPER_CACHE"]


class Place:
    """A repository. `run` starts the program in it and waits; stdin is closed unless given."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str) -> str:
        done = subprocess.run([*GIT, *args], cwd=self.top, capture_output=True, text=True, check=True)
        return done.stdout

    def commit(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-qm", "files")

    def start(self, *argv: str, **more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *argv],
            cwd=self.top,
            env=environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *argv: str, stdin: str = "", wall: float = PATIENCE, **more: str) -> Done:
        done = subprocess.run(
            [*PROGRAM, *argv],
            cwd=self.top,
            env=environment(**more),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=wall,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    top = tmp_path / "repository"
    top.mkdir()
    return Place(top)


@pytest.fixture
def findings(place: Place) -> Place:
    """Three units: one that ruff's safe fixes settle, one for the unsafe ones, one that nothing settles."""
    place.commit(
        {
            "pyproject.toml": '[tool.ruff.lint]\nselect = ["E", "F"]\n',
            "plain.py": "import os\nimport sys\n\nX = 1\n",
            "unsafe.py": "def f():\n    y = 1\n    return 2\n",
            "stubborn.py": f'X = "{"x" * 100}"\n',
        }
    )
    return place
