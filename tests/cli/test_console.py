"""Who watches, and what they get to see."""

from __future__ import annotations

import sys

import pytest

from sweeper.cli.console import Console


@pytest.mark.parametrize(
    ("tty", "environ", "interactive", "colour"),
    [
        (True, {"TERM": "xterm"}, True, True),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True, True),
        (True, {"TERM": "xterm", "CI": "true"}, False, False),
        (True, {"TERM": "xterm", "CI": "false"}, True, True),
        (True, {"TERM": "dumb"}, False, False),
        (False, {"TERM": "xterm"}, False, False),
    ],
)
def test_a_live_view_needs_a_terminal_and_a_person(
    monkeypatch: pytest.MonkeyPatch, tty: bool, environ: dict[str, str], interactive: bool, colour: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: tty)
    console = Console(environ)
    assert (console.interactive, console.colour) == (interactive, colour)


def test_progress_is_escaped_line_by_line_and_quiet_keeps_warnings() -> None:
    said: list[str] = []
    console = Console({}, quiet=True, sink=said.append)
    console.say("progress")
    console.warn("one\n\x1b[31mtwo")
    assert said == ["one", "\\x1b[31mtwo"]


def test_a_result_with_an_undecodable_name_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    Console({}).result("a\udcff.py")
    assert capfd.readouterr().out == "a\\udcff.py\n"
