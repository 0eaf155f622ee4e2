"""The Action's steps as a runner starts their process, without a runner: environment in, files and log out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.action.runner import TREE
from tests.forge.conftest import Cloned
from tests.forge.server import TOKEN
from tests.waiting import PATIENCE


@dataclass(frozen=True)
class Stepped:
    """What a step left. `commands`: the lines of its log that a runner obeys, without stop-commands and its end."""

    code: int
    log: str
    commands: list[str]
    outputs: dict[str, str]
    summary: str


class Steps:
    """`folder`: where the runner's files are. The project's clone is the checkout."""

    def __init__(self, folder: Path, project: Cloned) -> None:
        self.folder, self.project, self.checkout = folder, project, project.folder
        folder.mkdir()

    def move(self, *, state: bool, more: tuple[str, ...] = ()) -> Path:
        """Another clone of the forge's repository takes the first one's place, and brings the state folder along."""
        into = self.folder / f"clone-{len(list(self.folder.iterdir()))}"
        url = self.project.forge.clone.replace("://", f"://x:{TOKEN}@")
        subprocess.run(["git", "clone", "-q", "--single-branch", *more, url, into], check=True)
        subprocess.run(["git", "remote", "set-url", "origin", self.project.forge.clone], cwd=into, check=True)
        if state:
            shutil.copytree(self.checkout / ".git" / "sweeper", into / ".git" / "sweeper", symlinks=True)
        self.checkout = into
        return into

    def environment(self, **inputs: str) -> dict[str, str]:
        given = {f"INPUT_{name.upper()}": value for name, value in inputs.items() if name.islower()}
        plain = {name: value for name, value in inputs.items() if not name.islower()}
        return self.project.environment(
            **{
                "GITHUB_OUTPUT": str(self.folder / "output"),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
                "RUNNER_TEMP": str(self.folder / "temp"),
                "ACTION_TOKEN": "0123456789abcdef",
                **given,
                **plain,
            }
        )

    def start(self, step: str = "run", **inputs: str) -> subprocess.Popen[str]:
        for name in ("output", "summary"):
            (self.folder / name).unlink(missing_ok=True)
        return subprocess.Popen(
            [sys.executable, "-I", TREE / "action" / "main.py", step],
            cwd=self.checkout,
            env=self.environment(**inputs),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, step: str = "run", **inputs: str) -> Stepped:
        process = self.start(step, **inputs)
        log, _ = process.communicate(timeout=PATIENCE)
        return self.ended(process.returncode, log)

    def ended(self, code: int, log: str) -> Stepped:
        commands, stopped = [], ""
        for line in log.splitlines():
            if stopped:
                stopped = "" if line == f"::{stopped}::" else stopped
            elif line.startswith("::stop-commands::"):
                stopped = line.removeprefix("::stop-commands::")
            elif line.startswith("::"):
                commands.append(line)
            else:
                assert not line, f"outside of stop-commands: {line}"
        assert TOKEN not in log
        output, summary = self.folder / "output", self.folder / "summary"
        return Stepped(
            code,
            log,
            commands,
            parsed(output.read_text()) if output.exists() else {},
            summary.read_text() if summary.exists() else "",
        )

    def settle(self, text: str) -> None:
        """The operator's configuration of the present checkout."""
        (self.checkout / "sweeper.toml").write_text(text)


def parsed(text: str) -> dict[str, str]:
    """The runner's reading of an output file: name<<delimiter, lines, delimiter."""
    found, lines = {}, iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, _, end = line.partition("<<")
        value = []
        for row in lines:
            if row == end:
                break
            value.append(row)
        found[name] = "\n".join(value)
    return found
