"""Which sweeps a repository suggests, from its file names and the heads of a few files."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sweeper.records import Listing

_MAX_READ = 200  # configuration files that are looked into


@dataclass(frozen=True, slots=True)
class Found:
    """One suggested sweep. `configured`: the repository has a configuration for the tool. `evidence`: the
    path that says so, or one file that the tool would check; `files`: how many files it would check."""

    tool: str
    check: str
    configured: bool
    evidence: str
    files: int


@dataclass(frozen=True, slots=True)
class _Sign:
    """`config`: file names that are the tool's own; `table`: file name -> pattern of its table in a shared file."""

    tool: str
    check: str
    suffixes: tuple[str, ...]
    config: tuple[str, ...] = ()
    table: tuple[tuple[str, str], ...] = ()


_SIGNS = (
    _Sign(
        tool="ruff",
        check="ruff check --output-format json .",
        suffixes=(".py", ".pyi", ".ipynb"),
        config=("ruff.toml", ".ruff.toml"),
        table=(("pyproject.toml", r"(?m)^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*ruff[ \t]*[.\]]"),),
    ),
)


def linters(listing: Listing, read: Callable[[str], bytes]) -> list[Found]:
    """Suggestions in the table's order. `read(path)` gives the content of a file of the listing."""
    paths = sorted(
        (os.fsdecode(name) for name, entry in listing.items() if entry.mode in (0o100644, 0o100755)), key=_depth
    )
    return [found for sign in _SIGNS if (found := _look(sign, paths, read))]


def _look(sign: _Sign, paths: Iterable[str], read: Callable[[str], bytes]) -> Found | None:
    """The file nearest to the root decides; None if there is nothing to check."""
    sources = [path for path in paths if path.endswith(sign.suffixes)]
    if not sources:
        return None
    patterns = {name: re.compile(pattern) for name, pattern in sign.table}
    looked = 0
    for path in paths:
        name = posixpath.basename(path)
        configured = name in sign.config
        if not configured and name in patterns and looked < _MAX_READ:
            looked += 1
            configured = bool(patterns[name].search(read(path)[: 1 << 20].decode("utf-8", "replace")))
        if configured:
            return Found(sign.tool, sign.check, True, path, len(sources))
    return Found(sign.tool, sign.check, False, sources[0], len(sources))


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path
