"""Whatever ends a command becomes one exit code and a message on stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


PROGRAM = f"{sys.executable} -c 'import sys; from sweeper.cli import main; sys.exit(main(sys.argv[1:]))'"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_c12_a_closed_stream_is_nobodys_number(closed: str, tmp_path: Path) -> None:
    """What is opened next would get the number of a closed stream, and what is printed would go into it."""
    victim = tmp_path / "ledger"
    code = (
        "import sys; from sweeper.cli import entry; entry.open_streams(); "
        f"kept = open({str(victim)!r}, 'w'); print('to stdout', flush=True); "
        "print('to stderr', file=sys.stderr, flush=True); sys.stdin.read(); sys.exit(kept.fileno() < 3)"
    )
    argv = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert victim.read_text() == ""


def test_c24_results_that_cannot_be_written_are_an_error_with_a_way_out() -> None:
    code = (
        "import sys; from sweeper.cli import entry; from sweeper.cli.console import Console; "
        "entry.sweeper.main = lambda **_: Console().result('x' * 100); sys.exit(entry.main([]))"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 70
    assert "could not be written to stdout" in done.stderr
    assert "sweeper report" in done.stderr
    assert "Exception ignored" not in done.stderr


def test_the_folder_that_we_stand_in_may_be_gone(tmp_path: Path) -> None:
    script = f"mkdir gone; cd gone; rmdir ../gone; exec {PROGRAM} status"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "current folder is no more" in done.stderr


def test_a_low_limit_of_descriptors_is_raised_as_far_as_it_may_be() -> None:
    code = (
        "import resource as r; from sweeper.cli import entry; r.setrlimit(r.RLIMIT_NOFILE, (100, 900)); "
        "entry.raise_limits(); assert r.getrlimit(r.RLIMIT_NOFILE) == (900, 900); "
        "entry.DESCRIPTORS = 500; entry.raise_limits(); assert r.getrlimit(r.RLIMIT_NOFILE) == (900, 900)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
