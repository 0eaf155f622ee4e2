"""Real agent programs against the scripted model server, in real sandboxes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.agents.conftest import Sweeping

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_an_agent_mends_a_repository(sweeping: Callable[..., Sweeping], agent: str) -> None:
    sweep = sweeping()
    sweep.configure({"agent": agent})
    ended = sweep.run(agent)
    assert ended.code == 0, ended.err + ended.out
    assert sweep.project.recount() == 0
    assert ended.kinds("pkg/m0.py") == ["fixed"]
