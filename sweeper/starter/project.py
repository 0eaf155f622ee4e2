"""A repository's own files, and what the few that are read say. Nothing is read twice."""

from __future__ import annotations

import json
import os
import posixpath
import tomllib
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from sweeper.backlog.paths import VENDOR_FOLDERS
from sweeper.records import Listing

MAX_FILES = 200  # of one name that are looked into
MAX_BYTES = 1 << 20
# Base names of the files that are read.
NAMES = (
    "package.json", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "pytest.ini", "Makefile",
    "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml", ".gitlab-ci.yml",
    ".pre-commit-config.yaml", ".pre-commit-config.yml", "lint.sh", "check.sh", "requirements*.txt", ".gitignore",
    "Gemfile", "Gemfile.lock", "*.gemspec", "Cargo.toml", "Cargo.lock", "go.mod", "tsconfig.json", "yarn.lock",
    ".golangci.*", "mypy.ini", ".mypy.ini",
)  # fmt: skip
WORKFLOWS = ".github/workflows/"


def is_read(path: bytes) -> bool:
    """Whether a suggestion may depend on what this file says."""
    name = os.fsdecode(path)
    base = posixpath.basename(name)
    if name.startswith(WORKFLOWS):
        return base.endswith((".yml", ".yaml"))
    if base.endswith(".txt") and posixpath.basename(posixpath.dirname(name)) == "requirements":
        return True
    return any(fnmatchcase(base, pattern) for pattern in NAMES)


class Project:
    """`read(path)` gives the content of a file of the listing for which `is_read` holds.

    `paths`: the files, without vendored ones, nearest to the root first.
    """

    def __init__(self, listing: Listing, read: Callable[[str], bytes]) -> None:
        paths = [os.fsdecode(name) for name, entry in listing.items() if entry.mode in (0o100644, 0o100755)]
        own = (path for path in paths if VENDOR_FOLDERS.isdisjoint(path.split("/")[:-1]))
        self.paths = sorted(own, key=depth)
        self._files = frozenset(self.paths)
        self._folders = frozenset(parent for path in self.paths for parent in parents(path))
        self._by_name: dict[str, list[str]] = {}
        for path in self.paths:
            self._by_name.setdefault(posixpath.basename(path), []).append(path)
        self._read = read
        self._texts: dict[str, str] = {}
        self._trees: dict[str, Mapping[str, Any]] = {}

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._files

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        path = posixpath.normpath(path)
        return path in self._files or path in self._folders or path == "."

    def text(self, path: str) -> str:
        """What a file says, "" if there is none."""
        if path not in self._files:
            return ""
        if path not in self._texts:
            self._texts[path] = self._read(path)[:MAX_BYTES].decode("utf-8", "replace")
        return self._texts[path]

    def tree(self, path: str) -> Mapping[str, Any]:
        """A TOML or JSON file's content; empty if it is no such file, or not a table."""
        if path not in self._trees:
            try:
                text = self.text(path)
                tree: Any = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
            except (ValueError, RecursionError):
                tree = {}
            self._trees[path] = tree if isinstance(tree, Mapping) else {}
        return self._trees[path]

    def named(self, *names: str) -> Iterable[str]:
        """The files of these base names or patterns."""
        for name in names:
            if any(character in name for character in "*?["):
                yield from [path for path in self.paths if fnmatchcase(posixpath.basename(path), name)][:MAX_FILES]
            else:
                yield from self._by_name.get(name, ())[:MAX_FILES]

    def beside(self, folder: str, *names: str) -> list[str]:
        """Those of these base names or patterns that lie in a folder itself."""
        return [path for path in self.named(*names) if (posixpath.dirname(path) or ".") == folder]

    def nearest(self, folder: str, *names: str) -> str:
        """The folder, or the nearest above it, that has a file of one of these names; "" if none has."""
        return next((each for each in self.upward(folder) if self.beside(each, *names)), "")

    def upward(self, folder: str) -> Iterable[str]:
        """The folder and those above it, up to the top."""
        while folder != ".":
            yield folder
            folder = posixpath.dirname(folder) or "."
        yield "."

    def below(self, folder: str) -> Iterable[str]:
        """The files in a folder and in those below it, as paths from it."""
        start = "" if folder == "." else f"{folder}/"
        return (path[len(start) :] for path in self.paths if path.startswith(start))


def table(value: Any, *keys: str) -> Mapping[str, Any]:
    """The table at the end of these keys; empty where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def strings(value: Any) -> list[str]:
    """The strings of a list; none if it is no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def parents(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def joined(folder: str, name: str) -> str:
    """A path below a folder of the repository, "." being its top."""
    return posixpath.normpath(posixpath.join(folder, name))
