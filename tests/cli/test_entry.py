"""Whatever ends a command becomes one exit code and a message on stderr."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

from sweeper.cli import entry, group
from sweeper.errors import (
    CheckBroken,
    ConfigError,
    DispatcherBusy,
    LimitReached,
    NoSandbox,
    SandboxFailed,
    SweeperError,
)


def ending(monkeypatch: pytest.MonkeyPatch, problem: BaseException) -> int:
    def main(**kwargs: object) -> None:
        raise problem

    monkeypatch.setattr(group.sweeper, "main", main)
    return entry.main([])


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (ConfigError("x"), 2),
        (click.UsageError("x"), 2),
        (CheckBroken("x"), 3),
        (NoSandbox("x"), 4),
        (SandboxFailed("x"), 4),
        (LimitReached("x"), 5),
        (DispatcherBusy("x"), 7),
        (SweeperError("x"), 70),
        (RuntimeError("x"), 70),
        (ExceptionGroup("tasks", [ValueError(), ExceptionGroup("more", [CheckBroken("x")])]), 3),
        (KeyboardInterrupt(), 130),
        (click.exceptions.Exit(5), 5),
    ],
)
def test_exit_codes(monkeypatch: pytest.MonkeyPatch, problem: BaseException, code: int) -> None:
    assert ending(monkeypatch, problem) == code


def test_a_message_names_the_way_out_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ending(monkeypatch, ConfigError("sweeper.toml: slots = \x1b[31m0", hint="write 1\nor more"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "sweeper: sweeper.toml: slots = \\x1b[31m0\n  write 1\n  or more\n"


def test_an_internal_error_shows_its_traceback_only_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SWEEPER_DEBUG", raising=False)
    ending(monkeypatch, RuntimeError("boom"))
    said = capsys.readouterr().err
    assert "internal error: RuntimeError: boom" in said
    assert "SWEEPER_DEBUG=1" in said
    assert "Traceback" not in said
    monkeypatch.setenv("SWEEPER_DEBUG", "1")
    ending(monkeypatch, RuntimeError("boom"))
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error_message() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    argv = [sys.executable, "-c", "import sys; from sweeper.cli import main; sys.exit(main(['--help']))"]
    done = subprocess.run(argv, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141
