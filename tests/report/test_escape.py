from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.report.escape import HIDDEN, code, terminal

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=80)


@given(ANYTHING)
def test_nothing_that_moves_a_cursor_or_turns_the_reading_direction_gets_through(text: str) -> None:
    assert not any(unicodedata.category(char) in HIDDEN for char in terminal(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("src/a.py", "src/a.py"),
        ("naïve 文.py", "naïve 文.py"),
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\u202egpj.exe", "\\u202egpj.exe"),
        (b"b\xffd.py".decode("utf-8", "surrogateescape"), "b\\xffd.py"),
    ],
)
def test_terminal(text: str, shown: str) -> None:
    assert terminal(text) == shown


def test_long_text_is_cut() -> None:
    assert terminal("x" * 500) == "x" * 297 + "..."


@given(ANYTHING)
def test_a_code_span_cannot_be_left(text: str) -> None:
    span = code(text)
    fence = re.match("`+", span)
    assert fence is not None
    inside = span[len(fence[0]) : -len(fence[0])]
    assert span.endswith(fence[0])
    assert len(fence[0]) not in {len(run) for run in re.findall("`+", inside)}
    assert "\n" not in span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("@someone <b>#12</b>", "`@someone <b>#12</b>`"),
        ("a`b", "``a`b``"),
        ("`a", "`` `a ``"),
        ("", "` `"),
    ],
)
def test_code(text: str, span: str) -> None:
    assert code(text) == span
