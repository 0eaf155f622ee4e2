from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from sweeper.drain import Notice
from sweeper.ledger.contract import Queued
from sweeper.live import Board, Lines, Live, clock, draw
from sweeper.records import Kind, Outcome, Unit, UnitState

NOW = 1_000.0


def notice(kind: Any, key: str, at: float = NOW, *, result: Any = None, rung: int = 0) -> Notice:
    queued = Queued(Unit(key, "s", f"src/{key}.py", (key,), ()), 1)
    return Notice(kind, at, "s", queued, rung, 1, 1, result=result)


def landed(key: str, kind: Kind = Kind.FIXED, at: float = NOW) -> Notice:
    return notice("landed", key, at, result=Outcome(key, 1, 0, kind, "b"))


def picture(board: Board, now: float) -> str:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)
    console.print(draw(board, now))
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


@pytest.fixture
def board() -> Board:
    return Board(NOW)


def test_a_slot_shows_unit_rung_and_clock_until_it_lands(board: Board) -> None:
    board.notice(notice("started", "a"))
    board.notice(notice("started", "b", NOW + 5, rung=1))
    shown = picture(board, NOW + 65)
    assert "src/a.py" in shown
    assert "1:05" in shown
    assert "rung 2" in shown
    board.notice(notice("freed", "a"))
    assert "verifier" in picture(board, NOW + 66)
    board.notice(landed("a"))
    assert "src/a.py" not in picture(board, NOW + 67)
    board.notice(notice("started", "c", NOW + 67))
    assert board.rows[0].title == "src/c.py"


def test_counts_round_and_time_left(board: Board) -> None:
    board.told({"ruff": 2}, {UnitState.OPEN: 3, UnitState.SETTLED: 40})
    board.notice(notice("started", "a"))
    board.notice(landed("a", Kind.PARTIAL))
    board.told({"ruff": 2}, {UnitState.OPEN: 2, UnitState.VERIFIED: 1, UnitState.SETTLED: 40, UnitState.HELD: 1})
    assert "judged as a whole" in picture(board, NOW + 30)
    assert "left in this round" not in picture(board, NOW + 30)
    board.notice(notice("started", "c"))
    board.notice(landed("c", Kind.FIXED))
    board.notice(notice("started", "b"))
    shown = picture(board, NOW + 60)
    assert "ruff round 2" in shown
    assert "2/4 units" in shown
    assert "partial 1" in shown
    assert "held 1" in shown
    assert "about 1:00 left" in shown


def test_no_time_left_is_told_that_nobody_knows(board: Board) -> None:
    board.told({"ruff": 1}, {UnitState.OPEN: 60, UnitState.CLAIMED: 2}, later=58)
    for key in "abc":
        board.notice(notice("started", key))
    board.notice(landed("a"))
    assert "left" not in picture(board, NOW + 30)  # as many are under way as have landed
    board.notice(landed("b"))
    assert "about 1:00 left" in picture(board, NOW + 30)  # what waits for later rounds does not count
    board.told({"ruff": 1}, {UnitState.OPEN: 60}, later=60)
    assert "left" not in picture(board, NOW + 30)


def test_before_there_are_findings_it_says_what_goes_on(board: Board) -> None:
    board.told({"ruff": 0}, {})
    shown = picture(board, NOW + 30)
    assert "ruff setting up and checking" in shown
    assert "round 0" not in shown
    assert "units" not in shown


def test_a_dispatch_that_was_cancelled_leaves_no_row(board: Board) -> None:
    board.notice(notice("started", "a"))
    board.notice(notice("ended", "a"))
    assert not board.rows
    assert not board.outcomes


def test_many_rows_stay_within_the_screen(board: Board) -> None:
    for n in range(40):
        board.notice(notice("started", f"u{n}"))
    assert "and 24 more" in picture(board, NOW)
    assert len(picture(board, NOW).splitlines()) < 24


def test_a_hostile_title_moves_no_cursor(board: Board) -> None:
    board.notice(notice("started", "\x1b[2J[red]x"))
    shown = picture(board, NOW)
    assert "\x1b" not in shown
    assert "\\x1b[2J[red]x" in shown


def test_lines_say_one_landing_a_second_and_the_last_one() -> None:
    said: list[str] = []
    with Lines(said.append, NOW) as lines:
        for n in range(10):
            lines.on_event(notice("started", f"u{n}"))
            lines.on_event(landed(f"u{n}", at=NOW + n / 10))
        lines.on_event(notice("started", "z"))
        lines.on_event(landed("z", Kind.NOT_FIXED, NOW + 1.5))
        lines.on_event(notice("started", "y"))
        lines.on_event(landed("y", Kind.FIXED, NOW + 1.6))
    assert said == [
        "s: src/u0.py: fixed on rung 1 (1 landed)",
        "s: src/z.py: not_fixed on rung 1 (11 landed)",
        "s: src/y.py: fixed on rung 1 (12 landed)",
    ]


def test_the_view_prints_above_itself_and_leaves_nothing_behind() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with Live(console, NOW) as view:
        view.on_event(notice("started", "a"))
        view.tick(NOW + 1)
        view.say("round 1: 3 units merged")
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert "src/a.py" in written
    assert "round 1: 3 units merged" in written
    assert written.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))


@pytest.mark.parametrize(("seconds", "shown"), [(-1, "0:00"), (7.9, "0:07"), (750, "12:30"), (3723, "1:02:03")])
def test_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown
