"""Which packages a project's own manifests name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sweeper.starter.project import Project, joined, strings, table

_NAME = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_INCLUDE = re.compile(r"^\s*(?:-r|--requirement)[ =]?\s*(\S+)")
_NODE = ("devDependencies", "dependencies", "optionalDependencies")
# Extras and groups whose packages a check or the tests may need.
_DEVELOPMENT = re.compile(
    r"(?i)^(?:dev|develop|development|tests?|testing|lint|linting|linters|typing|types?|check|ci)$"
)
_WANTED_FILE = re.compile(
    r"(?i)(?:^|[-_.])(?:dev|develop|development|tests?|testing|lint|linting|typing|types|check|ci)"
)


def depending(project: Project, packages: Iterable[str]) -> Iterator[str]:
    """The package.json files that depend on one of these packages."""
    wanted = frozenset(packages)
    for path in project.named("package.json") if wanted else ():
        if any(not wanted.isdisjoint(table(project.tree(path), kind)) for kind in _NODE):
            yield path


def declaring(project: Project, package: str) -> Iterator[str]:
    """The Python manifests that name this package."""
    for path in project.named("pyproject.toml", "requirements*.txt"):
        if normal(package) in named_in(project, path):
            yield path


def python_names(project: Project, folder: str) -> frozenset[str]:
    """Normalised names of the packages that a folder's own manifests name for work on it."""
    files = [*project.beside(folder, "pyproject.toml"), *requirements(project, folder)]
    return frozenset(name for path in files for name in named_in(project, path))


def requirements(project: Project, folder: str) -> list[str]:
    """The requirements files of a folder that running, testing and linting need."""
    below = project.beside(joined(folder, "requirements"), "*.txt")
    beside = [*project.beside(folder, "requirements*.txt"), *below]
    return sorted(path for path in beside if _is_wanted(path))


def _is_wanted(path: str) -> bool:
    stem = posixpath.basename(path).removesuffix(".txt")
    main = stem in ("requirements", "base", "common", "main", "all", "app")
    return main or bool(_WANTED_FILE.search(stem.removeprefix("requirements")))


def named_in(project: Project, path: str) -> set[str]:
    """Normalised names of the packages that one Python manifest names."""
    return {normal(match[1]) for spec in _specs(project, path) if (match := _NAME.match(spec))}


def _specs(project: Project, path: str) -> list[str]:
    if path.endswith(".toml"):
        tree = project.tree(path)
        return [*strings(table(tree, "project").get("dependencies")), *extra_specs(tree), *_of_tools(tree)]
    lines = project.text(path).splitlines()
    included = [joined(posixpath.dirname(path) or ".", match[1]) for line in lines if (match := _INCLUDE.match(line))]
    return lines + [line for other in included if other != path for line in project.text(other).splitlines()]


def extra_specs(tree: Mapping[str, Any]) -> list[str]:
    """What the extras and groups for development name."""
    extras = table(tree, "project", "optional-dependencies")
    groups = table(tree, "dependency-groups")
    return [spec for each in (extras, groups) for name in each if is_development(name) for spec in strings(each[name])]


def _of_tools(tree: Mapping[str, Any]) -> list[str]:
    poetry = table(tree, "tool", "poetry")
    names = [*table(poetry, "dependencies"), *table(poetry, "dev-dependencies")]
    names += [name for group in table(poetry, "group").values() for name in table(group, "dependencies")]
    pdm = [spec for group in table(tree, "tool", "pdm", "dev-dependencies").values() for spec in strings(group)]
    return [*names, *pdm, *strings(table(tree, "tool", "uv").get("dev-dependencies"))]


def is_development(name: str) -> bool:
    """Whether an extra or a group of this name is for work on the project."""
    return bool(_DEVELOPMENT.match(name))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
