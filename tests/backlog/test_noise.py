"""What stands around an output, and how it ended: banners, encodings, cut ends, exit codes, crashes.

Each is a kind of report from the trackers of linters and of programs that read them, as a small input of our own.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sweeper.backlog.tools import TOOLS
from tests.backlog.samples import said, told, tree

RUFF = {
    "code": "F401", "filename": "/repo/a.py", "fix": None, "message": "`os` imported but unused",
    "location": {"row": 1, "column": 8}, "end_location": {"row": 1, "column": 10},
}  # fmt: skip
ONE = json.dumps([RUFF], indent=2)
LINE = json.dumps(RUFF)
OTHER = json.dumps({**RUFF, "code": "E501"})
ESLINT_CLEAN = '[{"filePath":"/repo/a.js","messages":[]}]'
TRACE = 'Traceback (most recent call last):\n  File "x", line 1\nValueError: bad\n'
FOUND = "findings; a.py:1:8 F401"
BOTH = "findings; a.py:1:8 E501; a.py:1:8 F401"
TEXT = "findings; a.py:1:2 F401"
LISTING = tree("a.py", "b.py", "a.js", "a.c", "a.sh", "src/b.c", "ü.py")


def tells(tool: str, stdout: str | bytes, stderr: str | bytes = b"", code: int | None = 1) -> str:
    out, err = (data.encode("utf-8") if isinstance(data, str) else data for data in (stdout, stderr))
    return told(said(out, err, code=code, tool=TOOLS[tool], listing=LISTING))


@pytest.mark.parametrize(
    ("tool", "stdout", "code", "told"),
    [
        ("ruff", ("\ufeff" + ONE).encode(), 1, FOUND),
        ("ruff", ("\ufeff" + ONE).encode("utf-16-le"), 1, FOUND),  # PowerShell's `>`
        ("ruff", ("\ufeff" + ONE).encode("utf-16-be"), None, FOUND),
        ("ruff", "\ufeff[]\r\n".encode("utf-16-le"), 0, "clean"),
        ("flake8", "\ufeffa.py:1:2: F401 unused\r\n".encode("utf-16-le"), 1, TEXT),
        ("flake8", "\ufeffü.py:1:2: F401 x\r\n".encode("utf-16-le"), 1, "findings; ü.py:1:2 F401"),
        ("ruff", ONE.replace("\n", "\r\n").encode(), 1, FOUND),
        ("ruff", f"Linting 1/2\rLinting 2/2\r{ONE}".encode(), 1, FOUND),
        ("ruff", f"Linting 1/2\r\x1b[2K{LINE}".encode(), 1, FOUND),
        ("flake8", b"1/2\r2/2\ra.py:1:2: F401 unused\r\r\n", 1, TEXT),
        ("checkstyle", b"", 1, "broken"),
    ],
)
def test_encodings_and_line_ends(tool: str, stdout: bytes, code: int | None, told: str) -> None:
    assert tells(tool if tool in TOOLS else "generic", stdout, code=code) == told


@pytest.mark.parametrize(
    ("tool", "stdout", "stderr", "code", "told"),
    [
        ("ruff", f"npm notice\nnpm notice New major version of npm available! 10.1 -> 11.0\n{ONE}", "", 1, FOUND),
        ("eslint", f"npm warn exec The package was not found\n{ESLINT_CLEAN}", "", 0, "clean"),
        ("eslint", f"yarn run v1.22.19\n$ eslint -f json .\n{ESLINT_CLEAN}\nDone in 1.2s.\n", "", 0, "clean"),
        ("eslint", f"(node:1) ExperimentalWarning: x\n{ESLINT_CLEAN}", "", 0, "clean"),
        ("pyright", ' * Install prebuilt node ..... done.\n{"generalDiagnostics":[],"summary":{}}', "", 0, "clean"),
        ("rubocop", "RuboCop server starting on 127.0.0.1:64692.\n"
         '{"metadata":{},"files":[],"summary":{"inspected_file_count":2}}', "", 0, "clean"),
        ("ruff", ONE + ONE.replace("F401", "E501"), "", 1, BOTH),
        ("ruff", "[]" + ONE, "", 1, FOUND),
        ("gcc", '[]\n[{"kind":"warning","message":"m","option":"-Wx","locations":[{"caret":{"file":"a.c","line":3,'
         '"column":5}}],"children":[]}]\n[]\n', "", 0, "findings; a.c:3:5 -Wx"),
        ("ruff", LINE + "\n\n\r\n" + OTHER + "\n", "", 1, BOTH),
        ("ruff", LINE + OTHER + "\n", "", 1, BOTH),  # two processes, one line
        ("clippy", "   Compiling x v0.1.0\n" + '{"reason":"build-finished","success":true}\n', "", 0, "clean"),
        ("generic", f"{ONE.replace(ONE, '[]')}\na.py:3: error: Incompatible types\n", "", 0, "broken"),  # of two tools
        ("generic", "[]\n/usr/lib/x.py:3: SyntaxWarning: invalid escape\n", "", 0, "clean"),
    ],
)  # fmt: skip
def test_a06_a07_text_and_documents_around_a_document(
    tool: str, stdout: str, stderr: str, code: int, told: str
) -> None:
    assert tells(tool, stdout, stderr, code) == told


@pytest.mark.parametrize("code", [0, 1, None])
@pytest.mark.parametrize(
    "stdout",
    [
        ONE[:100],
        ONE + "\n" + ONE[:90],
        LINE + "\n" + OTHER[:90],
        OTHER[:90],
        f"{LINE}\n" + f"{OTHER[:90]}\n" * 2,  # every process was cut
        '<?xml version="1.0"?>\n<checkstyle version="4.3"><file name="a.js"><error line="1" message="m"/>',
        '<?xml version="1.0"?>\n<checkstyle vers',
    ],
)
def test_a21_an_output_that_was_cut_is_never_believed(stdout: str, code: int | None) -> None:
    assert tells("generic", stdout, code=code) == "broken"


@pytest.mark.parametrize("code", [124, 126, 127, 129, 134, 137, 139, 143])
def test_a10_what_a_shell_or_timeout_ended_is_no_result(code: int) -> None:
    for stdout in (ONE, "a.py:1:2: F401 unused\n", ""):
        for tool in ("ruff", "generic"):
            assert tells(tool, stdout, "Killed\n", code) == "broken"


def test_a10_a_tool_that_ends_with_the_number_of_its_findings() -> None:
    """Checkstyle does: its code of 137 errors is no signal."""
    lines = "".join(f"a.py:{line}:1: E501 long\n" for line in range(1, 138))
    assert tells("generic", lines, code=137).count("E501") == 137


@pytest.mark.parametrize(
    ("tool", "stdout", "stderr", "code"),
    [
        ("ruff", f"{ONE}\n{TRACE}", "", 1),
        ("ruff", ONE, "warning: x\n" * 20_000 + TRACE, 1),  # far from the head of a long stderr
        ("flake8", "a.py:1:2: F401 unused\n" * 20_000 + TRACE, "", 1),
        ("eslint", ESLINT_CLEAN, "FATAL ERROR: Reached heap limit Allocation failed\n", 134),
        ("mypy", "", "a.py:3: error: INTERNAL ERROR -- Please try using mypy master on GitHub:\n", 2),
        ("mypy", "a.py:3: error: INTERNAL ERROR -- Please try using mypy master on GitHub:\n", "", 2),
        ("gcc", "", "a.c:3:5: internal compiler error: Segmentation fault\nPlease submit a bug report\n", 1),
        ("gcc", '[{"kind":"internal compiler error","message":"m","locations":[{"caret":{"file":"a.c","line":1,'
         '"column":1}}]}]', "", 1),
        ("rubocop", '{"metadata":{},"files":[],"summary":{"inspected_file_count":1}}undefined method `x\'\n', "", 2),
        ("pylint", "", "usage: pylint\n", 33),
        ("eslint", "[]", "", 1),
        ("ruff", "[]", "", 2),
        ("stylelint", '[{"source":"/repo/a.css","warnings":[]}]', "", 2),
    ],
)  # fmt: skip
def test_a10_a_crash_is_no_result_wherever_it_is_told(tool: str, stdout: str, stderr: str, code: int) -> None:
    assert tells(tool, stdout, stderr, code).startswith("broken")


@pytest.mark.parametrize(
    ("stdout", "stderr", "told"),
    [
        ("Found 3 errors\n", "", "broken"),
        ("1 problem\n", "", "broken"),
        ("12 files checked, 2 fixable warnings\n", "", "broken"),
        ("errors: 0, warnings: 0\n", "", "clean"),
        ("0 errors, 0 warnings, 0 informations\n", "", "clean"),
        ("Success: no issues found in 3 source files\n", "", "clean"),
        # a document that no format knows, or a diagnostic's block, on the other stream
        ("", '<?xml version="1.0"?>\n<results>\n<error file="a.c" id="x" msg="m"/>\n</results>\n', "broken"),
        ("", "warning: unused variable: `x`\n --> src/main.rs:3:5\n  |\n", "broken"),
        ("done\n", '[{"src":"a.css","warns":[]}]\n', "broken"),
        ("", "npm warn deprecated x\n(node:1) Warning: y\n", "clean"),
        # notes alone are clean if the tool says so itself
        ('a.py:4: note: Revealed type is "int"\nSuccess: no issues found in 1 source file\n', "", "clean"),
        ('a.py:4: note: Revealed type is "int"\n', "", "broken"),
        ("\u2028\x00", "", "broken"),
    ],
)
def test_a05_exit_code_zero_with_words_that_are_no_format(stdout: str, stderr: str, told: str) -> None:
    assert tells("generic", stdout, stderr, 0) == told


def test_make_tells_where_it_is() -> None:
    inside = (
        "make[1]: Entering directory '/repo/src'\nb.c:3:5: warning: y [-Wz]\nmake[1]: Leaving directory '/repo/src'\n"
    )
    assert tells("generic", inside + "a.c:1:1: warning: y [-Wz]\n") == "findings; a.c:1:1 -Wz; src/b.c:3:5 -Wz"


@pytest.mark.parametrize(
    "stderr",
    [
        "Killed\n",
        "Terminated\n",
        "lint.sh: line 3: 12345 Killed                  ruff check .\n",
        "lint.sh: line 3: 12345 Segmentation fault      (core dumped) ruff check .\n",
        "sh: 1: ruff: not found\n",
        "lint.sh: line 1: ruff: command not found\n",
        "/usr/bin/python3: No module named ruff\n",
    ],
)
def test_what_a_shell_says_of_a_program_counts_though_it_says_exit_code_zero(stderr: str) -> None:
    """`lint || true`, `lint | tee log`."""
    assert tells("generic", "", stderr, 0) == "clean; incomplete"
    assert tells("generic", "", stderr, 1).startswith("broken")


def test_a_program_that_a_check_does_without_breaks_it_not() -> None:
    assert tells("generic", "a.py:1:1: E1 m\n", "sh: 1: tput: not found\n", 1) == "findings; a.py:1:1 E1; incomplete"


def test_a_crash_of_a_tool_that_says_exit_code_zero_leaves_it_incomplete() -> None:
    assert tells("ruff", "[]", TRACE, 0) == "clean; incomplete"
    partial = replace(TOOLS["ruff"], partial=frozenset({1}))
    assert told(said(ONE.encode(), tool=partial, listing=LISTING)) == f"{FOUND}; incomplete"
