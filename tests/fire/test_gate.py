"""The branch is always green: culprits are found, ejected and sent on with the evidence."""

from __future__ import annotations

import re
from collections.abc import Callable

import click
import pytest

from sweeper.cli import completing, why
from tests.fire.project import Project

pytestmark = pytest.mark.slow

TEST = "python3 -m unittest -q"
BREAKS = {"units": {"pkg/m1.py": [["fix", ["append", "\nBROKEN = 1\n"]]]}, "default": ["fix"]}
CHECKS_FOR_BROKEN = """import pathlib, unittest
class T(unittest.TestCase):
    def test_whole(self):
        text = [p.read_text() for p in sorted(pathlib.Path("pkg").glob("*.py"))]
        self.assertFalse(any("BROKEN" in t for t in text))
"""


def with_tests(project: Project, text: str = CHECKS_FOR_BROKEN) -> Project:
    (project.folder / "test_all.py").write_text(text)
    project.commit()
    return project


def test_d14_a_unit_that_breaks_the_tests_is_ejected(projects: Callable[..., Project]) -> None:
    project = with_tests(projects(6))
    project.configure(BREAKS, {"default": ["fix"]}, more=f'test = "{TEST}"')
    ended = project.run()
    assert ended.code == 0, ended.err
    assert ended.kinds("pkg/m1.py") == ["ejected", "fixed"]
    (ejected, _) = ended.unit("pkg/m1.py")["tries"]
    assert ejected["reason"] == "tests"
    assert any("test_whole" in line for line in ejected["lines"])
    first = ended.report["gates"][0]
    assert first["red"]
    assert first["ejected"] == ["pkg/m1.py"]
    assert "BROKEN" not in project.show("pkg/m1.py")
    assert project.recount() == 0


def test_two_units_that_break_only_together(projects: Callable[..., Project]) -> None:
    pair = CHECKS_FOR_BROKEN.replace('any("BROKEN" in t for t in text)', 'sum("BROKEN" in t for t in text) > 1')
    project = with_tests(projects(6), pair)
    project.configure(
        {"units": {"pkg/m[14].py": [["fix", ["append", "\nBROKEN = 1\n"]]]}, "default": ["fix"]},
        more=f'test = "{TEST}"',
    )
    ended = project.run()
    assert ended.code == 1, ended.err
    assert len(ended.report["gates"][0]["ejected"]) == 1
    assert project.recount() == 2


def test_a_base_that_is_red_is_said_to_prove_nothing(projects: Callable[..., Project]) -> None:
    project = with_tests(projects(2), CHECKS_FOR_BROKEN.replace("assertFalse", "assertTrue"))
    project.configure({"default": ["fix"]}, more=f'test = "{TEST}"')
    ended = project.run()
    assert ended.code == 0, ended.err
    assert "unproven" in ended.report["tests"]


def test_a_red_base_is_compared_test_by_test(projects: Callable[..., Project]) -> None:
    project = projects(3)
    (project.folder / "test_all.py").write_text(
        "import pathlib\n\n\ndef test_red():\n    assert False\n\n\n"
        "def test_green():\n    assert 'BROKEN' not in pathlib.Path('pkg/m1.py').read_text()\n"
    )
    project.commit()
    project.configure(
        BREAKS,
        more='test = "pytest -q -p no:cacheprovider --junitxml=report.xml test_all.py"\ntest_junit = "report.xml"',
    )
    ended = project.run()
    assert ended.code == 1, ended.err
    assert "test by test" in ended.report["tests"]
    assert ended.report["gates"][0]["ejected"] == ["pkg/m1.py"]
    for said in ("setting up and checking ", "the tests on the base: "):
        assert said in ended.err


