"""Files that hold a check's configuration beside other things: only that part is off limits."""

from __future__ import annotations

import configparser
import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

# What is listed here configures no check; any other table may.
PYPROJECT_OTHER = frozenset({
    "poetry", "pdm", "setuptools", "setuptools_scm", "setuptools-scm", "flit", "rye", "pixi", "maturin",
    "scikit-build", "cibuildwheel", "commitizen", "semantic_release", "towncrier", "bumpversion", "briefcase",
    "versioneer", "versioningit", "poetry-dynamic-versioning", "meson-python", "setuptools-rust",
})  # fmt: skip
CARGO_METADATA_OTHER = frozenset({
    "docs", "deb", "rpm", "generate-rpm", "bundle", "binstall", "dist", "release", "wasm-pack", "winres", "playground",
    "android", "aur", "release-plz", "leptos",
})  # fmt: skip
SETUP_CFG_OTHER = ("metadata", "options", "bdist", "sdist", "build", "install", "egg_info", "aliases", "files", "pbr")
PACKAGE_JSON_CHECKS = (
    "eslintConfig", "eslintIgnore", "prettier", "stylelint", "jest", "vitest", "mocha", "ava", "nyc", "c8", "xo",
    "standard", "semistandard", "tslint", "jshintConfig", "remarkConfig", "markdownlint", "cspell", "commitlint",
    "lint-staged", "husky", "pre-commit", "simple-git-hooks", "scripts", "biome", "oxlint", "tsd",
)  # fmt: skip


def _pyproject(data: bytes) -> Any:
    tree = tomllib.loads(data.decode())
    tool = tree.get("tool", {})
    python = tool.get("poetry", {}).get("dependencies", {}).get("python")
    checks = {name: value for name, value in tool.items() if name not in PYPROJECT_OTHER}
    return [checks, tree.get("project", {}).get("requires-python"), python]  # rules depend on the version


def _cargo(data: bytes) -> Any:
    tree = tomllib.loads(data.decode())
    package, workspace = tree.get("package", {}), tree.get("workspace", {})
    metadata = {**package.get("metadata", {}), **workspace.get("metadata", {})}
    checks = {name: value for name, value in metadata.items() if name not in CARGO_METADATA_OTHER}
    return [tree.get("lints"), workspace.get("lints"), checks]


def _setup_cfg(data: bytes) -> Any:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(data.decode())
    return {name: dict(parser[name]) for name in parser if not name.lower().startswith(SETUP_CFG_OTHER)}


def _package_json(data: bytes) -> Any:
    tree = json.loads(data)
    return [tree.get(name) for name in PACKAGE_JSON_CHECKS]


SECTIONED: Mapping[str, Callable[[bytes], Any]] = {
    "pyproject.toml": _pyproject,
    "cargo.toml": _cargo,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
}


def section_reader(path: str) -> Callable[[bytes], Any] | None:
    """What reads the check's part of such a file; None for any other path."""
    return SECTIONED.get(path.rsplit("/", 1)[-1].lower())


def checks_changed(read: Callable[[bytes], Any], before: bytes | None, after: bytes | None) -> bool:
    """Whether the check's part differs. What cannot be read counts as changed: it may hide anything."""
    if before == after:
        return False
    try:
        return bool(_part(read, before) != _part(read, after))
    except (ValueError, configparser.Error, AttributeError, RecursionError):
        return True


def _part(read: Callable[[bytes], Any], data: bytes | None) -> Any:
    return read(data or (b"{}" if read is _package_json else b""))
