"""The page about linters is made from what is tested."""

from __future__ import annotations

from sweeper.backlog.tools import GENERIC, TOOLS
from tests.backlog import linters_table


def test_the_page_is_current() -> None:
    text = linters_table.PAGE.read_text(encoding="utf-8")
    assert text == linters_table.page(), "make it again: python -m tests.backlog.linters_table"


def test_every_tool_is_on_it() -> None:
    text = linters_table.page()
    for tool in TOOLS.values():
        assert tool is GENERIC or f"| {tool.name} |" in text
