"""The commands that need no sandbox."""

from __future__ import annotations

import os
from pathlib import Path

import anyio

from sweeper.ledger import open_ledger
from tests.cli.conftest import Place


def test_run_without_a_sweep_says_what_to_do(place: Place) -> None:
    place.commit({"a.txt": "a"})
    done = place.run("run")
    assert (done.code, done.out) == (2, "")
    assert "no sweep is configured" in done.err
    assert "sweeper init" in done.err
    place.commit({"sweeper.toml": "# nothing yet\n"})
    done = place.run("plan")
    assert done.code == 2
    assert "add a [sweep.NAME] to" in done.err
    assert "sweeper init" not in done.err


def test_outside_a_repository(tmp_path: Path) -> None:
    place = Place.__new__(Place)
    place.top = tmp_path
    done = place.run("status")
    assert done.code == 2
    assert "not in a git repository" in done.err


def test_unknown_sweep_and_unknown_key(place: Place) -> None:
    place.commit({"sweeper.toml": '[sweep.ruff]\ncheck = "ruff check ."\n'})
    done = place.run("run", "mypy")
    assert done.code == 2
    assert "there is no sweep 'mypy'" in done.err
    place.commit({"sweeper.toml": '[sweep.ruff]\nchek = "ruff check ."\n'})
    done = place.run("plan")
    assert done.code == 2
    assert "did you mean sweep.ruff.check?" in done.err


def test_what_is_no_regular_file_is_refused_at_once(place: Place) -> None:
    """Nobody writes to the pipe, so whoever reads it waits forever."""
    place.commit({"a.txt": "a"})
    os.mkfifo(place.top / "pipe")
    (place.top / "folder").mkdir()
    check = ("--", "ruff", "check", ".")
    for name, kind in (("pipe", "a pipe"), ("folder", "a folder"), ("/dev/zero", "a device")):
        for argv in (("plan", "--config", name), ("run", "--from", name, *check), ("init", "--force")):
            if argv[0] == "init":
                (place.top / "sweeper.toml").symlink_to(name)
            done = place.run(*argv)
            assert (done.code, done.out) == (2, ""), argv
            assert f"it is {kind}" in done.err, argv
            if argv[0] == "init":
                assert f"sweeper.toml: it is {kind}" in place.run("plan").err
                (place.top / "sweeper.toml").unlink()


def test_a_check_without_a_fixer_needs_a_ladder(place: Place) -> None:
    place.commit({"a.txt": "a"})
    done = place.run("run", "--", "grep", "-rn", "a", ".")
    assert done.code == 2
    assert "no ladder" in done.err


def test_nothing_was_run_yet(place: Place) -> None:
    place.commit({"a.txt": "a"})
    for command in (["status"], ["report"], ["why", "a"], ["resume"], ["replay"], ["release", "--all"]):
        done = place.run(*command)
        assert (done.code, done.out) == (2, ""), command
        assert "no sweep was run" in done.err
    assert not (place.top / ".git/sweeper/ledger.sqlite3").exists()


def test_a_ledger_without_a_run_is_as_good_as_none(place: Place) -> None:
    place.commit({"a.txt": "a"})
    anyio.run(open_ledger("", place.top / ".git/sweeper").aclose)
    assert (place.top / ".git/sweeper/ledger.sqlite3").exists()
    for command in (["status"], ["report"], ["why", "a"], ["resume"], ["replay"], ["release", "--all"]):
        done = place.run(*command)
        assert (done.code, done.out) == (2, ""), command
        assert "no sweep was run" in done.err


def test_whoever_only_looks_leaves_nothing_behind(place: Place) -> None:
    place.commit({"a.txt": "a"})
    for command, code in (("reap", 0), ("status", 2), ("report", 2)):
        done = place.run(command)
        assert done.code == code, done
    assert not (place.top / ".git/sweeper").exists()


def test_a_prompt_that_is_not_there_is_said_before_anything_runs(place: Place, bwrap: Path) -> None:
    ladder = '[[sweep.x.ladder]]\nrun = "true"\n[[sweep.x.ladder]]\nagent = "claude"\nprompt = "NAME"\n'
    for name in ("nope", "../prompts/standard"):
        config = f'[sweep.x]\ncheck = "ruff check ."\n{ladder}'.replace("NAME", name)
        place.commit({"a.py": "", "sweeper.toml": config})
        done = place.run("plan")
        assert (done.code, done.out) == (2, "")
        assert f"no prompt named '{name}'" in done.err


def test_words_of_a_wrong_configuration_are_a_user_s(place: Place) -> None:
    place.commit({"sweeper.toml": '[sweep."a b"]\ncheck = "ruff check ."\n'})
    done = place.run("plan")
    assert (done.code, done.out) == (2, "")
    assert "a sweep's name is letters, digits" in done.err
    place.commit({"sweeper.toml": "sweep = 3\n"})
    assert "expected a table" in place.run("plan").err


def test_the_programs_of_a_shell_s_script_are_looked_for_too(place: Place) -> None:
    sweep = "[sweep.x]\ncheck = \"sh -c 'cd . && no-such-linter . | cat'\"\nladder = []\n"
    place.commit({"sweeper.toml": sweep})
    (row,) = (row for row in place.run("doctor", "--json").document["rows"] if row["group"] == "tools")
    assert not row["ok"]
    assert row["said"] == "no-such-linter not found on this machine"


def test_a_missing_program_of_the_machine_is_named(place: Place, bwrap: Path) -> None:
    place.commit({"a.py": "import os\n", "sweeper.toml": '[sweep.x]\ncheck = "ruff check ."\nsetup = ["sh -c true"]\n'})
    tools = place.top / ".git/tools"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if program.name != "cp" and not (tools / program.name).is_symlink():
                (tools / program.name).symlink_to(program)
    done = place.run("run", PATH=str(tools))
    assert done.code == 4, done.err
    assert "cp was not found on PATH" in done.err
    assert "coreutils" in done.err


def test_a_setup_is_trusted_to_bring_what_this_machine_lacks(place: Place) -> None:
    sweep = '[sweep.x]\ncheck = "no-such-linter ."\nladder = []\n'
    place.commit({"sweeper.toml": sweep})
    (row,) = (row for row in place.run("doctor", "--json").document["rows"] if row["group"] == "tools")
    assert not row["ok"]
    place.commit({"sweeper.toml": sweep + 'setup = ["pip install no-such-linter"]\n'})
    (row,) = (row for row in place.run("doctor", "--json").document["rows"] if row["group"] == "tools")
    assert row["ok"]
    assert "its setup is to bring" in row["said"]


def test_version(place: Place) -> None:
    assert place.run("--version").out.startswith("sweeper 0.")
