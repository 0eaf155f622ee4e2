"""What a reviewer reads: risk first, within the limit, and nothing in it that a forge would act on."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.forge import body as bodies
from sweeper.forge.story import Change, Left, Part, Rule, Story
from sweeper.records import Usage
from sweeper.report.escape import inert

MARK = "<!-- sweeper {} -->"
HOSTILE = (
    "@team", "#12", "fixes #12", "GH-3", "owner/repo#1", "<b>x</b>", "<!-- y -->", "<img src=x onerror=1>",
    "[a](http://x)",
    "![a](http://x)", "http://evil.example/x", "::add-mask::x", "\n::set-output name=a::b",
    "##[add-mask]x", "```\n@team",
    "`", "``", "` @team `", "\r\n# heading", "</details>", "\u202e", "\x1b[31m", "www.evil.example", "a\u2028@team",
    "| a | b |", "$(touch x)", "main;touch x",
)  # fmt: skip
TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=()), max_size=40)).flatmap(
    lambda one: st.sampled_from(HOSTILE).map(lambda other: one + other)
)
RULES = st.lists(st.builds(Rule, TEXT, st.integers(0, 9), st.integers(0, 9)), max_size=2).map(tuple)
HEX = st.text("0123456789abcdef", min_size=40, max_size=40)
CHANGES = st.builds(
    Change, key=HEX, title=TEXT, rules=RULES, rung=TEXT, evidence=TEXT, commit=HEX,
    reviews=st.lists(TEXT, max_size=2).map(tuple),
)  # fmt: skip
LEFTS = st.lists(st.builds(Left, TEXT, TEXT, st.integers(0, 5), TEXT), max_size=3).map(tuple)
STORIES = st.builds(
    Story, sweep=st.just("ruff"), run=st.just("20260101000000abcdef"), base=TEXT, base_commit=HEX, branch=TEXT,
    headline=TEXT, fixed=st.integers(0, 9), remaining=st.integers(0, 9),
    changes=st.lists(CHANGES, max_size=4).map(tuple), held=LEFTS, left_out=LEFTS,
    open=st.lists(st.tuples(TEXT, st.integers(1, 9)), max_size=3).map(tuple),
    notes=st.just(("A note.",)), gates=st.lists(TEXT, max_size=2).map(tuple), attempts=TEXT,
    spending=st.lists(TEXT, max_size=2).map(tuple), check=st.lists(TEXT, max_size=3).map(tuple),
    test=st.lists(TEXT, max_size=3).map(tuple),
    index=st.lists(st.builds(Part, TEXT, st.integers(1, 9), st.integers(1, 99)), max_size=2).map(tuple), part=TEXT,
)  # fmt: skip


TICKS = re.compile("`+")


def outside(text: str) -> str:
    """Markdown without its code spans, by CommonMark's rule: a run of backticks up to the next of equal length."""
    lines = []
    for line in text.split("\n"):
        out, at = "", 0
        while run := TICKS.search(line, at):
            out += line[at : run.start()]
            close = re.compile(rf"(?<!`){run[0]}(?!`)").search(line, run.end())
            if close is None:
                out += run[0]
                at = run.end()
            else:
                at = close.end()
        lines.append(out + line[at:])
    return "\n".join(lines)


@settings(max_examples=150, deadline=None)
@given(STORIES)
def test_d20_nothing_untrusted_has_a_meaning(story: Story) -> None:
    text = bodies.body(story, MARK)
    plain = outside(text.removeprefix(MARK))
    allowed = {f"#{part.number}" for part in story.index}
    assert not [word for word in re.findall(r"#\d+", plain) if word not in allowed]
    for sign in ("@", "<", "://", "![", "](", "GH-", "www."):
        assert sign not in plain, sign
    assert "##[" not in text
    assert not [line for line in text.splitlines() if line.lstrip(" >-").startswith("::")]
    assert not any(ord(char) < 32 and char != "\n" for char in text)
    assert text.startswith(MARK + "\n")


