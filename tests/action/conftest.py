"""A runner, and projects on the forge that have their sweep's configuration committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.cli import project as quickstart_project
from tests.action.runner import Runner
from tests.forge.conftest import Cloned, forge, project  # noqa: F401  fixtures
from tests.forge.server import Forge


class Quickstart(Cloned):
    """A copy of examples/quickstart on the forge; its sweep is called ruff."""

    def _make(self, files: int) -> None:
        quickstart_project.make(self.folder)


@pytest.fixture
def runner(tmp_path: Path, project: Cloned) -> Runner:  # noqa: F811
    project.settle()
    commit_settings(project)
    return Runner(tmp_path / "runner", project)


@pytest.fixture
def quickstart(tmp_path: Path, forge: Forge, bwrap: Path) -> Runner:  # noqa: F811
    return Runner(tmp_path / "runner", Quickstart(tmp_path / "project", forge))


def commit_settings(project: Cloned) -> None:  # noqa: F811
    """Move what `settle` wrote to where a checkout has it, and push it."""
    place = project.folder / ".github" / "sweeper.toml"
    place.parent.mkdir(exist_ok=True)
    (project.folder / "sweeper.toml").rename(place)
    project.commit("settings")
    project.push()
