"""What remains as SARIF and rdjson: our own parsers read the same findings; required fields are there."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.backlog.formats import rdjson as rdjson_format
from sweeper.backlog.formats import sarif as sarif_format
from sweeper.backlog.parsed import Parsed
from sweeper.ledger.contract import Run
from sweeper.records import Finding, Severity, Skip, SkipReason, UnitState
from sweeper.report.remaining import Remaining, Rest, rdjson, sarif

RUN = Run("20260101000000abcdef", "ruff", "b" * 40, "digest", tip="c" * 40)
ODD = (b"a b/%41#?\\c:d.py", b"\xff/\xc3\xa9.py", b"http:/x.py", b"C:/x.py", b"-.py")
EVIL = "\x1b[2J [here](https://example.com) @team <img src=x> `x`"


def rest(*findings: Finding, why: str = "ladder exhausted", skips: tuple[Skip, ...] = ()) -> Rest:
    found = tuple(Remaining(finding, finding.path, UnitState.HELD, why) for finding in findings)
    return Rest(RUN, found, skips)


def parsed(form: str, text: str) -> Parsed:
    read = {"sarif": sarif_format.parse, "rdjson": rdjson_format.DOCUMENT.parse}[form](text.encode(), b"")
    assert not read.failed
    assert read.understood
    return read


def made(form: str, one: Rest) -> str:
    return sarif([one], "1.0") if form == "sarif" else rdjson([one])


FORMS = pytest.mark.parametrize("form", ["sarif", "rdjson"])


@FORMS
@pytest.mark.parametrize("path", ODD)
def test_a_path_is_read_again_byte_for_byte(form: str, path: bytes) -> None:
    name = os.fsdecode(path)
    (found,) = parsed(form, made(form, rest(Finding(name, 3, 2, "F401", "unused")))).findings
    assert os.fsencode(found.path) == path
    assert (found.line, found.column, found.rule, found.severity) == (3, 2, "F401", "error")


NAMES = st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name and not name.startswith(b"/"))
FINDINGS = st.builds(
    Finding,
    path=NAMES.map(os.fsdecode),
    line=st.integers(0, 10**6),
    column=st.integers(0, 1000),
    rule=st.text("abcXYZ0189-/@_", min_size=1, max_size=20),
    message=st.text(max_size=200),
    severity=st.sampled_from(Severity),
    fingerprint=st.sampled_from(["", "0" * 32]),
)


@FORMS
@given(st.lists(FINDINGS, max_size=5))
def test_whatever_remains_is_read_again(form: str, findings: list[Finding]) -> None:
    read = parsed(form, made(form, rest(*findings))).findings
    assert [(each.path, each.rule, each.line or 0) for each in read] == [
        (each.path, each.rule, each.line) for each in findings
    ]
    for each, finding in zip(read, findings, strict=True):
        assert each.severity == str(finding.severity)
        if finding.line:
            assert (each.column or 0) == finding.column


@FORMS
def test_the_reason_is_in_the_message_and_nothing_in_it_acts(form: str) -> None:
    text = made(form, rest(Finding("a.py", 1, 0, "X", EVIL), why=f"declined: {EVIL}"))
    assert text.isascii()
    (found,) = parsed(form, text).findings
    assert "held: " in found.message
    assert "declined" in found.message
    assert "\x1b" not in found.message
    assert "](" not in found.message or form == "rdjson"  # there it stands in a code span
    if form == "rdjson":
        assert found.message.startswith("`` ")


def test_sarif_has_what_the_schema_requires() -> None:
    findings = [Finding("a.py", 0, 0, "F401", "m", Severity.WARNING, "f" * 32), Finding("b.py", 2, 0, "E1", "m")]
    skips = (Skip("gen/a b.py", SkipReason.GENERATED, 4), Skip("", SkipReason.NO_LOCATION, 1))
    log: dict[str, Any] = json.loads(sarif([rest(*findings, skips=skips), rest()], "1.0"))
    assert (log["version"], log["$schema"].startswith("https://")) == ("2.1.0", True)
    first, second = log["runs"]
    assert second["results"] == []
    driver = first["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("sweeper", "1.0")
    (nameless,) = json.loads(sarif([rest(Finding("a.py", 1, 1, "", "m"))], "1.0"))["runs"]
    assert nameless["tool"]["driver"]["rules"] == []
    assert not {"ruleId", "ruleIndex"} & nameless["results"][0].keys()
    for result in first["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert unquote_to_bytes(place["artifactLocation"]["uri"]) in (b"a.py", b"b.py")
        assert all(number >= 1 for number in place.get("region", {"startLine": 1}).values())
    assert first["results"][0]["partialFingerprints"] == {"sweeperFinding/v1": "f" * 32}
    (invocation,) = first["invocations"]
    assert invocation["executionSuccessful"] is True
    said = invocation["toolExecutionNotifications"]
    assert [note["message"]["text"] for note in said] == [
        "4 findings are not worked on: generated", "1 finding is not worked on: names no file",
    ]  # fmt: skip
    assert said[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "gen/a%20b.py"
    assert "locations" not in said[1]
