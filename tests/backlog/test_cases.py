"""The cases of family A that concern more tools than ruff, and D18. The others are in test_formats and its siblings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from pydantic import ValidationError

from sweeper.backlog.check import Check
from sweeper.backlog.child import Parser
from sweeper.backlog.formats import FORMATS
from sweeper.backlog.partition import MAX_BYTES, file_facts, partition
from sweeper.backlog.tools import GENERIC, TOOLS
from sweeper.config.models import SweepConfig
from sweeper.records import BaseEntry, CheckState, Finding, SkipReason
from tests.backlog.samples import said, tree

ESLINT, PYLINT, CLIPPY, GOLANGCI, TSC, MYPY, STYLELINT = (
    TOOLS[name] for name in ("eslint", "pylint", "clippy", "golangci-lint", "tsc", "mypy", "stylelint")
)


def issues(*found: tuple[str, str, int], **report: object) -> bytes:
    items = [
        {"FromLinter": linter, "Text": "text", "Severity": "", "SourceLines": ["x"], "Replacement": None,
         "Pos": {"Filename": path, "Offset": 0, "Line": line, "Column": 2}}
        for linter, path, line in found
    ]  # fmt: skip
    return json.dumps({"Issues": items, "Report": {"Linters": [{"Name": "errcheck"}], **report}}).encode()


def eslint(*messages: Mapping[str, object], path: str = "/repo/a.js") -> bytes:
    return json.dumps([{"filePath": path, "messages": list(messages), "source": "x" * 1000}]).encode()


def test_a06_stylelint_and_golangci_print_text_after_the_document() -> None:
    glued = b'[{"source":"a.css","warnings":[]}]Max warnings exceeded: 1 found. 0 allowed'
    result = said(glued, b"", code=2, tool=STYLELINT, listing=tree("a.css"))
    assert (result.state, result.unparsed, result.format) == (CheckState.BROKEN, 1, "stylelint-json")
    assert said(b'{"Issues":[]}\n0 issues.\n', code=0, tool=GOLANGCI).state is CheckState.CLEAN
    two = said(
        issues(("errcheck", "main.go", 5)) + b"\n1 issues:\n* errcheck: 1\n", tool=GOLANGCI, listing=tree("main.go")
    )
    assert [(f.path, f.line, f.column, f.rule) for f in two.findings] == [("main.go", 5, 2, "errcheck")]
    assert two.unparsed == 2


def test_the_second_version_of_golangci_lint_as_its_source_prints_it() -> None:
    """Not a recorded run: the members of its Issue and Report, made by hand."""
    position = {"Offset": 0, "Filename": "main.go"}
    edit = {"Message": "", "TextEdits": [{"Pos": 13, "End": 32, "NewText": None}]}
    one = {
        "FromLinter": "revive", "Text": "exported: comment", "Severity": "low", "SourceLines": ["x"],
        "Pos": {**position, "Line": 6, "Column": 0}, "LineRange": {"From": 6, "To": 8}, "SuggestedFixes": [edit],
        "ExpectNoLint": False, "ExpectedNoLintLinter": "",
    }  # fmt: skip
    two = {**one, "FromLinter": "errcheck", "Severity": "", "Pos": {**position, "Line": 9, "Column": 2}}
    report = {"Warnings": [{"Tag": "runner", "Text": "deprecated"}], "Linters": [{"Name": "errcheck", "Enabled": True}]}
    printed = json.dumps({"Issues": [one, two], "Report": report}).encode() + b"\n"
    result = said(printed, tool=GOLANGCI, listing=tree("main.go"))
    places = [(f.line, f.column, f.rule, f.severity.value) for f in result.findings]
    assert (result.format, places) == ("golangci-json", [(6, 0, "revive", "info"), (9, 2, "errcheck", "error")])
    assert said(b'{"Issues":[],"Report":{}}\n', code=0, tool=GOLANGCI).state is CheckState.CLEAN
    for code in (3, 4, 5, 7):  # failure, timeout, no go files, an error was logged
        assert said(printed, code=code, tool=GOLANGCI, listing=tree("main.go")).state is CheckState.BROKEN


def test_a07_a_banner_that_starts_with_a_bracket() -> None:
    banner = b"[WARNING] option x is deprecated\n[WARNING] option y too\n"
    message = {"ruleId": "semi", "severity": 2, "message": "m", "line": 1, "column": 2}
    result = said(banner + eslint(message), tool=ESLINT, listing=tree("a.js"))
    assert (len(result.findings), result.unparsed) == (1, 2)
    # a document that nobody knows is no finding and no clean run
    ktlint = banner + b'[\n {"file":"Foo.kt","errors":[]}\n]'
    assert said(ktlint, code=0, tool=GENERIC, listing=tree("Foo.kt")).state is CheckState.BROKEN


def test_a09_null_instead_of_a_list() -> None:
    assert said(b'{"Issues":null,"Report":{}}', code=0, tool=GOLANGCI).state is CheckState.CLEAN
    assert said(b'{"Issues":null,"Report":{}}', code=1, tool=GOLANGCI).state is CheckState.BROKEN
    assert "could not load" in said(b"", b"could not load package\n", code=7, tool=GOLANGCI).why


def test_a10_mypy_crashes_with_the_code_of_findings_and_parses_with_that_of_a_crash() -> None:
    crash = said(b"", b'Traceback (most recent call last):\n  File "x", line 1\nAssertionError\n', code=1, tool=MYPY)
    assert crash.state is CheckState.BROKEN
    line = {"file": "pkg/a.py", "line": 3, "column": 0, "message": "Invalid syntax", "hint": None, "code": "syntax"}
    syntax = said(json.dumps({**line, "severity": "error"}).encode(), code=2, tool=MYPY, listing=tree("pkg/a.py"))
    assert [(s.path, s.reason) for s in syntax.skips] == [("pkg/a.py", SkipReason.NOT_PARSED)]
    text = said(b"pkg/a.py:3: error: Invalid syntax  [syntax]\n", code=2, tool=MYPY, listing=tree("pkg/a.py"))
    assert text.skips == syntax.skips


def test_a11_pylints_exit_code_is_a_bit_mask() -> None:
    lines = b"a.py:1:0: C0114: Missing docstring\na.py:2:0: W0611: Unused\na.py:3:0: E0602: Undefined\n"
    listing = tree("a.py", "foo.py")
    assert len(said(lines, code=30, tool=PYLINT, listing=listing).findings) == 3
    fatal = b"foo.py:1:0: F0001: No module named foo.py (fatal)\n"
    for code in (0, 1):
        alone = said(fatal, code=code, tool=PYLINT, listing=listing)
        assert (alone.state, "No module named foo.py" in alone.why) == (CheckState.BROKEN, True)
    both = said(lines + fatal, code=31, tool=PYLINT, listing=listing)
    assert (len(both.findings), "No module named" in both.incomplete) == (3, True)
    usage = said(b"", b"usage: pylint [options]\n", code=32, tool=PYLINT)
    assert (usage.state, "usage: pylint" in usage.why) == (CheckState.BROKEN, True)


def test_a12_compile_errors_are_a_class_of_their_own_and_make_a_run_incomplete() -> None:
    warning = b"WARN [runner/x] Can't run x because of compilation errors in packages [p]\n"
    result = said(b'{"Issues":[]}', warning, code=0, tool=GOLANGCI)
    assert (result.state, "compilation errors" in result.incomplete) == (CheckState.CLEAN, True)
    listed = issues(Warnings=[{"Tag": "runner", "Text": "Can't run linter x: compilation errors"}])
    assert "compilation errors" in said(listed, code=0, tool=GOLANGCI).incomplete
    typecheck = said(
        issues(("typecheck", "a.go", 3), ("errcheck", "b.go", 4)), tool=GOLANGCI, listing=tree("a.go", "b.go")
    )
    assert [f.path for f in typecheck.findings] == ["b.go"]
    assert [(s.path, s.reason) for s in typecheck.skips] == [("a.go", SkipReason.NOT_PARSED)]
    assert "does not compile" in typecheck.incomplete
    fatal = {"ruleId": None, "fatal": True, "severity": 2, "message": "Parsing error: x", "line": 1, "column": 1}
    unread = said(eslint(fatal), tool=ESLINT, listing=tree("a.js"))
    assert [s.reason for s in unread.skips] == [SkipReason.NOT_PARSED]
    assert unread.unread_line("a.js") == "does not parse: a.js:1:1: Parsing error: x"


def test_a14_a_file_that_the_linter_ignores_is_no_unit() -> None:
    ignored: dict[str, object] = {
        "ruleId": None,
        "severity": 1,
        "message": "File ignored because of a matching pattern",
    }
    output = eslint(ignored, path="/repo/dist/app.js")
    result = said(output, code=0, tool=ESLINT, listing=tree("dist/app.js"))
    assert (result.state, result.findings) == (CheckState.CLEAN, ())
    assert [(s.path, s.reason) for s in result.skips] == [("dist/app.js", SkipReason.LINTER_IGNORED)]
    finding = {"ruleId": None, "severity": 2, "message": "Unused eslint-disable directive", "line": 4, "column": 1}
    assert [f.line for f in said(eslint(finding), tool=ESLINT, listing=tree("a.js")).findings] == [4]


def test_a18_a_tsc_block_for_people_is_findings_and_unparsed_lines() -> None:
    block = b"a.ts:1:5 - error TS2322: Type 'string' is not assignable.\n\n1 let a: number = 1;\n      ~\n"
    result = said(block, code=2, tool=TSC, listing=tree("a.ts"))
    assert [(f.line, f.rule) for f in result.findings] == [(1, "TS2322")]
    assert result.unparsed == 2
    more = b"a.ts(1,5): error TS2345: Argument of type X.\n  Property 'y' is missing.\n    Types differ.\n"
    lines = said(more, code=2, tool=TSC, listing=tree("a.ts"))
    assert (len(lines.findings), lines.unparsed) == (1, 0)
    notes = (
        b'{"file": "a.py", "line": 1, "column": 0, "message": "See", "hint": null, "code": null, "severity": "note"}\n'
    )
    assert said(notes, code=0, tool=MYPY, listing=tree("a.py")).state is CheckState.CLEAN


def span(file: str, *, expansion: object = None) -> dict[str, object]:
    place = {"file_name": file, "line_start": 3, "column_start": 5, "is_primary": True}
    return {**place, "expansion": expansion}


def clippy(*spans: dict[str, object], success: bool = True) -> bytes:
    message = {"level": "warning", "message": "m", "code": {"code": "clippy::x"}, "spans": list(spans)}
    lines = [{"reason": "compiler-message", "message": message}, {"reason": "build-finished", "success": success}]
    return "\n".join(json.dumps(line) for line in lines).encode()


def test_a23_a_lint_that_comes_from_the_macro_of_a_dependency() -> None:
    registry = "/home/u/.cargo/registry/src/index/dep-1.0/src/lib.rs"
    macro = {"span": span("src/main.rs"), "macro_decl_name": "m!", "def_site_span": span(registry)}
    result = said(clippy(span("src/main.rs", expansion=macro)), code=0, tool=CLIPPY, listing=tree("src/main.rs"))
    assert result.findings == ()
    assert [(s.path, s.reason) for s in result.skips] == [(registry, SkipReason.OUTSIDE)]
    own = {"span": span("src/main.rs"), "macro_decl_name": "m!", "def_site_span": span("src/macros.rs")}
    kept = said(clippy(span("src/main.rs", expansion=own)), code=0, tool=CLIPPY, listing=tree("src/main.rs"))
    assert [f.path for f in kept.findings] == ["src/main.rs"]


@pytest.mark.parametrize(
    ("path", "head", "attributes", "reason"),
    [
        ("a.go", b"// Code generated by x. DO NOT EDIT.\n", {}, SkipReason.GENERATED),
        ("a.go", b"package a\n", {"linguist-generated": "set"}, SkipReason.GENERATED),
        ("a.go", b"package a\n", {"linguist-generated": "true"}, SkipReason.GENERATED),
        ("node_modules/x/a.js", b"x\n", {}, SkipReason.VENDORED),
        ("p/vendor/x/a.go", b"x\n", {}, SkipReason.VENDORED),
        ("vendor/ours.go", b"x\n", {"linguist-vendored": "unset"}, None),
        ("lib/theirs.c", b"x\n", {"linguist-vendored": "set"}, SkipReason.VENDORED),
        ("vendor", b"x\n", {}, None),
        ("a.bin", b"\0\1", {}, SkipReason.BINARY),
        ("a.psd", b"x", {"filter": "lfs"}, SkipReason.LFS),
        ("a.psd", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", {}, SkipReason.LFS),
        ("a.js", b"x" * 8000, {}, SkipReason.GENERATED),
        ("a.py", b"x = 1\n", {}, None),
    ],
)
def test_a23_every_skip_has_a_reason_of_its_own(
    path: str, head: bytes, attributes: dict[str, str], reason: SkipReason | None
) -> None:
    found = Finding(path, 1, 1, "R", "m")
    parts = partition([found], tree(path), {path: file_facts(head, len(head), attributes)}, sweep="s")
    assert [s.reason for s in parts.skips] == ([reason] if reason else [])
    assert [unit.paths for unit in parts.units] == ([] if reason else [(path,)])


def test_a23_submodules_links_and_ignored_files() -> None:
    listing = {**tree("a.py", "ignored.py"), b"mod": BaseEntry(0o160000, "0"), b"ln": BaseEntry(0o120000, "0")}
    found = [Finding(path, 1, 1, "R", "m") for path in ("mod/x.py", "ln", "ignored.py", "../out.py", "")]
    parts = partition(found, listing, {"ignored.py": file_facts(b"", 0, ignored=True)}, sweep="s")
    assert {s.path: s.reason for s in parts.skips} == {
        "mod/x.py": SkipReason.SUBMODULE,
        "ln": SkipReason.LINK,
        "ignored.py": SkipReason.IGNORED,
        "../out.py": SkipReason.OUTSIDE,
        "": SkipReason.NO_LOCATION,
    }
    assert parts.units == ()


def test_d15_whole_project_tools_are_verified_on_the_whole_project() -> None:
    whole = [name for name, tool in TOOLS.items() if tool.whole_project]
    assert {"mypy", "tsc", "clippy", "pyright", "go-vet", "golangci-lint", "golangci-lint-v1"} <= set(whole)
    for name in whole:
        tool = TOOLS[name]
        argv = [tool.programs[0], *tool.command, *([tool.needs, "json"] if tool.needs else []), "."]
        assert tool.check(argv)[:1] == [tool.programs[0]]
        assert tool.unit_check(argv) == []
        check = Check(None, None, tool, tuple(tool.check(argv)), tuple(tool.unit_check(argv)))  # type: ignore[arg-type]
        assert check.command_for(["a"]) == check.argv


def test_d18_a_generated_or_minified_file_is_skipped_and_a_large_one_is_split() -> None:
    findings = [Finding("big.js", line, 1, f"R{line % 7}", f"m{line}") for line in range(1, 4001)]
    size = 2_000_000
    for head in (b"/* @generated */\nvar a;\n", b"var a=1;" * 1000):
        parts = partition(findings, tree("big.js"), {"big.js": file_facts(head, size)}, sweep="s")
        assert [(s.reason, s.findings) for s in parts.skips] == [(SkipReason.GENERATED, 4000)]
    written = partition(findings, tree("big.js"), {"big.js": file_facts(b"var a;\n" * 1200, size)}, sweep="s")
    assert [len(unit.findings) for unit in written.units] == [40]
    assert (written.deferred, written.skips) == (3960, ())
    too_large = partition(findings, tree("big.js"), {"big.js": file_facts(b"x\n" * 4000, MAX_BYTES + 1)}, sweep="s")
    assert [s.reason for s in too_large.skips] == [SkipReason.TOO_LARGE]


@pytest.mark.slow
def test_a21_300_megabytes_stay_within_their_limits(tmp_path: Path) -> None:
    """ESLint repeats each file's text; stderr is as long as a pipe's buffer is not."""
    big, noise = tmp_path / "big", tmp_path / "noise"
    message = {"ruleId": "semi", "severity": 2, "message": "Missing semicolon.", "line": 1, "column": 2}
    with big.open("w") as file:
        file.write("[")
        for number in range(1000):
            entry = {"filePath": f"/repo/{number}.js", "messages": [{**message, "line": n + 1} for n in range(100)]}
            file.write(("," if number else "") + json.dumps({**entry, "source": "var x = 1;\n" * 26_000}))
        file.write("]")
    assert big.stat().st_size > 300_000_000
    noise.write_bytes(b"(node:1) Warning: x\n" * 5000)

    async def main() -> None:
        parser = Parser(memory=1 << 30)
        listing = tree(*(f"{number}.js" for number in range(1000)))
        try:
            result = await parser.parse(big, noise, exit_code=1, tool=ESLINT, listing=listing, checkouts=("/repo",))
            assert (result.state, len(result.findings)) == (CheckState.FINDINGS, 100_000)
            with big.open("r+b") as file:
                file.truncate(200_000_000)
            cut = await parser.parse(big, noise, exit_code=1, tool=ESLINT, listing=listing, checkouts=("/repo",))
            assert (cut.state, cut.findings) == (CheckState.BROKEN, ())
        finally:
            await parser.aclose()

    anyio.run(main)


def test_paths_with_odd_characters_come_through_every_document() -> None:
    odd = "sub dir/ünï\ncode\udcff.js"
    message = {"ruleId": "semi", "severity": 2, "message": "m", "line": 1, "column": 2}
    listing = tree(odd)
    result = said(eslint(message, path=f"/repo/{odd}"), tool=ESLINT, listing=listing)
    assert [f.path for f in result.findings] == [odd]
    xml = (
        '<checkstyle><file name="sub dir/a&amp;\udcff.js"><error line="1" message="m" source="s"/></file></checkstyle>'
    )
    parsed = FORMATS["checkstyle"].parse(xml.encode("utf-8", "surrogateescape"), b"")
    assert [f.path for f in parsed.findings] == ["sub dir/a&\udcff.js"]


# --- zero files looked at is never clean ---


@pytest.mark.parametrize(
    ("tool", "stdout", "stderr"),
    [
        ("ruff", b"[]", b"warning: No Python files found under the given path(s)\n"),
        ("eslint", b"[]", b""),
        ("stylelint", b"[]", b""),
        ("sqlfluff", b"[]", b""),
        ("pyright", b'{"generalDiagnostics": [], "summary": {"filesAnalyzed": 0}}', b"No source files found.\n"),
        ("ty", b"All checks passed!\n", b"WARN No python files found under the given path(s)\n"),
        ("rubocop", b'{"metadata": {}, "files": [], "summary": {"inspected_file_count": 0}}', b""),
        ("oxlint", b'{"diagnostics": [], "number_of_files": 0}', b""),
        (
            "biome",
            b'{"source": {"name": "Biome"}, "diagnostics": []}',
            b"No files were processed in the specified paths.\n",
        ),
        ("semgrep", b'{"results": [], "errors": [], "paths": {"scanned": []}}', b""),
        ("bandit", b'{"results": [], "errors": [], "metrics": {"_totals": {}}, "generated_at": "x"}', b""),
        ("pylint", b'{"messages": [], "statistics": {"modulesLinted": 0}}', b""),
        ("markdownlint", b"Finding: *.md\nLinting: 0 file(s)\nSummary: 0 error(s)\n", b""),
        ("go-vet", b"", b'go: warning: "./..." matched no packages\nno packages to vet\n'),
        ("generic", b"No files to check.\n", b""),
    ],
)
def test_no_file_looked_at_is_never_clean(tool: str, stdout: bytes, stderr: bytes) -> None:
    result = said(stdout, stderr, code=0, tool=TOOLS[tool], listing=tree("a"))
    assert (result.state, "looked at no file" in result.why) == (CheckState.BROKEN, True)


def test_a_pattern_of_the_users() -> None:
    pattern = r"(?P<severity>\w+) in (?P<path>.+) at (?P<line>\d+): (?P<message>.*)"
    lines = b"warning in a b.py at 7: too long\nlow in c.py at 8: x\n2 done\n"
    result = said(lines, tool=GENERIC, pattern=pattern, listing=tree("a b.py", "c.py"))
    assert [(f.path, f.line, f.severity.value, f.message) for f in result.findings] == [
        ("a b.py", 7, "warning", "too long"),
        ("c.py", 8, "info", "x"),
    ]
    assert (result.format, result.unparsed) == ("pattern", 1)
    assert said(b"error on line 3\n", code=0, tool=GENERIC, pattern=pattern).state is CheckState.BROKEN


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"(?P<path>.+):(?P<line>\d+)", ""),
        (r"(?P<path>.+)", "line"),
        (r"(?P<path>.+) (?P<line>\d+) (?P<where>.)", "where"),
        (r"(?P<path>", "not a regular expression"),
    ],
)
def test_a_pattern_is_checked_when_the_configuration_is_read(pattern: str, said: str) -> None:
    if not said:
        assert SweepConfig(check="x", pattern=pattern).pattern == pattern
        return
    with pytest.raises(ValidationError, match=said):
        SweepConfig(check="x", pattern=pattern)
