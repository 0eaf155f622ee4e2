"""A report as text, Markdown and JSON, with hostile names in it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sweeper.records import Skip, SkipReason, UnitState, Usage
from sweeper.report.document import plan_document, report_document, story_document
from sweeper.report.markdown import report_markdown
from sweeper.report.model import Buckets, GateVerdict, PlannedUnit, SweepPlan, SweepReport, Try, UnitReport
from sweeper.report.text import plan_text, report_text, story_text

EVIL = "\x1b[2J@team `rm` <img src=x>\n| \u202e.py"
BYTES = b"\xff.py".decode("utf-8", "surrogateescape")
COMMIT = "c0ffee" * 7


def attempt(number: int, kind: str, **more: object) -> Try:
    values = {"run": "r1", "round": number, "rung": number - 1, "state": "landed", "kind": kind} | more
    return Try(number, **values)  # type: ignore[arg-type]


def unit(title: str, state: UnitState, *tries: Try, why: str = "") -> UnitReport:
    return UnitReport("0" * 32, title, state, why, 3, ("E501",), tries)


REPORT = SweepReport(
    sweep="ruff",
    run="r1",
    base="b" * 40,
    tip="d" * 40,
    branch="sweeper/ruff",
    rounds=2,
    ended="drained",
    buckets=Buckets(10, 6, 1, {f"ladder exhausted {EVIL}": 2}, {}, {"generated": 2}, 0),
    units=(
        unit("marked.py", UnitState.SETTLED, attempt(1, "fixed", merged=COMMIT, reviews=(f"deletes {EVIL}",))),
        unit(EVIL, UnitState.HELD, attempt(1, "rejected", reason="suppression", lines=(EVIL,)), why="ladder exhausted"),
        unit(BYTES, UnitState.OPEN),
        unit("done.py", UnitState.SETTLED, attempt(1, "partial", merged=COMMIT), attempt(2, "fixed", merged=COMMIT)),
    ),
    skips=(Skip(EVIL, SkipReason.GENERATED, 2),),
    outcomes={"fixed": 2, "partial": 1, "rejected": 1},
    gates=(GateVerdict(1, 5, True, "tests", (EVIL,), (EVIL,)), GateVerdict(2, 1, False)),
    usage=Usage(1200, 300, 120_000),
    seconds=12.5,
    check=("ruff", "check", "."),
    tests="green",
)


@pytest.mark.parametrize("form", [report_text, report_markdown])
def test_hostile_text_is_harmless_and_nothing_is_left_out(form: object) -> None:
    text = form(REPORT)  # type: ignore[operator]
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not any(0xD800 <= ord(char) <= 0xDFFF for char in text)
    for said in ("fixed", "held", "skipped", "generated", "suppression", "sweeper/ruff", "$0.12", "1,200 tokens"):
        assert said in text
    assert text.index("marked.py") < text.index("ladder exhausted", text.index("marked.py")) < text.index("done.py")


@pytest.mark.parametrize("form", [report_text, report_markdown])
def test_a_held_unit_is_among_the_held_with_its_reason_whatever_is_on_the_branch(form: object) -> None:
    part = attempt(1, "partial", merged=COMMIT, reviews=("deletes much",))
    stuck = unit("stuck.py", UnitState.HELD, part, attempt(2, "no_change", lines=("says no",)), why="ladder exhausted")
    mute = unit("mute.py", UnitState.HELD, attempt(1, "partial", merged=COMMIT, lines=("remains: mute.py:4: E501",)))
    whole = unit("whole.py", UnitState.SETTLED, attempt(1, "fixed", merged=COMMIT, reviews=("deletes much",)))
    text = form(replace(REPORT, units=(stuck, mute, whole)))  # type: ignore[operator]
    held = text[text.index("eld, a human decides (2)") :]
    assert "ladder exhausted" in held
    assert "says no" in held
    assert "3 findings left of E501" in held
    assert "remains: mute.py:4: E501" in held
    assert "whole.py" not in held
    assert "marked for review (2)" in text


def test_a_held_unit_of_the_document_has_its_reason() -> None:
    mute = unit("mute.py", UnitState.HELD, attempt(1, "partial", merged=COMMIT))
    (sweep,) = json.loads(report_document([replace(REPORT, units=(mute,))]))["sweeps"]
    assert sweep["units"][0]["why"] == "3 findings left of E501"


def test_markdown_keeps_hostile_text_in_code_spans() -> None:
    for line in report_markdown(REPORT).splitlines():
        outside = "".join(line.split("`")[::2]) if "``" not in line else ""
        assert "@" not in outside
        assert "<" not in outside


def test_the_text_says_how_to_look_and_to_reproduce() -> None:
    text = report_text(REPORT)
    assert f"git diff {'b' * 12}..sweeper/ruff" in text
    assert "ruff check ." in text
    assert "round 1: red (tests), 5 runs; ejected" in text
    assert "rung 1 partial -> rung 2 fixed, commit c0ffeec0ffee" in text


def test_a_story_counts_nothing_after_what_no_longer_parses() -> None:
    told = "does not parse: lib/parse.js:10:46: Parsing error"
    broke = attempt(1, "not_fixed", reason="does not parse", before=53, after=53, lines=(told,))
    text = story_text(unit("lib/parse.js", UnitState.HELD, broke, why="ladder exhausted"))
    assert "53 before, not counted after: does not parse" in text
    assert told in text


def test_long_groups_are_cut_and_say_so() -> None:
    many = SweepReport(
        **{name: getattr(REPORT, name) for name in REPORT.__dataclass_fields__ if name != "units"},
        units=tuple(unit(f"u{n}.py", UnitState.OPEN) for n in range(25)),
    )
    text = report_text(many)
    assert "u19.py" in text
    assert "u20.py" not in text
    assert "5 more" in text


def test_the_document_is_one_json_value_with_a_schema_version() -> None:
    document = json.loads(report_document([REPORT], ended="drained", exit_code=1))
    assert (document["schema_version"], document["kind"], document["exit_code"]) == (1, "report", 1)
    (sweep,) = document["sweeps"]
    assert sweep["buckets"]["total"] == 11
    assert sweep["buckets"]["remaining"] == 4
    assert sweep["drained"] is False
    assert document["ended"] == sweep["ended"] == "nothing more to try"
    assert sweep["units"][2]["title"] == BYTES
    assert sweep["units"][0]["tries"][0]["kind"] == "fixed"
    assert report_document([REPORT]).isascii()


def test_a_plan_shows_units_rungs_skips_and_limits() -> None:
    plan = SweepPlan(
        sweep="ruff",
        base="b" * 40,
        check=("ruff", "check", "."),
        format="ruff-json",
        findings=9,
        units=(
            PlannedUnit("k1", EVIL, 5, ("E501", "F401")),
            PlannedUnit("k2", "b.py", 4, ("F401",), rung=None, hold="ladder exhausted"),
        ),
        skips=(Skip("gen.py", SkipReason.GENERATED, 2),),
        rungs=("command: ruff check --fix {files}",),
        limits={"slots": "4"},
        sandbox="bubblewrap",
    )
    text = plan_text(plan)
    assert "\x1b" not in text
    for said in ("9 findings in 2 units", "slots 4", "rung 1    command: ruff", "held: ladder exhausted", "generated"):
        assert said in text
    assert json.loads(plan_document([plan]))["sweeps"][0]["units"][1]["hold"] == "ladder exhausted"


def test_a_story_tells_every_attempt() -> None:
    told = unit(
        "a.py",
        UnitState.HELD,
        attempt(1, "no_change", command=("ruff", "check"), exit_code=1, lines=("remains: a.py:1",), commit=COMMIT),
        Try(2, "r1", 2, 1, "lost"),
        attempt(3, "not_fixed", claimed="all done!", state="stale"),
        why="ladder exhausted, last outcome: not_fixed",
    )
    text = story_text(told, {"r1": ["command: fixer one", "command: fixer two"]})
    assert "attempt 1, round 1 of run r1" in text
    assert "rung      1: command: fixer one" in text
    assert "judged by ruff check, exit code 1" in text
    assert "outcome   lost" in text
    assert "not evidence" in text
    assert "the claim was lost meanwhile" in text
    assert json.loads(story_document(told))["unit"]["tries"][1]["state"] == "lost"
