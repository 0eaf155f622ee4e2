"""Repositories to start from."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sweeper.starter.project import Project, is_read
from tests.backlog.samples import tree

EVERYTHING = {
    "pyproject.toml": b"[tool.ruff]\n[tool.mypy]\n[tool.codespell]\n",
    "a.py": b"",
    "web/package.json": b'{"devDependencies": {"eslint": "1", "@biomejs/biome": "1", "stylelint": "1"}}',
    "web/eslint.config.js": b"",
    "web/.stylelintrc.json": b"{}",
    "web/a.ts": b"",
    "web/a.css": b"",
    "web/tsconfig.json": b"",
    "run.sh": b"",
    "Dockerfile": b"",
    ".github/workflows/ci.yml": b"",
    "Cargo.toml": b"",
    "src/lib.rs": b"",
    ".golangci.yml": b"version: '2'",
    "go.mod": b"",
    "main.go": b"",
    ".markdownlint.json": b"",
    "a.md": b"",
}


def project(files: Mapping[str, bytes]) -> Project:
    def read(path: str) -> bytes:
        assert is_read(path.encode()), path
        return files[path]

    return Project(tree(*files), read)


def package(**more: object) -> bytes:
    return json.dumps({"name": "x", "private": True, **more}).encode()
