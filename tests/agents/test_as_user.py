"""Real agents again where neither the coordinator nor the programs are root's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.agents.programs import CACHE, installed
from tests.agents.test_programs import MANY
from tests.conftest import User
from tests.ordinary import home_of, passes


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("agent", MANY)
def test_an_agent_as_an_ordinary_user(agent: str, ordinary_user: User, bwrap: Path) -> None:
    installed(agent)
    with home_of(ordinary_user) as home:
        cache = home / "cache" / CACHE.relative_to(CACHE.parents[1])
        cache.mkdir(parents=True)
        if not (CACHE / agent / "venv").exists():  # which can't be moved: that user makes one
            shutil.copytree(CACHE / agent, cache / agent, symlinks=True, copy_function=_linked)
        for folder in (cache, *cache.parents[:2]):
            os.chown(folder, ordinary_user.uid, ordinary_user.gid)
        test = f"tests/agents/test_programs.py::test_an_agent_mends_a_repository[{agent}-bubblewrap]"
        passes(ordinary_user, home, test, env={"XDG_CACHE_HOME": str(home / "cache"), "SWEEPER_LONG": "1"})


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
def test_what_agents_do_besides_as_an_ordinary_user(ordinary_user: User, bwrap: Path) -> None:
    with home_of(ordinary_user) as home:
        passes(ordinary_user, home, "tests/agents/test_misbehaving.py", "-m", "not docker", env={"SWEEPER_LONG": "1"})


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # on another file system
        shutil.copy2(source, target, follow_symlinks=False)
