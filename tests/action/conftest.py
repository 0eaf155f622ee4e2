"""A runner, and a project on the forge that has its sweep's configuration committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.action.runner import Runner
from tests.forge.conftest import Cloned, forge, project  # noqa: F401  fixtures


@pytest.fixture
def runner(tmp_path: Path, project: Cloned) -> Runner:  # noqa: F811
    project.settle()
    commit_settings(project)
    return Runner(tmp_path / "runner", project)


def commit_settings(project: Cloned) -> None:  # noqa: F811
    """Move what `settle` wrote to where a checkout has it, and push it."""
    place = project.folder / ".github" / "sweeper.toml"
    place.parent.mkdir(exist_ok=True)
    (project.folder / "sweeper.toml").rename(place)
    project.commit("settings")
    project.push()
