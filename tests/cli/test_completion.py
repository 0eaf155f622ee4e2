"""What a shell is offered, asked by bash itself and as bash asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from sweeper.cli import completing
from sweeper.cli.completion import command

ASK = """
sweeper() { "$PYTHON" -m sweeper "$@"; }
env() { command env "${@:1:3}" "$PYTHON" -m sweeper; }
eval "$(sweeper completion bash)"
COMP_WORDS=(%s) COMP_CWORD=%d
_sweeper_completion sweeper
printf '%%s\\n' "${COMPREPLY[@]}"
"""


def offered(folder: Path, *words: str) -> list[str]:
    script = ASK % (" ".join(f"'{word}'" for word in words), len(words) - 1)
    environ = {"PYTHON": sys.executable, "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_a_value_after_an_equals_sign(tmp_path: Path) -> None:
    (tmp_path / "sweeper.toml").write_text('[sweep.flake8]\ncheck = "flake8"\n')
    assert offered(tmp_path, "sweeper", "run", "--dry-run", "=", "f") == ["fix"]
    assert offered(tmp_path, "sweeper", "run", "--dry-run", "=") == ["plan", "fix", "pr"]
    assert offered(tmp_path, "sweeper", "run", "f") == ["flake8"]


@pytest.mark.parametrize("ask", [completing.units, completing.held_units, completing.runs])
def test_without_a_ledger_nothing_is_offered_and_nothing_said(
    ask: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    context = click.Context(command)
    assert ask(context, click.Argument(["unit"]), "") == []  # type: ignore[operator]
    assert capfd.readouterr() == ("", "")
