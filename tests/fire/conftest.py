"""Projects that are swept for real, in bubblewrap sandboxes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fire.project import Project


@pytest.fixture
def project(tmp_path: Path, bwrap: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def projects(tmp_path: Path, bwrap: Path) -> Callable[..., Project]:
    made: list[Project] = []

    def make(files: int = 4) -> Project:
        made.append(Project(tmp_path / f"project-{len(made)}", files))
        return made[-1]

    return make