@settings(max_examples=25, deadline=None)
@given(STORIES, st.integers(0, 3000))
def test_it_always_fits_in_characters_and_bytes(story: Story, copies: int) -> None:
    grown = replace(story, changes=story.changes * copies, held=story.held * copies)
    text = bodies.body(grown, MARK)
    assert len(text.encode()) <= bodies.LIMIT
    assert len(text) <= bodies.LIMIT


def change(number: int, *, reviews: tuple[str, ...] = ()) -> Change:
    return Change(
        f"{number:032x}", f"src/package/module_{number}.py", (Rule("F401", 3, 0),), "rung 1: ruff check --fix",
        "3 findings before, 0 after: ruff check (exit code 0)", f"{number:040x}", reviews,
    )  # fmt: skip


def story(units: int, *, marked: int = 0, held: int = 0) -> Story:
    return Story(
        sweep="ruff", run="r", base="main", base_commit="b" * 40, branch="sweeper/ruff", headline="drained in 1 round",
        fixed=3 * units, remaining=held, usage=Usage(1000, 50, 120_000), seconds=12.5,
        changes=tuple(change(n, reviews=("a test was changed",) if n < marked else ()) for n in range(units)),
        held=tuple(Left(f"held_{n}.py", "ladder exhausted", 2, "rung 2 not_fixed") for n in range(held)),
        check=("ruff", "check", "."), tests="green",
    )  # fmt: skip


def test_three_thousand_units_fit_and_what_is_left_out_is_said() -> None:
    text = bodies.body(story(3000, marked=40, held=30), MARK)
    assert len(text.encode()) <= 60_000
    assert "9,000 findings fixed" in text
    assert text.count("**review**") == 40
    assert text.count("- [ ] ") == 30
    assert "- `src/package`: 2,960 units; `F401` 8,880 → 0" in text
    assert "`git fetch origin sweeper/ruff`" in text


def test_a_list_of_too_many_folders_is_a_count() -> None:
    odd = replace(change(1), rules=tuple(Rule(f"R{n}", 1, 0) for n in range(40)))
    many = tuple(replace(odd, title=f"a/folder/with/a/name/d{n}/x.py") for n in range(1500))
    text = bodies.body(replace(story(0), changes=many), MARK)
    assert len(text.encode()) <= 60_000
    assert "1,500 units changed: too long a list for here" in text


def test_details_go_before_the_list_itself() -> None:
    brief = bodies.body(story(700), MARK)
    assert "3 → 0" not in brief
    assert "`src/package/module_699.py`" in brief
    full = bodies.body(story(100), MARK)
    assert full.count("`F401` 3 → 0") == 100


def test_what_a_person_should_look_at_comes_first() -> None:
    text = bodies.body(story(3, marked=1, held=1), MARK)
    places = [text.index(word) for word in ("Look at these first", "Held: a person decides", "### Changes", "### Cost")]
    assert places == sorted(places)
    assert "$0.12" in text
    assert "`sweeper why UNIT`" in text


def test_ticked_boxes_stay_ticked() -> None:
    old = bodies.body(story(1, held=2), MARK)
    ticked = old.replace("- [ ] `held_0.py`", "- [x] `held_0.py`").replace("\n", "\r\n")
    new = bodies.keep_ticks(ticked, bodies.body(story(2, held=2), MARK))
    assert (new.count("- [x] `held_0.py`"), new.count("- [ ] `held_1.py`")) == (1, 1)


@given(TEXT)
def test_a_commit_message_mentions_nobody_and_closes_nothing(text: str) -> None:
    line = inert(text)
    assert "\n" not in line
    assert not re.search(r"@\w|#\d|GH-\d|://|^::|##\[|\[skip|\[ci[ -]|www\.", line, re.IGNORECASE)


@pytest.mark.parametrize("text", ["fix [skip ci] now", "[ci skip]", "***NO_CI***", "[no ci]", "[skip actions]"])
def test_a_commit_message_keeps_no_check_from_running(text: str) -> None:
    assert text not in inert(text)
