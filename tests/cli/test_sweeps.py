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
