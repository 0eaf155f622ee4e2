"""The environment that the Action makes for itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.action.runner import TREE

INSTALL = TREE / "action" / "install.sh"


def where(cwd: Path, **env: str) -> str:
    given = {**os.environ, "RUNNER_TOOL_CACHE": "/cache", **env}
    return subprocess.run([INSTALL, "--where"], cwd=cwd, env=given, capture_output=True, text=True, check=True).stdout


def test_nothing_of_the_checkout_is_imported(tmp_path: Path) -> None:
    for name in ("venv", "ensurepip", "hashlib", "secrets", "sysconfig"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    assert where(tmp_path, PYTHONPATH=str(tmp_path)).startswith("/cache/sweeper/")
    assert not (tmp_path / "ran").exists()


def test_the_same_lock_and_interpreter_share_a_place(tmp_path: Path) -> None:
    assert where(tmp_path) == where(TREE)
    assert where(tmp_path, INPUT_PYTHON="/no/such/python") == where(tmp_path), "one that does not fit is passed over"


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_locked_packages_are_installed_once_and_the_step_runs_with_them(tmp_path: Path) -> None:
    output = tmp_path / "output"
    env = {**os.environ, "RUNNER_TOOL_CACHE": str(tmp_path / "cache"), "GITHUB_OUTPUT": str(output)}
    first = subprocess.run([INSTALL], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert "installing the locked packages" in first.stdout
    said = dict(line.split("=", 1) for line in output.read_text().splitlines())
    again = subprocess.run([INSTALL], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert again.stdout == ""
    tokens = [line for line in output.read_text().splitlines() if line.startswith("token=")]
    assert len(set(tokens)) == 2
    step = [said["python"], "-I", str(TREE / "action" / "main.py"), "run"]
    done = subprocess.run(step, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout
    assert "is not in a git repository" in done.stdout
