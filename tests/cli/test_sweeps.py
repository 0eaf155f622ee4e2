"""Command line and configuration -> the sweeps of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.cli.console import Console
from sweeper.cli.options import Wanted
from sweeper.cli.sweeps import settle
from sweeper.commands import argv
from sweeper.errors import ConfigError

FILE = """
[sweep.ruff]
check = "ruff check ."
slots = 2
[sweep.house]
check = "house ."
[[sweep.house.ladder]]
run = "fix {files}"
[limits]
slots = 3
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "sweeper.toml").write_text(FILE)
    return tmp_path


CONSOLE = Console({}, sink=lambda line: None)


def test_all_sweeps_of_the_file_each_with_a_ladder(top: Path) -> None:
    settled = settle(Wanted(), top, CONSOLE)
    assert list(settled.sweeps) == ["ruff", "house"]
    assert ["--unsafe-fixes" in argv(rung.run) for rung in settled.sweeps["ruff"].ladder] == [False, True]
    assert settled.config.limits.slots == 3


def test_the_command_line_outranks_the_file(top: Path) -> None:
    settled = settle(
        Wanted(sweeps=("house",), fix=("one {files}", "two {files}"), test="true", slots=8, max_rounds=2), top, CONSOLE
    )
    (sweep,) = settled.sweeps.values()
    assert [argv(rung.run)[0] for rung in sweep.ladder] == ["one", "two"]
    assert (sweep.test, sweep.slots, sweep.max_rounds, settled.config.limits.slots) == ("true", 8, 2, 8)


@pytest.mark.parametrize(
    ("check", "name"),
    [
        (("ruff", "check", "."), "ruff"),
        ("python -m ruff check .", "ruff"),
        (("/opt/bin/my linter",), "my-linter"),
        (("./-",), "check"),
    ],
)
def test_a_check_of_the_command_line_is_called_as_its_tool(
    tmp_path: Path, check: str | tuple[str, ...], name: str
) -> None:
    settled = settle(Wanted(check=check, fix=("true",)), tmp_path, CONSOLE)
    assert list(settled.sweeps) == [name]


def test_a_check_of_the_command_line_takes_nothing_from_the_sweeps_of_the_file(top: Path) -> None:
    settled = settle(Wanted(check=("ruff", "check", "src")), top, CONSOLE)
    assert list(settled.sweeps) == ["ruff"]
    assert settled.sweeps["ruff"].slots is None
    assert settled.config.limits.slots == 3


def test_what_decides_a_result_is_in_the_digest_and_the_rest_is_not(top: Path) -> None:
    def digest(**more: object) -> str:
        return settle(Wanted(sweeps=("house",), **more), top, CONSOLE).digest("house")  # type: ignore[arg-type]

    assert digest() == digest(slots=8) == digest(wall="1h") == digest(max_rounds=1)
    assert len({digest(), digest(fix=("x",)), digest(test="true"), digest(partition="rule")}) == 4


def test_errors_name_the_place(top: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no sweep 'mypy'"):
        settle(Wanted(sweeps=("mypy",)), top, CONSOLE)
    with pytest.raises(ConfigError, match=r"the command line: limits\.wall"):
        settle(Wanted(wall="soon"), top, CONSOLE)
    with pytest.raises(ConfigError, match="not a command line"):
        settle(Wanted(check="'unbalanced"), top, CONSOLE)
    with pytest.raises(ConfigError, match="is one sweep"):
        settle(Wanted(sweeps=("a", "b"), check=("x",)), top, CONSOLE)


def test_an_unknown_variable_is_said() -> None:
    said: list[str] = []
    console = Console({"SWEEPER_SLOT": "3", "SWEEPER_DEBUG": "1", "SWEEPER_CACHE": "/x"}, sink=said.append)
    with pytest.raises(ConfigError):
        settle(Wanted(), Path("/nonexistent"), console)
    assert said == ["sweeper: no such setting, ignored: SWEEPER_SLOT"]


def test_without_a_rung_it_is_said_what_an_agent_would_need(tmp_path: Path) -> None:
    def way_out(**environ: str) -> str:
        console = Console({"PATH": str(tmp_path), **environ}, sink=lambda line: None)
        bare = settle(Wanted(check=("mypy", ".")), tmp_path, console, bare=True)
        assert (bare.sweeps["mypy"].ladder, list(bare.bare)) == ([], ["mypy"])
        with pytest.raises(ConfigError, match="'mypy' has no fixer of its own") as caught:
            settle(Wanted(check=("mypy", ".")), tmp_path, console)
        assert caught.value.hint == bare.bare["mypy"].hint
        return caught.value.hint.splitlines()[1]

    assert way_out().endswith("install one of claude, codex and export ANTHROPIC_API_KEY or OPENAI_API_KEY")
    assert way_out(OPENAI_API_KEY="x").endswith("OPENAI_API_KEY is set, install codex or take --sandbox docker")
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    assert way_out().endswith("claude is here, export ANTHROPIC_API_KEY")
    console = Console({"PATH": str(tmp_path), "ANTHROPIC_API_KEY": "x"}, sink=lambda line: None)
    assert settle(Wanted(check=("mypy", ".")), tmp_path, console).sweeps["mypy"].ladder[0].agent == "claude"
    (tmp_path / "sweeper.toml").write_text('[sweep.mypy]\ncheck = "mypy ."\nladder = []\n')
    assert settle(Wanted(), tmp_path, CONSOLE).bare == {}
