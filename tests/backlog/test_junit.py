"""JUnit reports as test runners write them."""

from __future__ import annotations

import pytest

from sweeper.backlog.junit import UNNAMED, told

CASE = '<testcase classname="a" name="b"><failure{}/></testcase>'


@pytest.mark.parametrize(
    ("report", "failed"),
    [
        (f"<testsuite>{CASE}</testsuite>".format(""), ["a::b"]),
        (f'\n<?xml version="1.0"?>\n<testsuites><testsuite>{CASE}</testsuite></testsuites>'.format(""), ["a::b"]),
        (f'<testsuite xmlns="urn:x">{CASE}</testsuite>'.format(""), ["a::b"]),
        (f"<testsuite>{CASE}</testsuite>".format(' message="\x1b[31m &#x1b; a & b"'), ["a::b"]),
        ('<testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite>', []),
        # what fails before any test does
        ('<testsuite name="s" errors="1" failures="0"><error message="collection"/></testsuite>', [f"s::{UNNAMED}"]),
        (f'<testsuite name="s" errors="1" failures="1">{CASE}</testsuite>'.format(""), ["a::b", f"s::{UNNAMED}"]),
        ('<testsuite name="s" errors="1" failures="1"><testcase classname="a" name="b"><failure/><error/></testcase>'
         "</testsuite>", ["a::b"]),
        ("<testsuite><testcase name='b'><failure/></testcase>", None),
        ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', None),
        ('<?xml version="1.0" encoding="nope"?><testsuite/>', []),
        (f"<testsuite>{CASE}{CASE}</testsuite>".format("", ""), ["a::b", "a::b (2)"]),
        (f'<testsuites failures="2"><testsuite>{CASE}</testsuite></testsuites>'.format(""), [f"::{UNNAMED}", "a::b"]),
        ("<html/>", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_tests_that_failed(report: str, failed: list[str] | None) -> None:
    def names(data: bytes) -> list[str] | None:
        found = told(data)
        return None if found is None else found[0]

    assert names(report.encode()) == failed
    assert names(("\ufeff" + report.lstrip()).encode("utf-16-le")) in (failed, None)


def test_tests_are_counted_by_their_names() -> None:
    """Of a test that fails twice pytest tells in two cases."""
    found = told(f"<testsuite>{CASE}{CASE}<testcase name='c'/></testsuite>".format("", "").encode())
    assert found == (["a::b", "a::b (2)"], 2)
