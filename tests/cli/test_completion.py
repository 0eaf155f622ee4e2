"""What a shell is offered, asked by bash itself and as bash asks."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from sweeper.cli import completing
from sweeper.cli.completion import command
from tests.cli.conftest import Place

CHUNKS = """
[sweep.ruff]
check = "ruff check --select E711 ."
max_findings_per_unit = 1
ladder = []
"""
ASK = """
sweeper() { "$PYTHON" -m sweeper "$@"; }
env() { command env "${@:1:3}" "$PYTHON" -m sweeper; }
eval "$(sweeper completion bash)"
COMP_WORDS=(%s) COMP_CWORD=%d
_sweeper_completion sweeper
printf '%%s\\n' "${COMPREPLY[@]}"
"""


def offered(folder: Path, *words: str) -> list[str]:
    """The words that are offered, as they are written to the command line. `words` are as they were typed there."""
    script = ASK % (" ".join(map(shlex.quote, words)), len(words) - 1)
    environ = {"PYTHON": sys.executable, "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_bash_completes_a_value_after_an_equals_sign(tmp_path: Path) -> None:
    (tmp_path / "sweeper.toml").write_text('[sweep.flake8]\ncheck = "flake8"\n')
    assert offered(tmp_path, "sweeper", "run", "--dry-run", "=", "f") == ["fix"]
    assert offered(tmp_path, "sweeper", "run", "--dry-run", "=") == ["plan", "fix", "pr"]
    assert offered(tmp_path, "sweeper", "run", "f") == ["flake8"]


@pytest.mark.usefixtures("bwrap")
def test_bash_completes_a_title_with_blanks_as_one_word(place: Place) -> None:
    lines = "".join(f"a{number} = None == a{number}\n" for number in range(3))
    place.commit({"b c.py": lines, "b'*.py": lines, "sweeper.toml": CHUNKS})
    done = place.run("run")
    assert done.code == 1, done
    assert offered(place.top, "sweeper", "why", "b") == [
        r"b\ c.py\ #1", r"b\ c.py\ #2", r"b\ c.py\ #3", r"b\'\*.py\ #1", r"b\'\*.py\ #2", r"b\'\*.py\ #3",
    ]  # fmt: skip
    assert offered(place.top, "sweeper", "why", r"b\ c.py\ ") == [rf"b\ c.py\ #{number}" for number in (1, 2, 3)]
    assert offered(place.top, "sweeper", "why", '"b c') == [f"b c.py #{number}" for number in (1, 2, 3)]
    whole = subprocess.run(["bash", "-c", r"printf %s b\ c.py\ #2"], capture_output=True, text=True, check=True).stdout
    assert place.run("why", whole).out.startswith("b c.py #2")


@pytest.mark.parametrize("ask", [completing.units, completing.held_units, completing.runs])
def test_without_a_ledger_nothing_is_offered_and_nothing_said(
    ask: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    context = click.Context(command)
    assert ask(context, click.Argument(["unit"]), "") == []  # type: ignore[operator]
    assert capfd.readouterr() == ("", "")
