"""Status, counts, exit code and annotations of a step."""

from __future__ import annotations

import pytest

from sweeper.forge.contract import Published
from sweeper.records import Skip, SkipReason, UnitState
from sweeper.report.model import Buckets, PlannedUnit, SweepPlan, SweepReport, Try, UnitReport
from sweeper.runner import summary, verdict

HOSTILE = "pkg/`<b>@team`\n::error::x.py"


def report(**more: object) -> SweepReport:
    fields = {
        "sweep": "s", "run": "r1", "base": "b" * 40, "tip": "t" * 40, "branch": "sweeper/s", "rounds": 1,
        "ended": "drained", "buckets": Buckets(first=4, fixed=4),
    }  # fmt: skip
    return SweepReport(**(fields | more))  # type: ignore[arg-type]


def unit(number: int, state: UnitState = UnitState.HELD, **more: object) -> UnitReport:
    fields = {
        "key": f"{number:032}", "title": f"pkg/m{number}.py", "state": state, "why": "ladder exhausted", "findings": 2,
        "rules": ("F401",), "paths": (f"pkg/m{number}.py",), "line": 7,
    }  # fmt: skip
    return UnitReport(**(fields | more))  # type: ignore[arg-type]


def published(number: int = 7, part: str = "") -> Published:
    url = f"https://example.com/acme/widgets/pull/{number}"
    return Published("s", part, number, url, "h" * 40, "sweeper/s", "main", "created", True)


@pytest.mark.parametrize(
    ("code", "status"),
    [(0, "drained"), (1, "remaining"), (2, "configuration"), (3, "check-broken"), (4, "no-sandbox"), (5, "limit"),
     (6, "forge"), (7, "busy"), (70, "internal"), (130, "cancelled"), (143, "cancelled")],
)  # fmt: skip
def test_e12_every_exit_code_has_a_status_of_its_own(code: int, status: str) -> None:
    assert verdict.of_run([], code).status == status


@pytest.mark.parametrize(
    ("fail_on", "held", "left", "code", "ends"),
    [
        ("error", 0, 0, 0, 0), ("error", 2, 4, 1, 0), ("error", 0, 4, 5, 0), ("error", 0, 0, 6, 6),
        ("held", 0, 4, 1, 0), ("held", 2, 4, 1, 1), ("held", 2, 4, 5, 5), ("held", 0, 0, 3, 3),
        ("remaining", 0, 0, 0, 0), ("remaining", 0, 4, 1, 1), ("remaining", 0, 4, 5, 5),
        # skipped findings leave a sweep drained, and still they are left
        ("remaining", 0, 4, 0, 1),
        ("never", 2, 4, 1, 0), ("never", 0, 0, 70, 0), ("never", 0, 0, 143, 143), ("error", 0, 0, 130, 130),
    ],
)  # fmt: skip
def test_fail_on_decides_about_ends_in_good_order_only(
    fail_on: str, held: int, left: int, code: int, ends: int
) -> None:
    made = verdict.Verdict(verdict.STATUS.get(code, "internal"), code, fixed=0, remaining=left, held=held)
    assert verdict.exit_code(made, fail_on) == ends


def test_counts_are_findings_of_all_sweeps_and_unknown_ones_are_empty() -> None:
    two = [
        report(buckets=Buckets(first=9, fixed=4, held={"a": 2}, open={"b": 1}, skipped={"c": 2}, appeared=3)),
        report(buckets=Buckets(first=2, fixed=2)),
    ]
    outputs = verdict.outputs(verdict.of_run(two, 1), [published(), published(8, "x")], "/r.json")
    assert outputs["fixed-count"] == "6"
    assert outputs["remaining-count"] == "8"
    assert outputs["held-count"] == "2"
    assert outputs["pull-request-number"] == "7"
    assert outputs["pull-request-numbers"] == "7,8"
    unknown = verdict.outputs(verdict.of_run([], 3), [], "")
    assert [unknown[f"{name}-count"] for name in ("fixed", "remaining", "held")] == ["", "", ""]


def test_held_units_are_warnings_at_their_file_and_reviews_are_notices() -> None:
    tried = (Try(1, "r1", 1, 0, "landed", kind="fixed", merged="c" * 40, reviews=("a body was thinned",)),)
    held, marked = unit(0), unit(1, UnitState.SETTLED, tries=tried)
    many = unit(2, title="F401", paths=("a.py", "b.py"))
    found = verdict.remarks([report(units=(held, marked, many))], [("it broke", "mend it")])
    assert [(each.kind, each.path, each.line) for each in found] == [
        ("error", "", 0), ("warning", "pkg/m0.py", 7), ("notice", "pkg/m1.py", 0), ("warning", "", 7),
    ]  # fmt: skip
    assert found[0].message == "it broke\nmend it"


def test_a_summary_shows_untrusted_text_in_code_spans_only() -> None:
    text = summary.of_run([report(units=(unit(0, title=HOSTILE),))], [published()], [(HOSTILE, HOSTILE)], 10**6)
    assert "\n::error::" not in text
    assert "pkg/m" not in text
    for line in text.splitlines():
        outside = "".join(line.split("``")[::2])
        assert "<b>" not in outside
        assert "@team" not in outside
    assert "<https://example.com/acme/widgets/pull/7>" in text


def test_e06_a_long_summary_lists_less_before_anything_is_cut() -> None:
    units = tuple(unit(number, title=f"pkg/{'é' * 200}{number}.py") for number in range(3000))
    whole = summary.of_run([report(units=units)], [], [], 10**6)
    less = summary.of_run([report(units=units)], [], [], len(whole.encode()) - 1)
    assert len(less.encode()) < len(whole.encode())
    assert "and 2,990 more" in less
    assert summary.CUT not in less
    least = summary.of_run([report(units=units)], [], [], 150)
    assert len(least.encode()) <= 150
    assert least.endswith(summary.CUT)


def test_a_plans_summary_says_why_nothing_was_done() -> None:
    planned = PlannedUnit("k", HOSTILE, 2, ("F401",)), PlannedUnit("l", "b.py", 3, ("F401",), rung=None, hold="spent")
    plan = SweepPlan("s", "b" * 40, ("ruff", "check"), "ruff", 6, planned, skips=(Skip("c.py", SkipReason.BINARY, 1),))
    text = summary.of_plan([plan], "it was asked for", 10**6)
    assert text.startswith("**Dry run**: it was asked for.")
    assert "6 findings in 2 units" in text
    assert "held: spent" in text
    assert "\n::error::" not in text
    made = verdict.of_plan([plan], 1)
    assert (made.status, made.fixed, made.remaining, made.held) == ("dry-run", 0, 6, 3)
