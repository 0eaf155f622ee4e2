"""A small repository to sweep, and the sweeper command as a user runs it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = (str(Path(sys.executable).parent / "sweeper"),)  # not -m: that would import from the project
CHECK = "ruff check --output-format json ."
FIX = [[r"(?m)^import \w+\n", ""]]
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
DIRTY = "import ast\nimport bisect\n\nVALUE = {}\n"  # two unused imports


@dataclass(frozen=True)
class Ended:
    """One command's end; `report` is the document of the only sweep of `--json`."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.out)
        return value

    @property
    def report(self) -> dict[str, Any]:
        (sweep,) = self.document["sweeps"]
        value: dict[str, Any] = sweep
        return value

    def kinds(self, title: str) -> list[str]:
        """The outcome kinds of one unit, in order."""
        (unit,) = [unit for unit in self.report["units"] if unit["title"] == title]
        return [each["kind"] for each in unit["tries"]]

    def reasons(self, title: str) -> list[str]:
        (unit,) = [unit for unit in self.report["units"] if unit["title"] == title]
        return [each["reason"] for each in unit["tries"]]

    def unit(self, title: str) -> dict[str, Any]:
        (unit,) = [unit for unit in self.report["units"] if unit["title"] == title]
        value: dict[str, Any] = unit
        return value


class Project:
    """`files` modules with two unused imports each, checked by ruff for F401."""

    def __init__(self, folder: Path, files: int = 4) -> None:
        self.folder = folder
        self._make(files)

    def _make(self, files: int) -> None:
        (self.folder / "pkg").mkdir(parents=True)
        (self.folder / "ruff.toml").write_text('lint.select = ["F401"]\n')
        for number in range(files):
            (self.folder / "pkg" / f"m{number}.py").write_text(DIRTY.format(number))
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *words: str) -> str:
        return subprocess.run([*GIT, *words], cwd=self.folder, check=True, capture_output=True, text=True).stdout

    def commit(self, message: str = "base") -> str:
        self.git("add", "-A", "-f", ":!sweeper.toml")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def configure(self, *rungs: dict[str, Any] | str, check: str = CHECK, more: str = "", top: str = "") -> None:
        """The operator's configuration. A rung is a command, or a script of the scripted agent."""
        # told to every agent, so that its processes can be found from outside
        marked = f'env = {{ SWEEPER_TEST_PROJECT = "{self.folder}" }}'
        parts = [top, f"[sweep.s]\ncheck = {json.dumps(check)}\n{more}"]
        for rung in rungs:
            if isinstance(rung, str):
                parts.append(f"[[sweep.s.ladder]]\nrun = {json.dumps(rung)}")
            else:
                clocks = rung.pop("clocks", "")
                script = json.dumps({"fix": FIX, **rung})
                parts.append(f"[[sweep.s.ladder]]\nagent = \"scripted\"\nrun = '''{script}'''\n{marked}\n{clocks}")
        (self.folder / "sweeper.toml").write_text("\n\n".join(parts) + "\n")

    def sweeper(
        self, *words: str, stdin: str = "", env: dict[str, str] | None = None, before: Sequence[str] = ()
    ) -> Ended:
        """`before`: the words of a program that becomes the command."""
        done = subprocess.run(
            [*before, *COMMAND, *words],
            check=False,
            cwd=self.folder,
            capture_output=True,
            text=True,
            input=stdin,
            env={**os.environ, **(env or {})},
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def run(self, *words: str, sandbox: str = "bubblewrap", stdin: str = "") -> Ended:
        return self.sweeper("run", "--json", "--sandbox", sandbox, *words, stdin=stdin)

    def start(self, *words: str, sandbox: str = "bubblewrap") -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, "run", "--json", "--sandbox", sandbox, *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def show(self, path: str, branch: str = "sweeper/s") -> str:
        return self.git("show", f"{branch}:{path}")

    def has_branch(self, name: str = "sweeper/s") -> bool:
        return bool(self.git("branch", "--list", name).strip())

    def recount(self, branch: str = "sweeper/s") -> int:
        """Findings on a branch by ruff alone, outside of sweeper."""
        place = self.folder.parent / f"recount-{self.folder.name}"
        self.git("worktree", "add", "-q", "--detach", str(place), branch)
        try:
            ruff = Path(sys.executable).parent / "ruff"
            done = subprocess.run([ruff, *CHECK.split()[1:]], check=False, cwd=place, capture_output=True, text=True)
            return len(json.loads(done.stdout))
        finally:
            self.git("worktree", "remove", "--force", str(place))

    def agents(self) -> list[int]:
        """Process ids of this project's agents that are alive."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                mine = f"SWEEPER_TEST_PROJECT={self.folder}\0".encode() in (entry / "environ").read_bytes()
            except OSError:
                continue
            if mine:
                found.append(int(entry.name))
        return found

    def ledger(self, sql: str) -> list[tuple[Any, ...]]:
        place = (self.folder / ".git" / "sweeper" / "ledger.sqlite3").as_uri()
        with closing(sqlite3.connect(f"{place}?mode=rw", uri=True)) as connection:  # it is the command's to make it
            return connection.execute(sql).fetchall()

    def attempts(self, more: str = "") -> int:
        """How many the ledger knows of, of those that `more`, a condition, is true of."""
        try:
            return int(self.ledger(f"SELECT count(*) FROM attempt {more and f'WHERE {more}'}")[0][0])
        except sqlite3.OperationalError:  # there is no ledger yet, or not all of it
            return 0
