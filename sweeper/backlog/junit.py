"""JUnit XML -> the names of the tests that failed. Hostile data: called in the limited child only."""

from __future__ import annotations

from defusedxml import ElementTree


def failed_tests(report: bytes) -> list[str] | None:
    """`classname::name` of every test case with a failure or an error; None if this is no JUnit report."""
    try:
        root = ElementTree.fromstring(report)
    except (ElementTree.ParseError, ValueError):
        return None
    cases = list(root.iter("testcase"))
    if not cases and root.tag not in ("testsuite", "testsuites"):
        return None
    return sorted(
        f"{case.get('classname', '')}::{case.get('name', '')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    )
