"""What the README says is what the program does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from sweeper import errors
from sweeper.cli import entry
from sweeper.config.models import Config
from tests.cli.reference import CONFIGURATION, README, with_references

TEXT = README.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [README, CONFIGURATION], ids=lambda page: page.name)
def test_the_references_are_those_of_the_commands_and_the_models(page: Path) -> None:
    assert with_references(page) == page.read_text(encoding="utf-8"), "python -m tests.cli.reference writes them"


def test_the_configuration_example_loads() -> None:
    for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL):
        Config.model_validate(tomllib.loads(block))


def test_every_exit_code_is_explained() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SweeperError)]
    assert {kind.exit_code for kind in kinds} | {
        0,
        1,
        entry.INTERNAL,
        entry.INTERRUPTED,
        143,
        entry.PIPE_CLOSED,
    } == codes
