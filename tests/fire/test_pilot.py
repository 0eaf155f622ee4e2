"""A paid rung is tried on a few units of a rule before all of them get it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fire.project import Project

pytestmark = pytest.mark.slow

PILOT = "pilot = 3\npilot_floor = 0.5\n"


def test_a_rule_that_the_rung_cannot_mend_is_paused_and_its_units_are_held(projects: Callable[..., Project]) -> None:
    project = projects(12)
    project.configure({"default": ["nothing"], "clocks": PILOT})
    ended = project.run()
    assert ended.code == 1, ended.err
    tried = [unit for unit in ended.report["units"] if unit["tries"]]
    held = [unit for unit in ended.report["units"] if not unit["tries"]]
    assert (len(tried), len(held)) == (3, 9)
    assert {unit["why"] for unit in held} == {"pilot: scripted (rung 1) mended 0 of 3 units of F401, fewer than 50%"}
    assert sum(ended.report["buckets"]["held"].values()) == 24


def test_the_rest_follows_in_the_same_round_when_enough_are_mended(projects: Callable[..., Project]) -> None:
    project = projects(12)
    project.configure({"units": {"pkg/m1.py": ["nothing"]}, "default": ["fix"], "clocks": PILOT})
    ended = project.run()
    assert ended.code == 1, ended.err
    assert {each["round"] for unit in ended.report["units"] for each in unit["tries"]} == {1}
    assert [unit["title"] for unit in ended.report["units"] if unit["state"] == "held"] == ["pkg/m1.py"]
    assert project.recount() == 2
