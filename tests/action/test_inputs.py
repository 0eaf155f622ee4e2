"""Inputs come in by the environment; a wrong one is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sweeper.errors import ConfigError
from sweeper.runner.inputs import read
from sweeper.runner.verdict import Verdict, outputs
from tests.action.runner import TREE

ACTION = YAML(typ="safe").load((TREE / "action.yml").read_text())


def test_nothing_given_is_every_sweep_and_no_setting() -> None:
    made = read({"INPUT_SWEEPS": "", "INPUT_SLOTS": " ", "INPUT_LABELS": "", "INPUT_PULL_REQUEST": "true"})
    assert made.run["sweeps"] == ()
    assert made.run["slots"] is None
    assert made.environ == {}
    assert made.pull_request
    assert (made.dry_run, made.fail_on) == ("", "error")


def test_inputs_become_the_command_lines_values_and_settings() -> None:
    made = read(
        {
            "INPUT_SWEEPS": "ruff 'my py'", "INPUT_FIX": "ruff check --fix {files}\n\n  tool {files}\n",
            "INPUT_SLOTS": "2", "INPUT_CONFIG": "x.toml", "INPUT_LABELS": "lint, a b\nc", "INPUT_BASE": "main",
            "INPUT_WORKING_DIRECTORY": "app", "INPUT_USD_PER_FIRE": "2.5",
        }
    )  # fmt: skip
    assert made.run["sweeps"] == ("ruff", "my py")
    assert made.run["fix"] == ("ruff check --fix {files}", "tool {files}")
    assert made.run["slots"] == 2
    assert made.run["config"] == Path("x.toml")
    assert made.folder == "app"
    assert made.environ == {
        "SWEEPER_PULL_REQUEST__LABELS": '["lint", "a b", "c"]',
        "SWEEPER_PULL_REQUEST__BASE": "main",
        "SWEEPER_LIMITS__USD_PER_FIRE": "2.5",
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [("fail-on", "sometimes"), ("slots", "many"), ("slots", "0"), ("dry-run", "yes"), ("pull-request", "1"),
     ("sweeps", "'open"), ("sandbox", "vm")],
)  # fmt: skip
def test_a_wrong_input_is_named(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"the input {name} is") as caught:
        read({f"INPUT_{name.upper().replace('-', '_')}": text})
    assert caught.value.hint


def test_every_input_reaches_the_step_by_the_environment_and_none_by_its_text() -> None:
    run = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "run")
    passed = {value for step in ACTION["runs"]["steps"] for value in step.get("env", {}).values()}
    for name in ACTION["inputs"]:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name), "kebab-case"
        assert f"${{{{ inputs.{name} }}}}" in passed
        if name not in ("token", "python"):
            assert run["env"][f"INPUT_{name.upper().replace('-', '_')}"] == f"${{{{ inputs.{name} }}}}"
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_the_outputs_that_are_declared_are_those_that_are_written() -> None:
    written = outputs(Verdict("drained", 0), [], "")
    assert set(ACTION["outputs"]) == set(written)
    for name, about in ACTION["outputs"].items():
        assert about["value"] == f"${{{{ steps.run.outputs.{name} }}}}"
