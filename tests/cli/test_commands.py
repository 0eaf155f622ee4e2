"""The commands that need no sandbox."""

from __future__ import annotations

import tomllib
from pathlib import Path

from sweeper.config import Config
from tests.cli.conftest import Place


def test_run_without_a_sweep_says_what_to_do(place: Place) -> None:
    place.commit({"a.txt": "a"})
    done = place.run("run")
    assert (done.code, done.out) == (2, "")
    assert "no sweep is configured" in done.err
    assert "sweeper init" in done.err


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


def test_init_writes_a_configuration_that_loads_and_overwrites_nothing(place: Place) -> None:
    place.commit({"pyproject.toml": "[tool.ruff]\nline-length = 100\n", "a.py": "x = 1\n", "tests/test_a.py": ""})
    done = place.run("init")
    assert done.code == 0
    written = place.top / "sweeper.toml"
    config = Config.model_validate(tomllib.loads(written.read_text()))
    assert list(config.sweep) == ["ruff"]
    assert config.sweep["ruff"].test == "pytest -q"
    assert len(config.sweep["ruff"].ladder) == 2
    written.write_text("# mine\n")
    done = place.run("init")
    assert done.code == 2
    assert "--force" in done.err
    assert written.read_text() == "# mine\n"
    assert place.run("init", "--force").code == 0
    assert "[sweep.ruff]" in written.read_text()


def test_init_where_no_linter_fits(place: Place) -> None:
    place.commit({"a.txt": "a"})
    done = place.run("init")
    assert done.code == 0
    assert "no linter that is known here" in done.err
    Config.model_validate(tomllib.loads((place.top / "sweeper.toml").read_text()))


def test_every_line_of_a_first_configuration_that_is_commented_out_is_right_too() -> None:
    from sweeper.cli import starter

    text = starter.configuration([], tests="")
    loaded: dict[str, object] = {}
    for block in text.split("\n\n"):
        lines = [
            line.removeprefix("# ") for line in block.splitlines() if line.startswith(("# ", "[")) or " = " in line
        ]
        keys = [line for line in lines if line.startswith("[") or " = " in line]
        loaded |= tomllib.loads("\n".join(keys))
    Config.model_validate(loaded)
    assert {"limits", "sandbox", "sweep"} <= loaded.keys()


def test_version(place: Place) -> None:
    assert place.run("--version").out.startswith("sweeper 0.")
