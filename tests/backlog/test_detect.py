"""Suggested sweeps."""

from __future__ import annotations

from sweeper.backlog.detect import Found, linters
from sweeper.backlog.tools import RUFF, recognise
from sweeper.records import BaseEntry
from tests.backlog.samples import tree

CHECK = "ruff check --output-format json ."


def test_a_configured_linter_is_found_nearest_to_the_root() -> None:
    files = {
        "pyproject.toml": b"[project]\n",
        "pkg/pyproject.toml": b"x=1\n[tool.ruff.lint]\nselect=[]\n",
        "pkg/a.py": b"",
    }
    assert linters(tree(*files), files.__getitem__) == [Found("ruff", CHECK, True, "pkg/pyproject.toml", 1)]
    files["ruff.toml"] = b""
    assert linters(tree(*files), files.__getitem__)[0].evidence == "ruff.toml"


def test_python_files_alone_are_suggested_as_unconfigured() -> None:
    files = {"pyproject.toml": b"[tool.rufflike]\n# [tool.ruff]\n", "b/a.py": b"", "c.pyi": b""}
    assert linters(tree(*files), files.__getitem__) == [Found("ruff", CHECK, False, "c.pyi", 2)]


def test_nothing_to_check_suggests_nothing() -> None:
    listing = {**tree("ruff.toml", "README.md"), b"link.py": BaseEntry(0o120000, "0")}
    assert linters(listing, lambda path: b"") == []


def test_the_suggested_check_is_recognised() -> None:
    assert recognise(CHECK.split()) is RUFF
