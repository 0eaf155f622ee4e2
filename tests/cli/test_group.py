"""The commands as a user meets them before anything is run."""

from __future__ import annotations

import importlib
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from sweeper.cli.console import Console
from sweeper.cli.group import COMMANDS, sweeper
from sweeper.cli.options import TAIL

HEAVY = ("pydantic", "anyio", "rich", "docker", "asyncio", "git", "jinja2")


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from sweeper.cli import main; code = main(['--help']); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "[]")
    assert all(f"  {name}  " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_own_help_says(name: str) -> None:
    module, said = COMMANDS[name]
    command = importlib.import_module(module).command
    assert isinstance(command, click.Command)
    assert command.help is not None
    assert command.help.splitlines()[0] == said


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help(name: str) -> None:
    done = CliRunner().invoke(sweeper, [name, "--help"], prog_name="sweeper")
    assert done.exit_code == 0
    assert done.output.startswith(f"Usage: sweeper {name} ")


def test_a_mistyped_command_gets_a_suggestion() -> None:
    done = CliRunner().invoke(sweeper, ["reprot"])
    assert done.exit_code == 2
    assert "Did you mean 'report'?" in done.output


def test_the_words_after_the_dashes_are_the_check() -> None:
    from sweeper.cli.run import command

    with command.make_context("run", ["ruff", "--slots", "2", "--", "ruff", "check", "--", "x"]) as ctx:
        assert ctx.meta[TAIL] == ("ruff", "check", "--", "x")
        assert ctx.params["sweeps"] == ("ruff",)


def test_nothing_after_the_dashes_is_an_error() -> None:
    done = CliRunner().invoke(sweeper, ["run", "--"])
    assert done.exit_code == 2
    assert "after -- comes a check command" in done.output


def test_a_quoted_check_is_split_like_the_option() -> None:
    from sweeper.cli.run import command

    with command.make_context("run", ["--", "ruff check 'a b'"]) as ctx:
        assert ctx.meta[TAIL] == ("ruff", "check", "a b")
    for nothing in ("", "ruff '"):
        done = CliRunner().invoke(sweeper, ["run", "--", nothing])
        assert done.exit_code == 2, nothing
        assert "check command" in done.output


def test_two_checks_are_an_error() -> None:
    done = CliRunner().invoke(sweeper, ["plan", "--check", "ruff check .", "--", "ruff", "check"], obj=Console())
    assert done.exit_code == 2
    assert "not both" in done.output
