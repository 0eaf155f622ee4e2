"""House rules that ruff reports and does not fix: python tools/house_fixes.py FILE...

- `raise` inside `except` names its cause (B904)
- a bare `except:` says what it means (E722)
- long comments and docstrings are wrapped (E501); `ruff format` breaks long code
"""

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

WIDTH = 88
COMMENT = re.compile(r"^(\s*)# (\S.*)$")
DOCSTRING = re.compile(r'^(\s*)"""(\S.*?)"""$')

# A change of one line: (line from 0, column in bytes, bytes to drop, new text).
Edit = tuple[int, int, int, str]


def handler_edits(handler: ast.ExceptHandler, lines: list[bytes]) -> list[Edit]:
    """Name the cause of every `raise` in an `except`, and what a bare one catches."""
    edits: list[Edit] = []
    line = handler.lineno - 1
    bare = handler.type is None
    orphans = [
        node
        for statement in handler.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Raise) and node.exc is not None and node.cause is None
    ]
    name = handler.name or "problem"
    colon = lines[line].rindex(b":")
    if bare:
        edits.append((line, colon, 0, " Exception"))
    if orphans and handler.name is None:
        edits.append((line, colon, 0, f" as {name}"))
    for node in orphans:
        edits.append((node.end_lineno - 1, node.end_col_offset, 0, f" from {name}"))
    return edits


def name_causes(source: str) -> str:
    lines = source.encode().splitlines(keepends=True)
    edits = [
        edit
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        for edit in handler_edits(node, lines)
    ]
    for line, column, drop, text in sorted(edits, reverse=True):
        old = lines[line]
        lines[line] = old[:column] + text.encode() + old[column + drop :]
    return b"".join(lines).decode()


def wrap(line: str) -> str:
    """A long comment or one-line docstring on several lines; others as they are."""
    if len(line) <= WIDTH:
        return line
    if found := COMMENT.match(line):
        indent, text = found.groups()
        return textwrap.fill(
            text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
        )
    if found := DOCSTRING.match(line):
        indent, text = found.groups()
        body = textwrap.fill(
            text, WIDTH - 3, initial_indent=f'{indent}"""', subsequent_indent=indent
        )
        return f'{body}\n{indent}"""'
    return line


def main(names: list[str]) -> int:
    for path in map(Path, names):
        source = name_causes(path.read_text(encoding="utf-8"))
        path.write_text("\n".join(map(wrap, source.split("\n"))), encoding="utf-8")
    return subprocess.run(["ruff", "format", "--no-cache", *names]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
