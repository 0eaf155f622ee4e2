"""Every format on recorded output, on the cases of family A, and on arbitrary bytes."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.backlog.classify import classify
from sweeper.backlog.formats import FORMATS, text
from sweeper.backlog.formats.sarif import uri_to_path
from sweeper.backlog.parsed import IGNORED, MAX_MESSAGE, Parsed, Raw, plain, raw, strip_ansi
from sweeper.backlog.reading import Reading
from sweeper.backlog.sniff import sniff
from sweeper.backlog.tools import GENERIC, RUFF
from sweeper.records import CheckState, Finding, SkipReason
from sweeper.sandbox.contract import WORK
from tests.backlog.samples import output, recorded, said, tree

RECORDED = recorded()
IN_TREE = tree("bad.py", "syntax.py", "clean.py", "fixme.py", "fmt.py", "sub dir/ünï code.py")
PLACES = [
    ("I001", 1, 1),
    ("F401", 1, 8),
    ("F401", 2, 8),
    ("F401", 2, 13),
    ("UP035", 3, 1),
    ("F841", 7, 5),
    ("F821", 10, 20),
    ("UP006", 14, 26),
    ("B006", 14, 38),
    ("E722", 17, 9),
    ("S110", 17, 9),
]
UNDERSTOOD = {
    "findings.json": "ruff-json",
    "exit_zero.json": "ruff-json",
    "findings_json-lines.txt": "ruff-json-lines",
    "findings_sarif.txt": "sarif",
    "findings_concise.txt": "text",
    "findings_pylint.txt": "text",
    "findings_rdjson.txt": "rdjson",
    "findings_gitlab.txt": "gitlab",
    "findings_github.txt": "github",
}
OTHER_FINDINGS = {
    "odd_path.json": 1,
    "syntax.json": 0,
    "fix.json": 5,
    "fix_unsafe.json": 3,
    "format_check_json.json": 1,
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_every_machine_format_of_ruff_gives_the_same_findings(name: str) -> None:
    stdout, stderr = output(name)
    result = said(stdout, stderr, code=RECORDED[name][1], listing=IN_TREE)
    assert (result.state, result.format, result.unparsed) == (CheckState.FINDINGS, UNDERSTOOD[name], 0)
    expected = list(PLACES)
    if name == "findings_pylint.txt":
        expected = [(rule, line, 0) for rule, line, _ in PLACES]
    if name == "findings_github.txt":  # a finding of several lines has no columns there
        expected = [("I001", 1, 0), *expected[1:-1], ("S110", 17, 0)]
    assert sorted((f.rule, f.line, f.column) for f in result.findings) == sorted(expected)
    assert {f.path for f in result.findings} == {"bad.py"}
    assert "`undefined_name`" in next(f.message for f in result.findings if f.rule == "F821")


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_run_is_understood_or_broken(name: str) -> None:
    stdout, stderr = output(name)
    result = said(stdout, stderr, code=RECORDED[name][1], listing=IN_TREE)
    if name == "clean.json":
        assert (result.state, result.findings) == (CheckState.CLEAN, ())
    elif name in UNDERSTOOD or name in OTHER_FINDINGS:
        assert result.state is CheckState.FINDINGS
        assert len(result.findings) == OTHER_FINDINGS.get(name, len(PLACES))
    else:
        assert result.state is CheckState.BROKEN
        assert result.findings == ()
        assert result.why


def test_a_recorded_syntax_error_is_a_class_of_its_own() -> None:
    result = said(*output("syntax.json"), listing=IN_TREE)
    assert [(s.path, s.reason, s.findings) for s in result.skips] == [("syntax.py", SkipReason.NOT_PARSED, 2)]


def test_a_code_that_means_broken_is_broken_whatever_was_printed() -> None:
    stdout, _ = output("findings.json")
    assert said(stdout, code=2, listing=IN_TREE).state is CheckState.BROKEN


def test_broken_runs_quote_the_tool() -> None:
    assert "invalid value 'nonsense'" in said(*output("bad_option.json"), code=2).why
    assert "Unknown rule selector `ZZZ999`" in said(*output("bad_config.json"), code=2).why
    assert "No such file or directory" in said(*output("missing_file.json"), listing=IN_TREE).why


def test_older_ruff_gives_syntax_errors_no_code() -> None:
    item = {"code": None, "filename": "/repo/a.py", "location": {"row": 1, "column": 2}, "message": "SyntaxError: x"}
    result = said(json.dumps([item]).encode(), listing=tree("a.py"))
    assert [s.reason for s in result.skips] == [SkipReason.NOT_PARSED]


# --- the cases ---


def test_a01_drive_letter() -> None:
    lines = (
        b"C:\\work\\app\\pkg\\mod.py:12:80: E501 line too long (89 > 79)\nE:/game/player.gd:9: message\nnot a place\n"
    )
    parsed = FORMATS["text"].parse(lines, b"")
    assert [(f.path, f.line, f.column, f.rule) for f in parsed.findings] == [
        ("C:\\work\\app\\pkg\\mod.py", 12, 80, "E501"),
        ("E:/game/player.gd", 9, 0, ""),
    ]
    assert parsed.unparsed == 1
    result = said(lines, tool=GENERIC, listing=tree("pkg/mod.py", "player.gd"), checkouts=("C:\\work\\app", "E:/game"))
    assert [f.path for f in result.findings] == ["pkg/mod.py", "player.gd"]
    assert result.unparsed == 1


def test_a02_escapes_are_stripped() -> None:
    lines = (
        b"\x1b[0;31;49msrc/a.rb:3\x1b[0m Slow call\n"
        b"src/m.py:1:0:\x1b[1mC\x1b[0m:\x1b[1mmissing-docstring\x1b[0m: text\n"
        b"\x1b]8;;file:///repo/b.py\x1b\\b.py\x1b]8;;\x1b\\:7:1: \x1b]8;;https://x\x07F401\x1b]8;;\x07 unused\n"
    )
    result = said(lines, tool=GENERIC, listing=tree("src/a.rb", "src/m.py", "b.py"))
    assert [(f.path, f.line, f.rule, f.message) for f in result.findings] == [
        ("b.py", 7, "F401", "unused"),
        ("src/a.rb", 3, "", "Slow call"),
        ("src/m.py", 1, "missing-docstring", "text"),
    ]
    assert strip_ansi(b"\x1b[1m[\x1b[0m]") == b"[]"


def test_a04_paths_that_are_not_in_the_tree_mean_a_changed_format() -> None:
    lines = b"./main.go:7:2: Printf format %s has arg x of wrong type int\n"
    assert [f.path for f in said(lines, tool=GENERIC, listing=tree("main.go")).findings] == ["main.go"]
    mistaken = b"./main.go:7 :2: Printf format\n" + b"ok.go:1:1: x\n" * 3
    result = said(mistaken, tool=GENERIC, listing=tree("main.go", "ok.go"))
    assert result.state is CheckState.BROKEN
    assert "format seems to have changed" in result.why
    one_of_ten = b"gone.go:1:1: x\n" + b"".join(b"%d.go:1:1: x\n" % n for n in range(9))
    result = said(one_of_ten, tool=GENERIC, listing=tree(*(f"{n}.go" for n in range(9))))
    assert (result.state, len(result.findings)) == (CheckState.FINDINGS, 9)
    assert [(s.path, s.reason) for s in result.skips] == [("gone.go", SkipReason.MISSING)]


def test_a05_cosmetic_change_is_never_an_empty_backlog() -> None:
    lines = b"docs/README.md\n  25:3  warning Incorrect indent  list-item-indent  remark-lint\n"
    for code in (0, 1, 3):
        result = said(lines, code=code, tool=GENERIC, listing=tree("docs/README.md"))
        assert result.state is CheckState.BROKEN
        assert "Incorrect indent" in result.why


@pytest.mark.parametrize(
    "tail", [b"\n0 issues.\n", b"Max warnings exceeded: 1 found. 0 allowed", b"\n9 issues:\n* x: 9\n"]
)
def test_a06_json_followed_by_human_text(tail: bytes) -> None:
    stdout, _ = output("findings.json")
    result = said(stdout + tail, listing=IN_TREE)
    assert (len(result.findings), result.format) == (len(PLACES), "ruff-json")
    assert result.unparsed == len(tail.strip().splitlines())
    assert FORMATS["ruff-json"].parse(stdout + tail, b"").note.startswith(tail.decode().strip()[:9])
    assert said(b"[]\n0 issues.\n", code=0).state is CheckState.CLEAN


def test_a07_json_after_a_banner() -> None:
    stdout, _ = output("findings.json")
    banner = b"[WARNING] option x is deprecated\n[WARNING] option y too\n{hint}\n"
    result = said(banner + stdout, listing=IN_TREE)
    assert (len(result.findings), result.unparsed) == (len(PLACES), 3)


def test_a07_a_broken_document_is_no_banner() -> None:
    stdout, _ = output("findings.json")
    broken = stdout[: len(stdout) // 2] + b"\n[]\n"
    result = said(broken, code=0, listing=IN_TREE)
    assert result.state is CheckState.BROKEN
    assert said(broken, code=0, listing=IN_TREE, format="ruff-json").state is CheckState.BROKEN


def test_a09_empty_and_null_output() -> None:
    result = said(b"", b"could not load package\n", code=7, tool=GENERIC)
    assert (result.state, "could not load package" in result.why) == (CheckState.BROKEN, True)
    assert said(b"", b"", code=1).state is CheckState.BROKEN
    assert said(b"", b"", code=0).state is CheckState.CLEAN
    assert said(b"null\n", code=0).state is CheckState.CLEAN
    assert said(b'{"version": "2.1.0", "runs": [{"results": null}]}', code=0).state is CheckState.CLEAN
    assert said(b'{"version": "2.1.0", "runs": [{"results": null}]}', code=1).state is CheckState.BROKEN


def test_a10_a_crash_is_no_finding_and_a_syntax_error_no_crash() -> None:
    crash = b'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nAssertionError: internal\n'
    result = said(b"", crash, tool=GENERIC)
    assert (result.state, "AssertionError: internal" in result.why) == (CheckState.BROKEN, True)
    midway = said(b"a.py:1:1: E1 found before the crash\n", crash, tool=GENERIC, listing=tree("a.py"))
    assert midway.state is CheckState.BROKEN
    syntax = said(b"pkg/a.py:3: error: Invalid syntax  [syntax]\n", code=2, tool=GENERIC, listing=tree("pkg/a.py"))
    assert syntax.state is CheckState.FINDINGS
    assert [(s.path, s.reason, s.findings) for s in syntax.skips] == [("pkg/a.py", SkipReason.NOT_PARSED, 1)]
    assert said(b"", b"", code=42, tool=GENERIC).state is CheckState.BROKEN


def test_a16_paths_that_lead_elsewhere() -> None:
    line = b"../../link/proj/main.go:4:2: x\n"
    listing = tree("main.go")
    linked = said(line, tool=GENERIC, listing=listing, checkouts=("/real/proj", "/link/proj"))
    assert [f.path for f in linked.findings] == ["main.go"]
    outside = said(line, tool=GENERIC, listing=listing, checkouts=(WORK,))
    assert outside.findings == ()
    assert [(s.path, s.reason) for s in outside.skips] == [("../../link/proj/main.go", SkipReason.OUTSIDE)]
    assert outside.state is CheckState.FINDINGS


def test_a18_notes_belong_to_the_error_before_them() -> None:
    lines = (
        b'a.py:4: error: No overload variant of "f" matches  [call-overload]\n'
        b"a.py:4: note: Possible overload variants:\n"
        b"a.py:4: note:     def f() -> None\n"
        b"b.py:1: note: of nobody\n"
        b"4     f(1)\n"
        b"      ~~~~\n"
    )
    result = said(lines, tool=GENERIC, listing=tree("a.py", "b.py"))
    assert [(f.line, f.rule, f.message) for f in result.findings] == [
        (4, "call-overload", 'No overload variant of "f" matches')
    ]
    assert result.unparsed == 3


def sarif(uri: str, base: str | None = None, bases: object = None, **more: object) -> bytes:
    location: dict[str, object] = {"uri": uri, **({"uriBaseId": base} if base else {})}
    place = {"physicalLocation": {"artifactLocation": location, "region": {"startLine": 3}}}
    result = {"ruleId": "R1", "message": {"text": "m"}, "locations": [place], **more}
    run: dict[str, object] = {"results": [result], **({"originalUriBaseIds": bases} if bases else {})}
    return json.dumps({"version": "2.1.0", "runs": [run]}).encode()


NESTED = {"ROOT": {"uri": "file:///home/u/repo"}, "SRC": {"uri": "src/", "uriBaseId": "ROOT"}}
CYCLE = {"A": {"uri": "a/", "uriBaseId": "B"}, "B": {"uri": "b/", "uriBaseId": "A"}}


@pytest.mark.parametrize(
    ("uri", "base", "bases", "path"),
    [
        ("src/my%20file.js", "%SRCROOT%", None, "src/my file.js"),
        ("src/my%2520file.js", None, None, "src/my%20file.js"),
        ("file:src/x.js", None, None, "src/x.js"),
        ("file:///home/u/repo/src/x.js", None, None, "/home/u/repo/src/x.js"),
        ("file:///C:/repo/x.js", None, None, "C:/repo/x.js"),
        ("src/a%23b.py", None, None, "src/a#b.py"),
        ("./c:x.py", None, None, "./c:x.py"),
        ("x.js", "SRC", NESTED, "/home/u/repo/src/x.js"),
        ("x.js", "A", CYCLE, "b/a/x.js"),
        ("a%FF.py", None, None, "a\udcff.py"),
    ],
)
def test_a19_sarif_uris(uri: str, base: str | None, bases: object, path: str) -> None:
    assert [f.path for f in FORMATS["sarif"].parse(sarif(uri, base, bases), b"").findings] == [path]


def test_a19_a_foreign_checkout_is_stripped_only_if_unambiguous() -> None:
    listing = tree("src/x.js", "src/a#b.py", "c:x.py")
    found = said(sarif("file:///home/u/repo/src/x.js"), listing=listing, foreign=True)
    assert [f.path for f in found.findings] == ["src/x.js"]
    assert [f.path for f in said(sarif("src/a%23b.py"), listing=listing).findings] == ["src/a#b.py"]
    assert [f.path for f in said(sarif("./c:x.py"), listing=listing).findings] == ["c:x.py"]
    windows = said(sarif("file:///C:/repo/src/x.js"), listing=listing, foreign=True)
    assert [f.path for f in windows.findings] == ["src/x.js"]
    both = tree("src/x.js", "x.js")
    ambiguous = said(sarif("file:///home/u/repo/src/x.js"), listing=both, foreign=True)
    assert [s.reason for s in ambiguous.skips] == [SkipReason.OUTSIDE]
    not_asked = said(sarif("file:///home/u/repo/src/x.js"), listing=listing)
    assert [s.reason for s in not_asked.skips] == [SkipReason.OUTSIDE]


def test_a21_truncated_output_is_broken() -> None:
    stdout, _ = output("findings.json")
    assert said(stdout, listing=IN_TREE, truncated=True).state is CheckState.BROKEN
    for end in (10, len(stdout) // 2, len(stdout) - 1):
        for code in (0, 1):
            result = said(stdout[:end], code=code, listing=IN_TREE)
            assert (result.state, result.findings) == (CheckState.BROKEN, ())


def test_a12_a_tool_that_did_not_look_at_everything_says_so() -> None:
    warning = b"WARN [runner/x] Can't run x because of compilation errors in packages [p]\n"
    result = said(b"", warning, code=0, tool=GENERIC)
    assert (result.state, "compilation errors" in result.incomplete) == (CheckState.CLEAN, True)
    empty = said(b"[]", b"warning: No Python files found under the given path(s)\n", code=0)
    assert (empty.state, "looked at no file" in empty.why) == (CheckState.BROKEN, True)
    assert said(b"[]", b"warning: something else\n", code=0).incomplete == ""


def test_a_recorded_output_without_exit_code_is_judged_by_its_content() -> None:
    stdout, _ = output("findings.json")
    assert len(said(stdout, code=None, listing=IN_TREE).findings) == len(PLACES)
    assert said(b"[]", code=None).state is CheckState.CLEAN
    for nothing in (b"", b"All done\n", stdout[:500]):
        assert said(nothing, code=None, listing=IN_TREE).state is CheckState.BROKEN


@pytest.mark.parametrize("format", ["ruff-json", "sarif"])
def test_a_named_document_that_is_missing_is_never_clean(format: str) -> None:
    assert said(b"Done.\n", code=0, format=format).state is CheckState.BROKEN
    assert said(b"", code=0, format=format).state is CheckState.CLEAN


# --- SARIF's own words ---


@pytest.mark.parametrize("runs", [[], [3], ["x", {}]])
def test_sarif_without_a_run_proves_nothing(runs: list[object]) -> None:
    assert said(json.dumps({"version": "2.1.0", "runs": runs}).encode(), code=0).state is CheckState.BROKEN


def test_sarif_suppressed_and_passed_results_are_no_findings() -> None:
    assert (
        said(sarif("a.py", suppressions=[{"kind": "inSource"}]), code=0, listing=tree("a.py")).state is CheckState.CLEAN
    )
    assert said(sarif("a.py", kind="pass"), code=0, listing=tree("a.py")).state is CheckState.CLEAN
    assert said(sarif("a.py", baselineState="absent"), code=0, listing=tree("a.py")).state is CheckState.CLEAN
    rejected = sarif("a.py", suppressions=[{"kind": "external", "status": "rejected"}])
    assert len(said(rejected, listing=tree("a.py")).findings) == 1


def test_sarif_reports_its_own_failure() -> None:
    run: dict[str, object] = {"results": [], "invocations": [{"executionSuccessful": False}]}
    result = said(json.dumps({"version": "2.1.0", "runs": [run]}).encode(), code=0)
    assert result.state is CheckState.BROKEN
    note = {"level": "error", "message": {"text": "could not read b.py"}}
    run = {"results": [], "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": [note]}]}
    result = said(json.dumps({"version": "2.1.0", "runs": [run]}).encode(), code=0)
    assert (result.state, result.incomplete) == (CheckState.CLEAN, "could not read b.py")


def test_sarif_rule_by_index_with_message_strings() -> None:
    rule = {
        "id": "R9",
        "defaultConfiguration": {"level": "note"},
        "messageStrings": {"default": {"text": "unused {0} in {1}"}},
    }
    result = {
        "ruleIndex": 0,
        "message": {"id": "default", "arguments": ["x", "y"]},
        "locations": [{"physicalLocation": {"artifactLocation": {"index": 0}, "region": {"startLine": 2}}}],
    }
    run = {
        "tool": {"driver": {"name": "t", "rules": [rule]}},
        "artifacts": [{"location": {"uri": "a.py"}}],
        "results": [result],
    }
    parsed = FORMATS["sarif"].parse(json.dumps({"version": "2.1.0", "runs": [run]}).encode(), b"")
    assert parsed.findings == [Raw("a.py", 2, 0, "R9", "unused x in y", "info")]


def test_a_result_without_a_place_is_skipped_with_a_reason() -> None:
    document = {"version": "2.1.0", "runs": [{"results": [{"ruleId": "R", "message": {"text": "whole project"}}]}]}
    result = said(json.dumps(document).encode(), listing=tree("a.py"))
    assert (result.state, [s.reason for s in result.skips]) == (CheckState.FINDINGS, [SkipReason.NO_LOCATION])


# --- text ---


@pytest.mark.parametrize(
    ("line", "rule", "message", "severity"),
    [
        ("a.py:1:2: F401 [*] `os` imported but unused", "F401", "`os` imported but unused", "error"),
        ("a.py:1: [E501(line-too-long), f] Line too long (130/100)", "E501", "Line too long (130/100)", "error"),
        ("a.py:1:0: C0114: Missing module docstring (missing-module-docstring)", "C0114", None, "error"),
        ("a.py:3: error: Incompatible types  [assignment]", "assignment", "Incompatible types", "error"),
        (
            "a.c:3:4: warning: unused variable 'x' [-Wunused-variable]",
            "-Wunused-variable",
            "unused variable 'x'",
            "warning",
        ),
        ("a.rs:3:4: error[E0308]: mismatched types", "E0308", "mismatched types", "error"),
        ("a.sh:2:1: note: Double quote [SC2086]", "SC2086", "Double quote", "info"),
        ("a.c:2:1: note: declared here", None, None, None),
        ("a.md:3:1-3:5: x", None, None, None),
        ("http://host:80: x", None, None, None),
    ],
)
def test_text_lines(line: str, rule: str | None, message: str | None, severity: str | None) -> None:
    found = FORMATS["text"].parse(line.encode(), b"").findings
    if rule is None:
        assert found == [] or found[0].path == "a.md"
        return
    assert (found[0].rule, found[0].severity) == (rule, severity)
    if message is not None:
        assert found[0].message == message


def test_text_on_stderr_counts_only_without_findings_on_stdout() -> None:
    assert len(FORMATS["text"].parse(b"", b"a.c:1:2: error: x\n").findings) == 1
    assert len(FORMATS["text"].parse(b"b.c:1:2: error: y\n", b"a.c:1:2: error: x\n").findings) == 1


WORDS = st.text(string.ascii_letters + "`'-_", min_size=1, max_size=8)
MESSAGES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)
PATHS = st.lists(st.text(string.ascii_letters + "._- é", min_size=1, max_size=8), min_size=1, max_size=3).map(
    lambda parts: "/".join(parts).strip()
)
RAWS = st.builds(
    raw,
    PATHS.filter(bool),
    st.integers(1, 99999),
    st.integers(0, 999),
    st.from_regex(r"[A-Z]{1,4}[0-9]{1,4}", fullmatch=True) | st.from_regex(r"[a-z]{2,5}-[a-z]{2,5}", fullmatch=True),
    MESSAGES,
    st.sampled_from(["error", "warning", "info"]),
)


@given(st.lists(RAWS, max_size=5))
def test_a_finding_printed_as_text_reads_back_the_same(found: list[Raw]) -> None:
    printed = "".join(text.render(item) + "\n" for item in found)
    parsed = FORMATS["text"].parse(printed.encode(), b"")
    assert parsed.findings == found
    assert parsed.unparsed == 0


@given(st.lists(RAWS, max_size=5))
def test_a_finding_printed_as_json_reads_back_the_same(found: list[Raw]) -> None:
    items = [
        {
            "code": f.rule,
            "filename": f.path,
            "location": {"row": f.line, "column": f.column},
            "message": f.message,
            "severity": f.severity,
        }
        for f in found
    ]
    lines = "".join(json.dumps(item) + "\n" for item in items).encode()
    for name, data in (("ruff-json", json.dumps(items).encode()), ("ruff-json-lines", lines)):
        assert sniff(data) in (name, "")
        parsed = FORMATS[name].parse(data, b"")
        assert (parsed.findings, parsed.unparsed) == (found, 0)


HOSTILE = st.one_of(
    st.binary(max_size=200),
    st.text('[]{}":,\n 12nulfilename', max_size=80).map(lambda s: s.encode()),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["runs", "results", "message", "locations", "code", "filename", "location", "version"]),
                inner,
            )
        ),
        max_leaves=12,
    ).map(lambda value: json.dumps(value).encode()),
)


@given(HOSTILE, HOSTILE, st.sampled_from(["auto", *FORMATS]), st.sampled_from([0, 1, 2, 9]))
def test_hostile_output_never_raises(stdout: bytes, stderr: bytes, format: str, code: int) -> None:
    for tool in (GENERIC, RUFF):
        result = said(stdout, stderr, code=code, tool=tool, format=format, listing=tree("a.py"))
        if code != 0:
            assert result.state is not CheckState.CLEAN
        for finding in result.findings:
            assert isinstance(finding, Finding)
            finding.message.encode()
            finding.rule.encode()


@given(st.binary(min_size=1, max_size=60).filter(lambda data: any(byte < 9 for byte in data) and b"\x1b" not in data))
def test_output_with_unprintable_bytes_is_never_clean(stdout: bytes) -> None:
    assert said(stdout, code=0, tool=GENERIC, listing=tree("a.py")).state is CheckState.BROKEN


@pytest.mark.parametrize(
    "line", ["All checks passed!", "Success: no issues found in 3 source files", "0 errors", "Done."]
)
def test_chatter_with_exit_zero_is_clean(line: str) -> None:
    result = said(line.encode() + b"\n", code=0, tool=GENERIC)
    assert (result.state, result.unparsed) == (CheckState.CLEAN, 1)


@pytest.mark.parametrize(
    "line",
    ["3 problems", "a.py(3,5): broken", "  12:1  trouble", '{"Issues": [1]}', "Cannot read x", "line 7 is bad", "E501"],
)
def test_what_looks_like_a_finding_is_never_clean(line: str) -> None:
    assert said(line.encode() + b"\n", code=0, tool=GENERIC).state is CheckState.BROKEN


@given(st.text(max_size=50))
def test_plain_text_is_one_printable_line(message: str) -> None:
    line = plain(message)
    assert "\n" not in line
    assert "\x1b" not in line
    line.encode()
    assert plain(line) == line


def test_messages_are_bounded() -> None:
    assert len(plain("x" * 100_000)) == MAX_MESSAGE


def test_a_linter_ignored_file_alone_is_clean() -> None:
    ignored = raw("a.py", 0, 0, "", "File ignored because of a pattern", "warning", IGNORED)
    result = classify(
        Reading(parsed=Parsed(findings=[ignored])),
        exit_code=0,
        signal=None,
        truncated=False,
        tool=GENERIC,
        root=".",
        listing=tree("a.py"),
    )
    assert (result.state, [s.reason for s in result.skips]) == (CheckState.CLEAN, [SkipReason.LINTER_IGNORED])


def test_uri_of_another_scheme_stays_as_it_is() -> None:
    assert uri_to_path("https://host/a%20b") == "https://host/a%20b"
