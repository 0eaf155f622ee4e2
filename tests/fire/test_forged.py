"""Verdicts that a unit would forge by changing what judges it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.fire.project import Project

pytestmark = pytest.mark.slow
LINT = """import json, glob
for name in sorted(glob.glob("*.py")):
    if open(name).read().startswith("import os\\n"):
        print(f"{name}:1:1: X1 bad")
"""


def hand_made(project: Project, **files: str) -> None:
    for name, text in files.items():
        path = project.folder / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    project.commit()


def test_a_module_that_the_check_imports_silences_nothing(projects: Callable[..., Project]) -> None:
    project = projects(0)
    hand_made(project, lint_py=LINT, json_py="import os\n", a_py="import os\n")
    fix = "test $1 = json.py && echo 'raise SystemExit(0)' > $1; true"
    rung = f'run = ["sh", "-c", "{fix}", "sh", "{{files}}"]'
    (project.folder / "sweeper.toml").write_text(f'[sweep.s]\ncheck = "python3 lint.py"\n[[sweep.s.ladder]]\n{rung}\n')
    ended = project.run()
    assert ended.code == 1, ended.err
    assert ended.report["buckets"]["fixed"] == 0
    assert "vanished" in " ".join(ended.reasons("json.py"))


def test_the_checker_itself_is_not_a_unit_s_to_change(projects: Callable[..., Project]) -> None:
    project = projects(0)
    hand_made(
        project, tools__lint_py="import os\n" + LINT.replace('"*.py"', '"**/*.py", recursive=True'), a_py="import os\n"
    )
    script = {"units": {"tools/lint.py": [["run", "sh", "-c", "echo '# ok' > tools/lint.py"]]}, "default": ["nothing"]}
    project.configure(script, check="python3 tools/lint.py")
    ended = project.run()
    assert ended.code == 1, ended.err
    assert ended.reasons("tools/lint.py") == ["check_config"]
    assert ended.report["buckets"]["fixed"] == 0


def test_what_steers_the_tests_is_not_a_unit_s_to_change(projects: Callable[..., Project]) -> None:
    project = projects(0)
    hand_made(
        project,
        a_py="import os\n\n\ndef f():\n    return 1\n",
        conftest_py="import os\n\nX = 1\n",
        test_a_py="from a import f\n\n\ndef test_f():\n    assert f() == 1\n",
    )
    cheat = "printf 'def pytest_sessionfinish(session):\\n    session.exitstatus = 0\\n' > conftest.py"
    project.configure(
        {"units": {"conftest.py": [["run", "sh", "-c", cheat]]}, "default": [["fix", ["run", "sed", "-i", "s/1/2/"]]]},
        more='test = "python3 -m pytest -q -p no:cacheprovider"',
    )
    ended = project.run()
    assert ended.code == 1, ended.err
    assert ended.reasons("conftest.py") == ["check_config"]
    assert ended.kinds("a.py") == ["ejected"]


def test_b19_a_filter_of_the_repository_is_never_run(project: Project) -> None:
    (project.folder / ".gitattributes").write_text("*.py filter=evil\n")
    project.commit()
    pwned = project.folder.parent / "pwned"
    project.git("config", "filter.evil.clean", f"sh -c 'touch {pwned}; cat'")
    os.utime(project.folder / "pkg/m0.py")
    (project.folder / "pkg/m1.py").write_text("changed = 1\n")
    project.configure({"default": ["fix"]})
    ended = project.run("--dry-run")
    assert ended.code == 1, ended.err
    assert not pwned.exists()
    project.git("status")
    assert pwned.exists()


def test_a_state_folder_that_is_a_link_is_refused(project: Project) -> None:
    victim = project.folder.parent / "victim"
    victim.mkdir()
    (project.folder / ".git" / "sweeper").symlink_to(victim)
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 70, ended.err
    assert "symbolic link" in ended.err
    assert not list(victim.iterdir())


def test_a_file_name_moves_no_cursor(project: Project) -> None:
    (project.folder / "pkg" / "\x1b[31mred.py").write_text("import ast\n\nX = 1\n")
    project.commit()
    project.configure({"default": ["fix"]})
    ended = project.run()
    assert ended.code == 0, ended.err
    assert "red.py: " in ended.err
    assert "\x1b" not in ended.out + ended.err
