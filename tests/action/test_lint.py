"""action.yml and the example workflows, by the linters that their users have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.action.runner import EXAMPLES, TREE

BIN = Path(sys.executable).parent
ACTIONS = [TREE / "action.yml", TREE / "clean-up" / "action.yml"]
WORKFLOWS = sorted(EXAMPLES.glob("*.yml"))
LINTERS: dict[str, tuple[list[str | Path], list[Path]]] = {
    "jactionlint": ([BIN / "jactionlint"], WORKFLOWS),
    "zizmor": ([BIN / "zizmor", "--offline", "--persona", "pedantic", "--quiet"], [*ACTIONS, *WORKFLOWS]),
    "action schema": ([BIN / "check-jsonschema", "--builtin-schema", "vendor.github-actions"], ACTIONS),
    "workflow schema": ([BIN / "check-jsonschema", "--builtin-schema", "vendor.github-workflows"], WORKFLOWS),
}
BAD = {
    "jactionlint": ("run: echo ${{ github.nothing }}", "w.yml"),
    "zizmor": ("run: echo ${{ github.event.pull_request.title }}", "w.yml"),
    "action schema": ("name: x\ninputs: []", "action.yml"),
    "workflow schema": ("runs: echo", "w.yml"),
}
FRAME = "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - {}\n"


def lint(name: str, files: list[Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*LINTERS[name][0], *files], capture_output=True, text=True, check=False, cwd="/")


@pytest.mark.parametrize("name", LINTERS)
def test_action_and_examples_are_clean(name: str) -> None:
    done = lint(name, LINTERS[name][1])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", LINTERS)
def test_the_linter_would_have_said_something(name: str, tmp_path: Path) -> None:
    text, file = BAD[name]
    (tmp_path / file).write_text(FRAME.format(text) if file == "w.yml" else text)
    assert lint(name, [tmp_path / file]).returncode != 0


def test_every_kind_of_workflow_is_there() -> None:
    assert [path.stem for path in WORKFLOWS] == ["manual", "matrix", "pull-request", "scheduled"]
