"""What single tools print beside the plain case: other versions, null, no place, files that they did not look at.

Each is a kind of report from the trackers of these tools and of programs that read them, as an input of our own.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from sweeper.backlog.tools import TOOLS
from tests.backlog.samples import said, told, tree

LISTING = tree("a.py", "a.js", "a.css", "a.rb", "a.c", "a.go", "a.sh", "a.sql", "big.py", "src/main.rs", "README.md")


def tells(tool: str, stdout: object, stderr: object = "", code: int | None = 1) -> str:
    out, err = (data if isinstance(data, str) else json.dumps(data) for data in (stdout, stderr))
    return told(said(out.encode(), err.encode(), code=code, tool=TOOLS[tool], listing=LISTING))


# --- Python ---


def ruff(**more: object) -> list[object]:
    place = {"location": {"row": 1, "column": 8}, "end_location": {"row": 1, "column": 9}}
    return [{"code": "F401", "filename": "a.py", "message": "m", "fix": None, "cell": None, **place, **more}]


def mypy(**more: object) -> str:
    plain = {"file": "a.py", "line": 3, "column": 4, "message": "m", "hint": None, "code": "x", "severity": "error"}
    return json.dumps({**plain, **more}) + "\n"


def pyright(*found: object, **summary: object) -> dict[str, object]:
    return {"version": "1", "generalDiagnostics": list(found), "summary": {"filesAnalyzed": 1, **summary}}


def pylint(**more: object) -> dict[str, object]:
    plain = {"type": "warning", "message": "m", "messageId": "W0611", "line": 1, "column": 0, "path": "a.py"}
    return {"messages": [{**plain, **more}], "statistics": {"modulesLinted": 1}}


OPTION = "Command line or configuration file"
PYTHON: list[tuple[str, object, object, int, str]] = [
    ("ruff", ruff(location=None, end_location=None), "", 1, "findings; a.py:0:0 F401"),
    ("ruff", ruff(filename=None, location=None), "", 1, "findings; ? names no file"),
    ("ruff", ruff(location={"row": "3", "column": 2.0}), "", 1, "findings; a.py:3:2 F401"),
    ("ruff", ruff(location={"row": -1, "column": True}), "", 1, "findings; a.py:0:0 F401"),
    ("mypy", mypy(line=-1, column=-1), "", 1, "findings; a.py:0:0 x"),
    # since 1.20 syntax errors are text whatever was asked for
    ("mypy", "a.py:1: error: Invalid syntax  [syntax]\n", "", 2, "findings; a.py? does not parse; incomplete"),
    ("mypy", mypy(), "", 2, "findings; a.py:3:5 x; incomplete"),
    ("mypy", "a.py: error: Source file found twice under different module names\n", "", 2, "broken"),
    ("pyright", pyright({"file": "a.py", "severity": "error", "message": "cycle", "rule": "reportImportCycles"}), "", 1,
     "findings; a.py:0:0 reportImportCycles"),
    ("pyright", pyright({"file": "a.py", "severity": "unreachable", "message": "m"}), "", 1, "findings; a.py:0:0"),
    ("pyright", pyright({"file": "a.py", "severity": "error", "message": "Expected expression"}), "", 1,
     "findings; a.py? does not parse"),
    ("pyright", pyright(), "", 3, "broken"),
    ("pylint", pylint(path=OPTION, messageId="W0012"), "", 4, f"findings; {OPTION}? names no file"),
    ("flake8", f"{OPTION}:1:0: W0012: Unknown option value (x)\na.py:1:1: F401 x\n", "", 1,
     f"findings; a.py:1:1 F401; {OPTION}? names no file"),
    ("flake8", "a.py:1:2-1:5: E501 long\n", "", 1, "findings; a.py:1:2 E501"),
]  # fmt: skip


# --- JavaScript, style sheets ---


def eslint(path: object, **message: object) -> list[object]:
    return [{"filePath": path, "messages": [{"message": "m", "severity": 2, **message}]}]


def stylelint(*found: object, **more: object) -> list[object]:
    return [{"source": "/repo/a.css", "warnings": list(found), **more}]


def styled(**more: object) -> dict[str, object]:
    return {"line": 1, "column": 2, "rule": "x", "severity": "error", "text": "Bad (x)", **more}


def biome(path: object, **more: object) -> dict[str, object]:
    found = {"category": "lint/x", "severity": "error", "description": "m", "message": [{"content": "m"}], **more}
    summary = {"changed": 0, "unchanged": 1, "diagnosticsNotPrinted": 0}
    return {"summary": summary, "diagnostics": [{**found, "location": path}], "command": "lint"}


OLD_PLACE = {"path": {"file": "a.js"}, "span": [7, 9], "sourceCode": "ü;\n\ndebugger\n"}
UNKNOWN = styled(rule="y", text="Unknown rule y.", line=1, column=1)
JAVASCRIPT: list[tuple[str, object, object, int, str]] = [
    ("eslint", eslint("<text>", ruleId="x", line=1), "", 1, "findings; <text>? names no file"),
    ("eslint", eslint("dist/app.js", ruleId=None, message="File ignored by default."), "", 0,
     "clean; dist/app.js? ignored by the linter"),
    ("eslint", eslint("a.js", ruleId="@a/b c ü", line=2, column=1), "", 1, "findings; a.js:2:1 @a/b c ü"),
    ("tsc", "node_modules/@types/x/index.d.ts(1,5): error TS2322: T\na.js(1,1): error TS2322: T\n", "", 2,
     "findings; a.js:1:1 TS2322; node_modules/@types/x/index.d.ts? vendored"),
    ("tsc", ".next/types/app/page.ts(1,5): error TS2322: T\n", "", 2, "findings; .next/types/app/page.ts? generated"),
    ("biome", biome(OLD_PLACE), "The --json option is unstable\n", 1, "findings; a.js:3:3 lint/x"),
    ("biome", biome({"path": "a.js", "start": {"line": 1, "column": 2}}, message="m"), "", 1,
     "findings; a.js:1:2 lint/x"),
    ("biome", {"source": {"name": "Biome"}, "diagnostics": [
        {"message": "m", "location": {"path": "a.js"}, "code": {"value": "internalError/panic"}, "severity": "ERROR"},
        {"message": "m", "location": {"path": "a.js"}, "code": {"value": "lint/x"}, "severity": "ERROR"}]}, "", 1,
     "findings; a.js:0:0 lint/x; incomplete"),
    ("stylelint", "", stylelint(UNKNOWN, styled()), 2, "findings; a.css:1:2 x; incomplete"),
    ("stylelint", "", stylelint(UNKNOWN), 2, "broken"),
    ("stylelint", stylelint(styled(), source=None), "", 2, "findings; ? names no file"),
    ("stylelint", stylelint(styled(), source="<input css 1>"), "", 2, "findings; <input css 1>? names no file"),
]  # fmt: skip


# --- compilers, Go, Rust, Ruby ---


def cargo(*messages: dict[str, object], ended: bool = True, success: bool = True) -> str:
    lines: list[dict[str, object]] = [{"reason": "compiler-message", "message": message} for message in messages]
    lines += [{"reason": "build-finished", "success": success}] if ended else []
    return "\n".join(map(json.dumps, lines)) + "\n"


def rust(
    file: str = "src/main.rs", level: str = "warning", code: str = "clippy::x", spans: bool = True, **more: object
) -> dict[str, object]:
    span = {"file_name": file, "line_start": 3, "column_start": 5, "is_primary": True}
    return {"level": level, "message": "m", "code": {"code": code}, "spans": [span] if spans else [], **more}


def rubocop(location: object) -> dict[str, object]:
    offense = {"severity": "convention", "message": "m", "cop_name": "Style/X", "location": location}
    return {"metadata": {}, "files": [{"path": "a.rb", "offenses": [offense]}], "summary": {"inspected_file_count": 1}}


NO_COP = {"metadata": {}, "files": [], "summary": {"inspected_file_count": 1}}
CPPCHECK = '<results version="3"><cppcheck version="2.17"/><errors>{}</errors></results>'
NATIVE: list[tuple[str, object, object, int, str]] = [
    ("clippy", cargo(rust()), "", 0, "findings; src/main.rs:3:5 clippy::x"),
    ("clippy", cargo(rust(), ended=False), "", 0, "findings; src/main.rs:3:5 clippy::x; incomplete"),
    ("clippy", cargo(rust("target/debug/build/x-1/out/gen.rs")), "", 0,
     "findings; target/debug/build/x-1/out/gen.rs? generated"),
    ("clippy", cargo(rust("<::core::macros::assert_eq macros>")), "", 0,
     "findings; <::core::macros::assert_eq macros>? names no file"),
    ("clippy", cargo(rust(spans=False, message="5 warnings emitted")), "", 0, "clean"),
    ("clippy", cargo(rust(spans=False, message="crate-wide")), "", 0, "findings; ? names no file"),
    ("clippy", cargo(rust(), rust(level="error", code="", spans=False, message="no linker"), success=False), "", 101,
     "findings; src/main.rs:3:5 clippy::x; incomplete"),
    ("clippy", cargo(success=False), "", 101, "broken"),
    ("golangci-lint", {"Issues": None, "Report": {}}, 'level=error msg="Running error: context loading failed"\n', 0,
     "clean; incomplete"),
    ("golangci-lint", {"Issues": None, "Report": {"Error": "timeout"}}, "", 0, "broken"),
    ("go-vet", "", "# pkg\nvet: ./a.go:7:2: undefined: x\n", 1, "findings; a.go? does not parse"),
    ("rubocop", rubocop({"line": 4, "column": 2, "length": 1}), "", 1, "findings; a.rb:4:2 Style/X"),
    ("rubocop", NO_COP, "An error occurred while Style/X cop was inspecting /repo/a.rb:1:0.\n", 0, "clean; incomplete"),
    ("gcc", "", "a.c:1:10: fatal error: x.h: No such file or directory\ncompilation terminated.\n", 1,
     "findings; a.c? does not parse"),
    ("gcc", "", "<command-line>:0:1: warning: \"FOO\" redefined\na.c:1:1: warning: m [-Wx]\n", 0,
     "findings; a.c:1:1 -Wx; <command-line>? names no file"),
    ("gcc", "", "a.c:3:5: error: m [-Werror,-Wunused]\n", 1, "findings; a.c:3:5 -Wunused"),
    ("generic", "/repo/a.c:3:5: warning: m [modernize-x,bugprone-y]\n", "2 warnings generated.\n", 0,
     "findings; a.c:3:5 modernize-x"),
    ("cppcheck", "", CPPCHECK.format('<error id="unknownMacro" severity="error" msg="m"><location file="a.c" line="3"/>'
     "</error>"), 0, "findings; a.c? does not parse"),
    ("cppcheck", "", CPPCHECK.format('<error id="x" severity="error" msg="m" file0="a.c"/>'), 0, "findings; a.c:0:0 x"),
    ("cppcheck", "Checking a.c ...\n", CPPCHECK.format("") * 2, 0, "clean"),
    ("cppcheck", "", "nofile:0:0: information: Active checkers: 1/8 [checkersReport]\n", 0,
     "findings; nofile? names no file"),
]  # fmt: skip


# --- everything else ---


def semgrep(*skipped: tuple[str, str]) -> dict[str, object]:
    skips = [{"path": path, "reason": reason} for path, reason in skipped]
    return {"results": [], "errors": [], "paths": {"scanned": ["a.py"], "skipped": skips}}


def shellcheck(**more: object) -> dict[str, object]:
    return {
        "comments": [{"file": "a.sh", "line": 1, "column": 2, "level": "warning", "code": 2034, "message": "m", **more}]
    }


def sqlfluff(code: str) -> list[object]:
    violation = {"start_line_no": 1, "start_line_pos": 2, "code": code, "description": "d"}
    return [{"filepath": "a.sql", "violations": [violation]}]


GONE = "gone.sh: gone.sh: openBinaryFile: does not exist (No such file or directory)\n"
OTHERS: list[tuple[str, object, object, int, str]] = [
    ("semgrep", semgrep(("big.py", "exceeded_size_limit")), "", 0, "clean; big.py? ignored by the linter"),
    ("semgrep", semgrep(("a.py", "analysis_failed_parser_or_internal_error")), "", 0, "clean; incomplete"),
    ("semgrep", semgrep(("x.py", "semgrepignore_patterns_match")), "", 0, "clean"),
    ("shellcheck", shellcheck(), GONE, 123, "findings; a.sh:1:2 SC2034; incomplete"),
    ("shellcheck", shellcheck(code="SC2034"), "", 1, "findings; a.sh:1:2 SC2034"),
    ("shellcheck", shellcheck(file="/dev/stdin"), "", 1, "findings; /dev/stdin? names no file"),
    ("sqlfluff", sqlfluff("LXR"), "", 1, "findings; a.sql? does not parse"),
    ("sqlfluff", sqlfluff("TMP"), "", 1, "findings; a.sql? does not parse"),
    ("codespell", "a.py: teh ==> the\na.py:3: teh ==> the\n", "", 65,
     "findings; a.py:0:0 misspelling; a.py:3:0 misspelling"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "stdout", "stderr", "code", "wanted"),
    [*PYTHON, *JAVASCRIPT, *NATIVE, *OTHERS],
    ids=lambda value: str(value)[:40],
)
def test_what_a_tool_means(tool: str, stdout: object, stderr: object, code: int, wanted: str) -> None:
    assert tells(tool, stdout, stderr, code) == wanted


def test_a_member_that_is_missing_is_another_shape() -> None:
    """Null is a result that names no file; a file under another name is a format that has changed."""
    renamed: list[Any] = [{("path" if key == "filename" else key): value for key, value in ruff()[0].items()}]  # type: ignore[attr-defined]
    assert tells("ruff", renamed) == "broken"
