"""`sweeper toolchain` as a user starts it."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import pytest

from tests.cli.conftest import CACHE, Place

pytestmark = pytest.mark.slow

SETUP = "sh -c 'date +%s%N > $VIRTUAL_ENV/made; echo made >> $VIRTUAL_ENV/made'"
CONFIG = f"""
[sweep.ruff]
check = "ruff check ."

[sweep.own]
check = "sh -c true"
setup = [{SETUP!r}]
[[sweep.own.ladder]]
run = "true"
"""


@pytest.fixture
def swept(place: Place, bwrap: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A repository with two sweeps, and a cache of its own."""
    own = Path(CACHE["SWEEPER_CACHE"]) / secrets.token_hex(4)
    monkeypatch.setitem(CACHE, "SWEEPER_CACHE", str(own))
    place.commit({"a.py": "import os\n", "requirements.txt": "one\n", "sweeper.toml": CONFIG})
    return place


def kept(place: Place, kind: str) -> list[str]:
    found = place.run("toolchain", "list", "--json").document["kept"]
    return sorted(each["name"] for each in found if each["kind"] == kind)


def test_build_list_and_prune(swept: Place) -> None:
    assert kept(swept, "setup") == []
    done = swept.run("toolchain", "build", "--sandbox", "bubblewrap")
    assert done.code == 0, done.err
    assert [line.split(":")[0] for line in done.out.splitlines()] == ["ruff", "own"]
    (first,) = kept(swept, "setup")
    assert swept.run("toolchain", "build", "own").code == 0
    assert kept(swept, "setup") == [first]  # made once
    swept.commit({"requirements.txt": "two\n"})
    assert swept.run("toolchain", "build", "own").code == 0
    assert len(kept(swept, "setup")) == 2
    assert swept.run("toolchain", "build", "own", "--base", "HEAD^").code == 0
    assert len(kept(swept, "setup")) == 2
    listed = swept.run("toolchain", "list").out
    assert re.search(rf"(?m)^setup .* MB  used just now +{first}$", listed)
    trees = kept(swept, "tree")
    assert trees
    assert re.search(rf"(?m)^trees .* MB  used just now +{len(trees)} in all$", listed)
    assert not any(tree in listed for tree in trees)
    done = swept.run("toolchain", "prune", "--json")
    assert done.document["removed"] == []
    done = swept.run("toolchain", "prune", "--older-than", "0")
    assert done.code == 0
    assert first in done.out
    assert kept(swept, "setup") == kept(swept, "tree") == []


def test_a_name_that_is_neither_is_a_mistake_of_the_user(swept: Place) -> None:
    done = swept.run("toolchain", "build", "rufff")
    assert done.code == 2
    assert "there are: ruff, own, generic, go, node, python, ruby, rust, shell" in done.err


def test_an_image_needs_an_engine(swept: Place) -> None:
    done = swept.run("toolchain", "build", "shell", "--sandbox", "bubblewrap")
    assert done.code == 2
    assert "--sandbox docker" in done.err


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_image_is_built_by_its_name(swept: Place, docker_engine: object) -> None:
    done = swept.run("toolchain", "build", "python", "--sandbox", "docker")
    assert done.code == 0, done.err
    found = [each for each in swept.run("toolchain", "list", "--json").document["kept"] if each["used"]]
    assert any(each["name"].startswith("sweeper/python:") for each in found)


@pytest.mark.parametrize("given", ["soon", "-1"])
def test_an_age_that_is_none(swept: Place, given: str) -> None:
    done = swept.run("toolchain", "prune", f"--older-than={given}")
    assert done.code == 2
    assert "--older-than" in done.err
