"""Which sweeps a repository suggests, from its file names and the heads of a few files."""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from sweeper.backlog.partition import VENDOR_FOLDERS
from sweeper.backlog.signs import SIGNS, Sign
from sweeper.records import Listing

_MAX_READ = 200  # files that are looked into, by name
_DEPENDENCIES = ("devDependencies", "dependencies", "optionalDependencies")


@dataclass(frozen=True, slots=True)
class Found:
    """One suggested sweep. `configured`: the repository has a configuration for the tool. `evidence`: the
    path that says so, or one file that the tool would check; `files`: how many files it would check."""

    tool: str
    check: str
    configured: bool
    evidence: str
    files: int


# Base names of the files that `linters` reads.
READ = frozenset({"package.json"} | {name for sign in SIGNS for name, _ in (*sign.tables, *sign.variants)})


def linters(listing: Listing, read: Callable[[str], bytes]) -> list[Found]:
    """Suggestions in an order that makes sense to drain them in: fixers first, type checkers last.

    `read(path)` gives the content of a file of the listing whose base name is in `READ`.
    """
    paths = [os.fsdecode(name) for name, entry in listing.items() if entry.mode in (0o100644, 0o100755)]
    own = sorted((path for path in paths if VENDOR_FOLDERS.isdisjoint(path.split("/")[:-1])), key=_depth)
    project = _Project(own, read)
    found = [(sign, one) for sign in SIGNS if (one := _look(sign, project)) is not None]
    kinds = {sign.kind for sign, one in found if one.configured and sign.kind}
    return [one for sign, one in found if one.configured or sign.kind not in kinds]


class _Project:
    """The files, nearest to the root first, and what the few that are read say. Nothing is read twice."""

    def __init__(self, paths: list[str], read: Callable[[str], bytes]) -> None:
        self.paths = paths
        self.by_name: dict[str, list[str]] = {}
        for path in paths:
            self.by_name.setdefault(posixpath.basename(path), []).append(path)
        self._read = read
        self._known: dict[str, str] = {}

    def text(self, path: str) -> str:
        if path not in self._known:
            self._known[path] = self._read(path)[: 1 << 20].decode("utf-8", "replace")
        return self._known[path]

    def named(self, names: Iterable[str]) -> Iterable[str]:
        for name in names:
            if any(character in name for character in "*?["):
                yield from (path for path in self.paths if fnmatchcase(posixpath.basename(path), name))
            else:
                yield from self.by_name.get(name, ())[:_MAX_READ]

    def dependents(self, packages: tuple[str, ...]) -> Iterable[str]:
        """The package.json files that depend on one of these packages."""
        for path in self.by_name.get("package.json", ())[:_MAX_READ]:
            try:
                tree = json.loads(self.text(path))
            except (ValueError, RecursionError):
                continue
            if isinstance(tree, Mapping) and any(
                isinstance(tree.get(kind), Mapping) and package in tree[kind]
                for kind in _DEPENDENCIES
                for package in packages
            ):
                yield path


def _look(sign: Sign, project: _Project) -> Found | None:
    """The file nearest to the root decides; None if there is nothing to check or nothing says that it should be."""
    sources = [path for path in project.paths if path.startswith(sign.under) and _is_source(path, sign.sources)]
    if not sources:
        return None
    evidence = [
        *project.named(sign.config),
        *project.dependents(sign.packages),
        *(
            path
            for name, pattern in sign.tables
            for path in project.named((name,))
            if re.search(pattern, project.text(path))
        ),
    ]
    if evidence:
        return Found(sign.tool, _check(sign, project), True, min(evidence, key=_depth), len(sources))
    return Found(sign.tool, sign.check, False, sources[0], len(sources)) if sign.alone else None


def _check(sign: Sign, project: _Project) -> str:
    """The check, or another one that a file's content asks for."""
    for name, (pattern, check) in sign.variants:
        if any(re.search(pattern, project.text(path)) for path in project.named((name,))):
            return check
    return sign.check


def _is_source(path: str, sources: tuple[str, ...]) -> bool:
    """`sources`: endings of paths; a "/" within one counts for files at the root too."""
    return any(path.endswith(end) or (end.startswith("/") and path == end[1:]) for end in sources)


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path
