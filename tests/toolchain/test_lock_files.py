"""Which files of a commit decide whether a toolchain is made anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.commands import argv
from sweeper.records import BaseEntry
from sweeper.sandbox import lockfiles
from sweeper.sandbox.contract import Toolchain

TREE = [
    ".npmrc", "Cargo.lock", "Gemfile.lock", "go.sum", "package.json", "package-lock.json", "pnpm-lock.yaml",
    "poetry.lock", "pyproject.toml", "README.md", "requirements-dev.txt", "requirements.txt",
    "requirements/common.txt", "requirements/dev.txt", "src/app.py", "tools/install.sh", "tools/lint/plugin.py",
    "uv.lock", "web/package.json", "web/app.js", "yarn.lock",
]  # fmt: skip


def listing(**changed: str) -> dict[bytes, BaseEntry]:
    return {name.encode(): BaseEntry(0o100644, changed.get(name, "0" * 40)) for name in TREE}


def found(*commands: str) -> list[str]:
    return [path.decode() for path in lockfiles.lock_files([argv(command) for command in commands], listing())]


PYTHON = ["poetry.lock", "pyproject.toml", "requirements-dev.txt", "requirements.txt", "uv.lock"]
NODE = [".npmrc", "package-lock.json", "package.json", "pnpm-lock.yaml", "web/package.json", "yarn.lock"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pip install -r requirements.txt", PYTHON),
        ("python -m pip install -rrequirements.txt", PYTHON),
        ("pip install -r requirements/dev.txt", [*PYTHON, "requirements/common.txt", "requirements/dev.txt"]),
        ("uv sync --frozen", PYTHON),
        ("npm ci", NODE),
        ("npm ci --prefix web", NODE),
        ("npm ci --prefix=./web", NODE),
        ("cargo fetch --locked", ["Cargo.lock"]),
        ("go mod download", ["go.sum"]),
        ("bundle install", ["Gemfile.lock"]),
        ("pip install ./tools/lint", [*PYTHON, "tools/lint/plugin.py"]),
        ("sh -c 'npm ci && cargo fetch'", ["Cargo.lock", *NODE]),
    ],
)
def test_a_command_reads_what_its_manager_reads_and_what_it_names(command: str, expected: list[str]) -> None:
    assert found(command) == sorted(expected)


def test_a_command_that_names_no_manager_may_read_any() -> None:
    everything = found("make deps")
    assert {"Cargo.lock", "Gemfile.lock", "go.sum", *PYTHON, *NODE} <= set(everything)
    assert not {"README.md", "src/app.py", "web/app.js"} & set(everything)
    assert "tools/install.sh" in found("./tools/install.sh")


def chain(*commands: str) -> Toolchain:
    return Toolchain(setup=tuple(argv(command) for command in commands))


@given(st.sampled_from(TREE), st.sampled_from(["pip install -r requirements.txt", "npm ci", "make deps"]))
def test_the_key_changes_with_a_lock_file_and_with_nothing_else(name: str, command: str) -> None:
    before = lockfiles.key(chain(command), listing())
    after = lockfiles.key(chain(command), listing(**{name: "1" * 40}))
    assert (before != after) == (name in found(command))


def test_a_lock_file_that_appears_counts() -> None:
    fewer = {path: entry for path, entry in listing().items() if path != b"package-lock.json"}
    assert lockfiles.key(chain("npm ci"), fewer) != lockfiles.key(chain("npm ci"), listing())


def test_without_a_setup_no_lock_file_counts() -> None:
    assert lockfiles.key(Toolchain(), listing()) == ""
