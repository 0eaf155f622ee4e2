"""What is said to the runner: nothing untrusted ever becomes a command, an output or a second annotation."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.report.escape import HIDDEN, terminal
from sweeper.runner import summary, words
from sweeper.runner.words import Annotation
from tests.action.step import parsed

TEXT = st.text(max_size=300) | st.sampled_from(
    [
        "::set-output name=x::y",
        "##[error]x",
        "a\r\n::warning::b",
        "%0A::error::x",
        "x,file=/etc/passwd",
        "a:b,c%d\ud800",
    ]
)
ANNOTATIONS = st.lists(
    st.builds(Annotation, st.sampled_from(words.KINDS), TEXT, TEXT, TEXT, st.integers(0, 10**6)), max_size=40
)


def decoded(text: str) -> str:
    """As the runner does it."""
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


@given(ANNOTATIONS)
def test_an_annotation_is_one_line_and_one_command_of_its_own_kind(annotations: list[Annotation]) -> None:
    lines = words.commands(annotations)
    for line in lines:
        assert "\n" not in line
        assert "\r" not in line
        head, _, said = line.removeprefix("::").partition("::")
        kind, _, keys = head.partition(" ")
        assert kind in words.KINDS
        assert {key.partition("=")[0] for key in keys.split(",") if key} <= {"title", "file", "line"}
        assert all(char == "\n" or unicodedata.category(char) not in HIDDEN for char in decoded(said))
    for kind in words.KINDS:
        own = [line for line in lines if line.startswith(f"::{kind}")]
        assert len(own) == min(words.MOST, sum(each.kind == kind for each in annotations))


def test_the_tenth_annotation_says_how_many_more_there_are() -> None:
    lines = words.commands([Annotation("warning", str(number)) for number in range(14)])
    assert lines[:9] == [f"::warning::{number}" for number in range(9)]
    assert lines[9] == "::warning::and 5 more: the step's summary and report have them"
    assert len(lines) == 10


@given(st.text(), st.text())
def test_an_annotations_values_come_back_as_they_were(title: str, message: str) -> None:
    line = words.command(Annotation("notice", message, title=title))
    head, _, said = line.removeprefix("::").partition("::")
    assert decoded(said) == "\n".join(terminal(row, words.MESSAGE) for row in message.split("\n"))
    if title:
        assert decoded(head.partition("title=")[2]) == terminal(title)


def test_a_path_with_colons_and_commas_names_the_same_file() -> None:
    line = words.command(Annotation("warning", "x", path="a,b:c/d.py", line=3))
    assert line == "::warning file=a%2Cb%3Ac/d.py,line=3::x"


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text(st.characters(exclude_categories=["Cs"]))))
def test_outputs_come_back_as_they_were(values: dict[str, str]) -> None:
    text = "".join(words.output(name, value, "DELIMITER-of-32-hex-digits") for name, value in values.items())
    assert parsed(text) == values


def test_a_value_that_holds_the_delimiter_is_refused() -> None:
    with pytest.raises(ValueError, match="delimiter"):
        words.output("a", "x\nEND\nb=1", "END")


@given(st.text(max_size=4000), st.integers(0, 4000))
def test_e06_a_summary_never_has_a_byte_too_many(text: str, most: int) -> None:
    made = summary.clip(text, most)
    assert len(made.encode()) <= most
    whole = text.encode("utf-8", "backslashreplace").decode()
    assert made == whole or made == "" or made.endswith(summary.CUT)
    if made.endswith(summary.CUT) and made != whole:
        assert whole.startswith(made.removesuffix(summary.CUT))


@given(st.integers(0, 2 * summary.LIMIT))
def test_e06_what_stands_in_the_file_already_counts(there: int) -> None:
    assert there + summary.room(there) == max(there, summary.LIMIT)
