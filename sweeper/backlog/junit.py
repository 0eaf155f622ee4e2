"""JUnit XML -> the names of the tests that failed. Hostile data: called in the limited child only."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from defusedxml import ElementTree

from sweeper.backlog.formats.xml import mended
from sweeper.backlog.parsed import clean_bytes, whole

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

UNNAMED = "failures that no test case tells of"


def told(report: bytes) -> tuple[list[str], int] | None:
    """The names of the tests that failed, and how many names of test cases there are; None if this is no JUnit report.

    `classname::name` of every test case with a failure or an error, with its number where others of that name failed.
    A suite that counts more failures than its cases tell of (its set-up failed, or the collection) adds one of its own.
    """
    root = _root(report)
    if root is None:
        return None
    cases = [each for each in root.iter() if _name(each) == "testcase"]
    if not cases and _name(root) not in ("testsuite", "testsuites"):
        return None
    named = [(f"{case.get('classname', '')}::{case.get('name', '')}", case) for case in cases]
    failed = [name for name, case in named if _failed(case)]
    suites = [each for each in root.iter() if _name(each) in ("testsuite", "testsuites")]
    failed += [f"{suite.get('name', '')}::{UNNAMED}" for suite in suites if _counted(suite) > _told(suite)]
    return _numbered(failed), len({name for name, _ in named})


def _numbered(names: list[str]) -> list[str]:
    """Sorted, no two alike: of several tests of one name one more may fail than before."""
    seen = Counter(names)
    return sorted(name if nth == 1 else f"{name} ({nth})" for name in seen for nth in range(1, seen[name] + 1))


def _root(report: bytes) -> Element | None:
    try:
        return ElementTree.fromstring(report)
    except (ElementTree.ParseError, ValueError, LookupError):
        text = mended(clean_bytes(report).decode("utf-8", "replace").lstrip("\ufeff \t\r\n"))
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError):
        return None


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _failed(element: Element) -> bool:
    return any(_name(child) in ("failure", "error") for child in element)


def _counted(suite: Element) -> int:
    return sum(whole(suite.get(name)) or 0 for name in ("failures", "errors"))


def _told(suite: Element) -> int:
    """Failures and errors within the suite; a case may have one of each."""
    cases = (each for each in suite.iter() if _name(each) == "testcase")
    return sum(_name(child) in ("failure", "error") for case in cases for child in case)
