"""The quickstart: what the demo drains, and the demo itself."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from sweeper.cli import project
from sweeper.config.models import Config
from sweeper.data import data_folder
from tests.cli.conftest import Place


def test_its_configuration_loads_and_has_three_rungs() -> None:
    text = (data_folder("examples/quickstart") / "sweeper.toml").read_text(encoding="utf-8")
    assert len(Config.model_validate(tomllib.loads(text)).sweep["ruff"].ladder) == 3


def test_a_folder_with_something_in_it_is_left_alone(place: Place) -> None:
    place.commit({"mine.txt": "mine"})
    done = place.run("demo", "--into", str(place.top))
    assert done.code == 2
    assert "not an empty folder" in done.err
    assert sorted(path.name for path in place.top.iterdir()) == [".git", "mine.txt"]


def test_the_copy_is_a_clean_repository(tmp_path: Path) -> None:
    folder = project.make(tmp_path / "project")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=folder, capture_output=True, text=True, check=True)
    assert status.stdout == ""
    assert not list(folder.rglob("__pycache__"))


@pytest.mark.slow
@pytest.mark.usefixtures("bwrap")
def test_the_demo_drains_it_and_every_rung_settles_some(place: Place) -> None:
    place.commit({"a.txt": "a"})
    folder = place.top.parent / "project"
    done = place.run("demo", "--into", str(folder))
    assert done.code == 0, done.err
    assert "drained in 3 rounds" in done.out
    assert done.out.index("diff --git") < done.out.index("drained in 3 rounds")
    place.top = folder
    (sweep,) = place.run("report", "--json").document["sweeps"]
    assert 60 <= sweep["buckets"]["first"] <= 120
    assert sweep["tests"] == "green"
    settled_on = [unit["tries"][-1]["rung"] for unit in sweep["units"]]
    assert set(settled_on) == {0, 1, 2}
    checked = place.git("grep", "-c", "raise UnknownProduct(code) from problem", "sweeper/ruff", "--", "larder")
    assert checked.strip().endswith(":1")