def test_a_file_in_scope_that_no_longer_parses_is_no_fix(projects: Callable[..., Project]) -> None:
    project = projects(3)
    (project.folder / "shared.py").write_text("import zipfile\n\nSHARED = 1\n")
    project.commit()
    script = {
        "units": {"pkg/m1.py": [["fix", ["run", "sh", "-c", "echo 'def broken(:' >> shared.py"]]]},
        "default": ["fix"],
    }
    project.configure(script, more='scope = ["shared.py"]')
    ended = project.run()
    assert ended.code == 1, ended.err
    assert ended.kinds("pkg/m1.py") == ["ejected"]
    assert ended.reasons("pkg/m1.py") == ["does not parse"]
    assert "broken" not in project.show("shared.py")


def test_what_does_not_parse_in_a_unit_s_own_file_is_its_evidence(
    projects: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = projects(1)
    project.configure({"default": [["run", "sh", "-c", "echo 'x = = 1' >> pkg/m0.py"]]})
    ended = project.run()
    assert ended.code == 1, ended.err
    (tried, *_) = ended.unit("pkg/m0.py")["tries"]
    assert tried["reason"] == "does not parse"
    assert re.match(r"does not parse: pkg/m0\.py:\d+:\d+: ", tried["lines"][0])
    assert tried["before"] == tried["after"] > 0
    monkeypatch.chdir(project.folder)
    here = click.Context(why.command), click.Argument(["unit"])
    assert completing.units(*here, "pkg/") == completing.held_units(*here, "pkg/") == ["pkg/m0.py"]
    assert completing.units(*here, "other") == []
    assert completing.runs(*here, "") == [ended.report["run"]]


def test_rounds_that_run_out_are_a_limit(projects: Callable[..., Project]) -> None:
    project = projects(2)
    project.configure({"default": ["fix_some"]}, {"default": ["fix"]}, more="max_rounds = 1")
    ended = project.run()
    assert ended.code == 5, ended.err
    assert ended.document["sweeps"][0]["ended"] == "max_rounds"
    assert project.run().code == 0


def test_two_sweeps_of_one_fire_have_a_branch_and_a_report_each(projects: Callable[..., Project]) -> None:
    project = projects(2)
    project.configure({"default": ["fix"]})
    second = """
[sweep.other]
check = "ruff check --output-format json pkg"
[[sweep.other.ladder]]
agent = "scripted"
run = '{"default": ["nothing"]}'
"""
    config = project.folder / "sweeper.toml"
    config.write_text(config.read_text() + second)
    ended = project.run()
    assert ended.code == 1, ended.err
    assert project.recount("sweeper/s") == 0
    assert {sweep["sweep"] for sweep in ended.document["sweeps"]} == {"s", "other"}


def test_what_was_suppressed_before_may_stay_and_move(projects: Callable[..., Project]) -> None:
    project = projects(2)
    muted = project.folder / "pkg/m0.py"
    muted.write_text("import ast\nimport os  # noqa: F401\n\nVALUE = 0\n")
    project.commit()
    project.configure("ruff check --fix {files}")
    ended = project.run()
    assert ended.code == 0, ended.err
    assert project.show("pkg/m0.py") == "import os  # noqa: F401\n\nVALUE = 0\n"


def test_a_verified_change_that_breaks_its_unit_s_own_test_is_no_fix(projects: Callable[..., Project]) -> None:
    project = projects(3)
    (project.folder / "keeps.py").write_text("import sys\nsys.exit('BROKEN' in open(sys.argv[1]).read())\n")
    (project.folder / "pkg/m2.py").write_text("import ast\n\nVALUE = 'BROKEN'\n")
    project.commit()
    project.configure(BREAKS, {"default": ["fix"]}, more='unit_test = "python3 keeps.py {files}"')
    ended = project.run()
    assert ended.code == 0, ended.err
    assert ended.kinds("pkg/m1.py") == ["not_fixed", "fixed"]
    assert ended.reasons("pkg/m1.py")[0] == "unit test"
    assert "BROKEN" not in project.show("pkg/m1.py")
    (tried,) = ended.unit("pkg/m2.py")["tries"]
    assert tried["reviews"] == ["unit_test: red on the base too, so it proves nothing"]
