"""A forge on this machine, and a project that was cloned from it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from sweeper.forge import marker
from tests.fire.project import COMMAND, Ended, Project
from tests.forge.hub import Pull
from tests.forge.made import machine
from tests.forge.scenes import FILES, Scenario
from tests.forge.server import TOKEN, Forge, serving
from tests.waiting import PATIENCE

RUFF = ("ruff check --fix {files}",)


class Cloned(Project):
    """A project whose origin is the forge. `sweeper` is started with the token in its environment."""

    def __init__(self, folder: Path, forge: Forge, files: int = 4) -> None:
        super().__init__(folder, files)
        self.forge = forge
        self.git("remote", "add", "origin", forge.clone)
        self.push()
        forge.pushes.clear()

    def push(self, branch: str = "main") -> None:
        url = self.forge.clone.replace("://", f"://x:{TOKEN}@")
        self.git("-c", "credential.helper=", "push", "-q", url, f"HEAD:refs/heads/{branch}")

    def settle(self, *rungs: dict[str, Any] | str, settings: str = "", more: str = "", top: str = "") -> None:
        self.configure(*(rungs or RUFF), more=more, top=f"{top}\n[pull_request]\n{settings}")

    def environment(self, token: str = TOKEN, **more: str) -> dict[str, str]:
        hidden = ("GH_", "GITHUB_", "SWEEPER_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        return (
            kept | {"GITHUB_SERVER_URL": self.forge.url, "GITHUB_TOKEN": token, "SWEEPER_SANDBOX": "bubblewrap"} | more
        )

    def call(self, *words: str, token: str = TOKEN, **more: str) -> Ended:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=self.folder,
            env=self.environment(token, **more),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=PATIENCE,
        )
        for said in (done.stdout, done.stderr):
            assert not token or token not in said, "the token was shown"
        return Ended(done.returncode, done.stdout, done.stderr)

    def run_it(self, *words: str, **more: str) -> Ended:
        return self.call("run", "--json", "--pull-request", *words, **more)

    def pull_requests(self, ended: Ended) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = ended.document["pull_requests"]
        return rows

    @property
    def pull(self) -> Pull:
        """The only open pull request."""
        (one,) = self.forge.hub.open_pulls()
        return one

    def files(self, branch: str = "sweeper/s") -> Mapping[str, str]:
        """Every file of a branch on the forge."""
        names = self.forge.hub.git("ls-tree", "-r", "--name-only", branch).splitlines()
        return {name: self.forge.hub.git("show", f"{branch}:{name}") for name in names}

    def subjects(self, branch: str = "sweeper/s", base: str = "main") -> list[str]:
        return self.forge.hub.git("log", "--format=%s", "--reverse", f"{base}..{branch}").splitlines()

    def mark(self) -> marker.Marker:
        found = marker.read(self.pull.body)
        assert found is not None
        return found


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[Forge]:
    with serving(tmp_path / "forge") as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, forge: Forge, bwrap: Path) -> Cloned:
    return Cloned(tmp_path / "project", forge)


@pytest.fixture
def play(tmp_path: Path, forge: Forge) -> Callable[[Scenario], None]:
    """Runs a scenario on one machine with a clone of the forge."""

    def run(scenario: Scenario) -> None:
        async def main() -> None:
            async with machine(tmp_path / "one", forge, FILES) as made:
                await scenario(made)

        anyio.run(main)

    return run
