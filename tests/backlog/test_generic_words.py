"""What the formats that many tools print are filled with: SARIF, rdjson, checkstyle, GitHub, and their places."""

from __future__ import annotations

import json

import pytest

from sweeper.backlog.tools import GENERIC
from tests.backlog.samples import said, told, tree

LISTING = tree("a.py", "a.js", "src/a.py", "src/b.py", "a,b.py", "my file.py", "deep/x/only.py")
FOUND = "findings; a.py:3:2 R"


def tells(stdout: object, code: int | None = 1, *, foreign: bool = False, root: str = ".") -> str:
    out = stdout if isinstance(stdout, str) else json.dumps(stdout)
    return told(said(out.encode(), code=code, tool=GENERIC, listing=LISTING, foreign=foreign, root=root))


def place(uri: str = "a.py", base: str | None = None, **region: object) -> dict[str, object]:
    artifact = {"uri": uri, **({"uriBaseId": base} if base else {})}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region or {"startLine": 3, "startColumn": 2}}}


def result(*places: object, **more: object) -> dict[str, object]:
    return {"ruleId": "R", "message": {"text": "m"}, "locations": list(places) or [place()], **more}


def sarif(*results: object, **run: object) -> dict[str, object]:
    return {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "T"}}, "results": list(results), **run}]}


def invocation(**more: object) -> list[object]:
    return [{"executionSuccessful": True, **more}]


def roots(name: str) -> dict[str, object]:
    return {name: {"uri": "file:///github/workspace/"}}


MISCONFIGURED = invocation(toolConfigurationNotifications=[{"level": "error", "message": {"text": "no such rule"}}])
ELSEWHERE = {"externalPropertyFileReferences": {"results": [{"location": {"uri": "r.sarif"}}]}}


@pytest.mark.parametrize(
    ("log", "code", "wanted"),
    [
        (sarif(result(place(startLine=0, startColumn=0))), 1, "findings; a.py:0:0 R"),
        (sarif(result(place(startLine=-1))), 1, "findings; a.py:0:0 R"),
        (sarif(result(place(startLine="3", startColumn=2.0))), 1, FOUND),
        (sarif(result(place(startLine=3, startColumn=2, endLine=1))), 1, FOUND),
        (sarif(result({"logicalLocations": [{"name": "f"}]}, place())), 1, FOUND),
        (sarif(result(locations=[])), 1, "findings; ? names no file"),
        (sarif(result(place("https://host/a.py"))), 1, "findings; https://host/a.py? outside the repository"),
        (sarif(result(place("webpack://app/./src/a.py")), result()), 1,
         "findings; a.py:3:2 R; webpack://app/./src/a.py? outside the repository"),
        (sarif(result(level="made-up", kind="fail", ruleId=None)), 1, "findings; a.py:3:2"),
        (sarif(result(suppressions=[{"status": "rejected"}])), 1, FOUND),
        (sarif(result(baselineState="absent")), 0, "clean"),
        (sarif(invocations=MISCONFIGURED), 0, "clean; incomplete"),
        (sarif(invocations=invocation(executionSuccessful=False)), 0, "broken"),
        (sarif(**ELSEWHERE), 0, "broken"),
        ({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "T"}}}]}, 0, "broken"),  # it looked for nothing
        (sarif(results=None), 0, "clean"),  # Go's empty list
        (sarif(results=None), 1, "broken"),
        (sarif(result(message={"id": "default"})), 1, FOUND),
        (sarif({"ruleId": "R"}), 1, "broken"),
        (json.dumps(sarif(result())) + json.dumps(sarif(result(ruleId="S"))), 1, "findings; a.py:3:2 R; a.py:3:2 S"),
    ],
)  # fmt: skip
def test_a19_what_sarif_logs_hold(log: object, code: int, wanted: str) -> None:
    assert tells(log, code) == wanted


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        # a path that is encoded, and one that has a slash before it though it is relative
        (sarif(result(place("my%20file.py"))), "findings; my file.py:3:2 R"),
        (sarif(result(place("/a.py")), result(place("/src/a.py"))), "findings; a.py:3:2 R; src/a.py:3:2 R"),
        (sarif(result(place("/usr/include/x.h")), result(place("/a.py"))),
         "findings; /a.py? outside the repository; /usr/include/x.h? outside the repository"),
        # the log itself names the directory that was looked at
        (sarif(result(place("src/a.py", "PROJECTROOT")), originalUriBaseIds=roots("PROJECTROOT")),
         "findings; src/a.py:3:2 R"),
        (sarif(result(place("file:///github/workspace/src/a.py")), originalUriBaseIds=roots("%SRCROOT%")),
         "findings; src/a.py:3:2 R"),
        (sarif(result(place("a.py", "PWD")), originalUriBaseIds=roots("PWD")),
         "findings; /github/workspace/a.py? outside the repository"),
    ],
)  # fmt: skip
def test_a19_where_sarif_results_lie(log: object, wanted: str) -> None:
    assert tells(log) == wanted


