"""One door to git: nothing outside the repo room starts it (but the agents of tests, inside their sandboxes)."""

from __future__ import annotations

import ast
from pathlib import Path

import sweeper

ROOM = Path(sweeper.__file__).parent


def starts_git(path: Path) -> bool:
    """Whether a file holds a list or tuple that begins with "git", as the command line of a child does."""
    return any(
        isinstance(node, (ast.List, ast.Tuple))
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value == "git"
        for node in ast.walk(ast.parse(path.read_text()))
    )


def test_only_the_repo_room_starts_git() -> None:
    doors = {path.relative_to(ROOM).parts[0] for path in ROOM.rglob("*.py") if starts_git(path)}
    assert doors == {"repo", "testing"}
