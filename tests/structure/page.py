"""docs/structure.md, made from docstrings and the layers of pyproject.toml: `python -m tests.structure.page`."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
FILE = TOP / "docs" / "structure.md"
PACKAGE = TOP / "sweeper"
INNER = ("backlog/formats", "backlog/tools", "sandbox/bubblewrap", "sandbox/docker")

HEAD = """# Structure

<!-- Made from the code's docstrings and the layers of pyproject.toml by `python -m tests.structure.page`; a test holds
it current. -->

The way of one finding:

```
check (sandbox) -> findings -> partition -> units -> ledger
  round:    claim -> attempt: sandbox -> agent -> layer -> capture -> policy -> verify (fresh sandbox) -> outcome
  barrier:  merge verified commits -> gate -> bisect, eject -> check again -> next round, until drained
fire ends:  report -> branch -> pull request
```

What is above may import what is below, never the reverse; `make lint` holds it. Rooms of one layer stand together.
Beside the code: `prompts/` and `sandboxes/` are data that ship in the wheel, `action/` is the GitHub Action, `bench/`
has the measurements; `tests/` is laid out like the code.

| layer | in `sweeper/` | what it is |
|---|---|---|
"""


def layers() -> list[list[str]]:
    """The layers, top to bottom, each with its modules."""
    contracts = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (mine,) = [each for each in contracts if each.get("containers") == ["sweeper"]]
    return [[name.strip() for name in layer.split(":")] for layer in mine["layers"]]


def said(place: str) -> str:
    """The first sentence of a module's or a package's docstring."""
    module = PACKAGE / place / "__init__.py"
    module = module if module.exists() else PACKAGE / f"{place}.py"
    text = ast.get_docstring(ast.parse(module.read_text())) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def shown(place: str) -> str:
    return f"`{place}/`" if (PACKAGE / place).is_dir() else f"`{place}.py`"


def rows() -> Iterator[str]:
    for number, layer in enumerate(layers(), 1):
        for place, name in enumerate(layer):
            yield f"| {number if not place else ''} | {shown(name)} | {said(name)} |"
            for inner in INNER:
                if inner.startswith(f"{name}/"):
                    yield f"| | {shown(inner)} | {said(inner)} |"
    yield f"| | {shown('testing')} | {said('testing')} |"


def page() -> str:
    return HEAD + "\n".join(rows()) + "\n"


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
