"""What others meet of this program: shells, pre-commit, coding agents, readers of SARIF and rdjson."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from sweeper.backlog.formats import rdjson, sarif
from sweeper.cli.completion import SHELLS
from sweeper.cli.group import COMMANDS, sweeper
from tests.cli.conftest import GIT, Place, environment

TOP = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def test_what_remains_is_read_by_other_programs(findings: Place) -> None:
    findings.run("run", "--", "ruff", "check", ".")
    for form, parse in (("sarif", sarif.parse), ("rdjson", rdjson.DOCUMENT.parse)):
        done = findings.run("report", "--format", form)
        assert done.code == 0, done.err
        (left,) = parse(done.out.encode(), b"").findings
        assert (left.path, left.line, left.rule) == ("stubborn.py", 1, "E501")
        assert "ladder exhausted" in left.message
    assert findings.run("report", "--format", "json").document["kind"] == "report"
    assert findings.run("report", "--format", "sarif", "--json").code == 2


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_understands_its_completion(place: Place, shell: str) -> None:
    done = place.run("completion", shell)
    assert done.code == 0, done.err
    assert "_SWEEPER_COMPLETE" in done.out
    if program := shutil.which(shell):
        checked = subprocess.run([program, "-n"], input=done.out, text=True, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_bash_completes_commands_options_and_sweeps(place: Place) -> None:
    (place.top / "sweeper.toml").write_text(
        '[sweep.docs-links]\ncheck = "true"\n[sweep.ruff]\ncheck = "ruff check ."\n'
    )
    script = """
eval "$(sweeper completion bash)"
complete_it() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _sweeper_completion sweeper
    echo "${COMPREPLY[*]}"
}
complete_it sweeper pla
complete_it sweeper run do
complete_it sweeper plan --pro
"""
    env = environment(PATH=f"{BIN}:{os.environ['PATH']}")
    done = subprocess.run(["bash"], input=script, cwd=place.top, env=env, text=True, capture_output=True, check=False)
    assert done.stdout.split() == ["plan", "docs-links", "--prompts"], done.stderr


def test_the_skill_names_commands_and_options_that_there_are() -> None:
    text = (TOP / "SKILL.md").read_text()
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == "sweeper"
    assert 0 < len(fields["description"]) <= 1024
    named = re.findall(r"`sweeper ([a-z]+)((?: [^`]*)?)`", body)
    assert {"plan", "run", "status", "why", "report", "resume"} <= {name for name, _ in named}
    for name, rest in named:
        assert name in COMMANDS
        command = sweeper.get_command(click.Context(sweeper), name)
        assert command is not None
        options = {option for param in command.params for option in param.opts}
        for option in re.findall(r"--[a-z-]+", rest.partition(" -- ")[0]):
            assert option in options, f"sweeper {name} {option}"
    for code in (0, 1, 2, 3, 4, 5, 6, 7, 70):
        assert f"| {code} |" in body


def test_the_hook_s_manifest_is_one() -> None:
    done = subprocess.run(
        [BIN / "pre-commit", "validate-manifest", TOP / ".pre-commit-hooks.yaml"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
def test_pre_commit_runs_the_plan_of_a_clone(findings: Place, tmp_path: Path) -> None:
    clone = tmp_path / "sweeper"
    subprocess.run([*GIT, "clone", "-q", "--no-hardlinks", str(TOP), str(clone)], check=True)
    tip = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True).stdout
    (findings.top / "sweeper.toml").write_text('[sweep.ruff]\ncheck = "ruff check ."\n')
    (findings.top / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {clone}\n  rev: {tip.strip()}\n  hooks:\n  - id: sweeper-plan\n"
    )
    env = environment(PRE_COMMIT_HOME=str(tmp_path / "home"))
    words = [str(BIN / "pre-commit"), "run", "--hook-stage", "manual", "--all-files"]

    def hook() -> subprocess.CompletedProcess[str]:
        findings.commit({})
        return subprocess.run(words, cwd=findings.top, env=env, capture_output=True, text=True, check=False)

    red = hook()
    assert red.returncode == 1, red.stdout + red.stderr
    assert "4 findings in 3 units" in red.stdout
    for name in ("plain.py", "unsafe.py", "stubborn.py"):
        (findings.top / name).write_text("X = 1\n")
    green = hook()
    assert green.returncode == 0, green.stdout + green.stderr
    assert "Passed" in green.stdout