def lines(*paths: str) -> str:
    return "".join(f"{path}:1:1: E501 long\n" for path in paths)


@pytest.mark.parametrize(
    ("paths", "root", "wanted"),
    [
        (("/ci/a.py", "/ci/src/b.py"), ".", "findings; a.py:1:1 E501; src/b.py:1:1 E501"),
        (("D:\\a\\r\\a.js", "D:\\a\\r\\src\\b.py"), ".", "findings; a.js:1:1 E501; src/b.py:1:1 E501"),
        # a.py of the one or src/a.py of the other: only the sweep's root tells
        (("/ci/src/a.py",), ".", "findings; /ci/src/a.py? outside the repository"),
        (("/ci/src/a.py",), "src", "findings; src/a.py:1:1 E501"),
        # a container that had only the package
        (("/app/x/only.py",), "deep", "findings; deep/x/only.py:1:1 E501"),
        (("/app/only.py", "/z.py"), "deep/x", "findings; deep/x/only.py:1:1 E501; /z.py? outside the repository"),
    ],
)  # fmt: skip
def test_a16_an_output_of_another_checkout(paths: tuple[str, ...], root: str, wanted: str) -> None:
    assert tells(lines(*paths), None, foreign=True, root=root) == wanted


def test_an_output_of_another_commit_says_so() -> None:
    result = said(lines("a.py", "gone.py").encode(), code=None, tool=GENERIC, listing=LISTING, foreign=True)
    assert result.broken
    assert "'gone.py'" in result.why
    assert "another commit" in result.why


def rdjson(**more: object) -> dict[str, object]:
    there = {"path": "a.py", "range": {"start": {"line": 3, "column": 2}}}
    found = {"message": "m", "location": there, "severity": "ERROR", "code": {"value": "R"}}
    return {"source": {"name": "x"}, "diagnostics": [{**found, **more}]}


def gitlab(location: object) -> list[object]:
    return [{"description": "m", "check_name": "R", "fingerprint": "f", "location": location}]


def checkstyle(path: str = "a.py", more: str = 'line="3" column="2" message="m"', before: str = "") -> str:
    return f'{before}<checkstyle version="4"><file name="{path}"><error {more} source="R"/></file></checkstyle>'


@pytest.mark.parametrize(
    ("stdout", "code", "wanted"),
    [
        (rdjson(), 1, FOUND),
        (rdjson(location=None), 1, "findings; ? names no file"),
        (rdjson(location={"path": None}), 1, "findings; ? names no file"),
        (rdjson(code=None, severity="UNKNOWN_SEVERITY"), 1, "findings; a.py:3:2"),
        ({"diagnostics": None}, 0, "clean"),
        (checkstyle() + checkstyle("a.js"), 1, "findings; a.js:3:2 R; a.py:3:2 R"),
        (checkstyle(before='<?xml version="1.0"?>\n') * 2, 1, FOUND),
        (checkstyle(more='line="3" column="2" message="a &#x1; b &#31; c"'), 1, FOUND),
        (checkstyle(more='line="3" column="2" message="a & b &amp; c"'), 1, FOUND),
        (checkstyle(more='line="3" column="2" message="a < b"'), 1, "broken"),
        (checkstyle(more='line="" column="-1" message="m"'), 1, "findings; a.py:0:0 R"),
        ('<?xml version="1.0"?>\n<checkstyle version="4"/>\n', 0, "clean"),
        ('<?xml version="1.0"?>\n<testsuites><testsuite tests="1"/></testsuites>\n', 0, "broken"),
        ("::error file=a.py, line=3, col=2,title=R::m\n", 1, FOUND),
        ("  ::Warning file=a.py,line=3,col=2,title=R::m\n", 1, FOUND),
        ("::error file=a,b.py,line=3,col=2,title=R::m\n", 1, "findings; a,b.py:3:2 R"),
        ("::error file=a.py,line=3,col=2,title=R::m\n::error::Process completed with exit code 1.\n", 1, FOUND),
        ("::error::Process completed with exit code 1.\n", 0, "broken"),
        (gitlab({"path": None, "lines": {"begin": 1}}), 1, "findings; ? names no file"),
        (gitlab({"path": "a.py", "lines": {"begin": "3"}}), 1, "findings; a.py:3:0 R"),
        ("<stdin>:1:2: F401 x\n", 1, "findings; <stdin>? names no file"),
    ],
)  # fmt: skip
def test_what_the_other_formats_hold(stdout: object, code: int, wanted: str) -> None:
    assert tells(stdout, code) == wanted
