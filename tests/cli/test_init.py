"""`sweeper init`: what it writes works at once, and nothing is ever overwritten unasked."""

from __future__ import annotations

import os
import shutil
import tomllib
from typing import Any

import pytest

from sweeper.config.models import Config
from sweeper.starter import configuration
from tests.cli.conftest import Place
from tests.cli.repositories import MIXED, PROGRAMS, REPOSITORIES

RUFF = {"pyproject.toml": "[tool.ruff]\nline-length = 100\n", "a.py": "x = 1\n", "tests/test_a.py": ""}
NO_KEYS: dict[str, Any] = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}


def test_init_writes_a_configuration_that_loads_and_overwrites_nothing(place: Place) -> None:
    place.commit(RUFF)
    assert place.run("init").code == 0
    written = place.top / "sweeper.toml"
    text = written.read_text()
    config = Config.model_validate(tomllib.loads(text))
    assert list(config.sweep) == ["ruff"]
    assert config.sweep["ruff"].test == "pytest -q"
    assert len(config.sweep["ruff"].ladder) == 2
    again = place.run("init")
    assert (again.code, written.read_text()) == (0, text)
    assert "as it would be written" in again.out
    written.write_text("# mine\n")
    done = place.run("init")
    assert done.code == 2
    assert "--force" in done.err
    assert written.read_text() == "# mine\n"
    assert place.run("init", "--force").code == 0
    assert written.read_text() == text


@pytest.mark.parametrize("name", [".github/sweeper.toml", "pyproject.toml"])
def test_init_puts_nothing_before_a_configuration_elsewhere(place: Place, name: str) -> None:
    text = "[limits]\nslots = 2\n" if name.startswith(".github") else "[tool.sweeper.limits]\nslots = 2\n"
    place.commit({**RUFF, name: text})
    done = place.run("init")
    assert done.code == 2
    assert name in done.err
    assert not (place.top / "sweeper.toml").exists()
    assert "[sweep.ruff]" in place.run("init", "--stdout").out


def test_init_of_a_mixed_monorepo_as_a_document(place: Place) -> None:
    place.commit(MIXED)
    done = place.run("init", "--json", **NO_KEYS)
    assert (done.code, done.document["kind"], done.document["written"]) == (0, "init", True)
    sweeps = {each["name"]: each for each in done.document["sweeps"]}
    written = Config.model_validate(tomllib.loads((place.top / "sweeper.toml").read_text())).sweep
    assert list(written) == list(sweeps)
    assert set(sweeps) == {name for repository in REPOSITORIES.values() for name in repository.finds}
    for name, sweep in written.items():
        told = sweeps[name]
        assert (sweep.check, sweep.root, sweep.toolchain) == (told["check"], told["root"], told["toolchain"])
        assert (sweep.setup, sweep.test) == (told["setup"], told["test"])
        assert [rung.run for rung in sweep.ladder] == [
            rung["run"] if isinstance(sweep.ladder[0].run, list) else " ".join(rung["run"]) for rung in told["ladder"]
        ]
    assert place.run("init", "--json", **NO_KEYS).document["written"] is False


def test_init_takes_an_agent_that_is_here(place: Place) -> None:
    place.commit({"mypy.ini": "[mypy]\n", "a.py": ""})
    programs = place.top / ".git" / "bin"
    programs.mkdir()
    (programs / "claude").write_text("#!/bin/sh\n")
    (programs / "claude").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    done = place.run("init", "--json", PATH=path, ANTHROPIC_API_KEY="not-a-key")
    ladders = {each["name"]: each["ladder"] for each in done.document["sweeps"]}
    assert ladders["mypy"] == [{"agent": "claude"}]
    assert [len(ladders["ruff"]), ladders["ruff"][-1]] == [3, {"agent": "claude"}]
    assert place.run("init", "--stdout", PATH=path, **NO_KEYS).out.count("\nladder = []\n") == 1


def test_init_where_no_linter_fits(place: Place) -> None:
    place.commit({"a.txt": "a"})
    done = place.run("init")
    assert done.code == 0
    assert "no linter that is known here" in done.err
    Config.model_validate(tomllib.loads((place.top / "sweeper.toml").read_text()))


def test_every_line_of_a_first_configuration_that_is_commented_out_is_right_too() -> None:
    loaded: dict[str, object] = {}
    for block in configuration([]).split("\n\n"):
        lines = [
            line.removeprefix("# ") for line in block.splitlines() if line.startswith(("# ", "[")) or " = " in line
        ]
        keys = [line for line in lines if line.startswith("[") or " = " in line]
        loaded |= tomllib.loads("\n".join(keys))
    Config.model_validate(loaded)
    assert {"limits", "sandbox", "sweep"} <= loaded.keys()


@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.timeout(300)
def test_what_has_no_fixer_is_planned_and_held_for_a_person(place: Place) -> None:
    place.commit(REPOSITORIES["python"].files)
    assert place.run("init", **NO_KEYS).code == 0
    planned = place.run("plan", "mypy", "--json", wall=240, **NO_KEYS)
    assert planned.code == 0, planned.err  # nothing that a run would try
    (unit,) = planned.document["sweeps"][0]["units"]
    assert (unit["rung"], unit["hold"]) == (None, "the ladder has no rung")
    done = place.run("run", "mypy", wall=240, **NO_KEYS)
    assert done.code == 1
    assert "the ladder has no rung" in done.out
    assert "held" in place.run("why", "app.py").out


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.bubblewrap
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", [*REPOSITORIES, "mixed"])
def test_what_init_writes_passes_plan_at_once(place: Place, name: str) -> None:
    """With the real linters, brought by the set-ups that were written, each in the sandbox."""
    every = list(REPOSITORIES.values()) if name == "mixed" else [REPOSITORIES[name]]
    finds = {sweep: rule for repository in every for sweep, rule in repository.finds.items()}
    place.commit(MIXED if name == "mixed" else REPOSITORIES[name].files)
    assert place.run("init", **NO_KEYS).code == 0
    assert set(Config.model_validate(tomllib.loads((place.top / "sweeper.toml").read_text())).sweep) == set(finds)
    for sweep, rule in finds.items():
        missing = [program for program in PROGRAMS.get(sweep, ()) if shutil.which(program) is None]
        if missing and name != "mixed":
            pytest.skip(f"bubblewrap takes {missing[0]} from this machine, which has none")
        if missing or not rule:
            continue
        done = place.run("plan", sweep, "--json", wall=900, **NO_KEYS)
        (plan,) = done.document["sweeps"]
        assert done.code == int(any(unit["rung"] is not None for unit in plan["units"])), (sweep, done.err)
        assert rule in {each for unit in plan["units"] for each in unit["rules"]}, (sweep, plan["units"])
