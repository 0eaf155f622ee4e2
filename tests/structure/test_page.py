"""The page about the code's structure says what is there."""

from __future__ import annotations

from tests.structure.page import FILE, PACKAGE, layers, page, said


def test_the_page_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == page(), "run: python -m tests.structure.page"


def test_every_room_has_a_layer_and_says_what_it_is() -> None:
    there = {path.stem for path in PACKAGE.glob("*.py")} | {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    named = [name for layer in layers() for name in layer]
    assert sorted(named) == sorted(there - {"__init__", "__main__", "_data", "testing"})
    assert [name for name in named if not said(name)] == []
