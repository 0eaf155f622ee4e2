"""Whatever a record holds comes back the same, and its bytes sort as Python's strings do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sweeper.ledger.encode import (
    findings_from,
    findings_to,
    history_from,
    history_line,
    outcome_from,
    outcome_to,
    to_bytes,
    to_json,
    to_text,
)
from sweeper.records import Evidence, Finding, Kind, Outcome, Severity, Usage

TEXT = st.text(st.characters(), max_size=20)
COUNT = st.integers(0, 2**53)
SECONDS = st.floats(0, 1e9)
FINDINGS = st.builds(Finding, TEXT, COUNT, COUNT, TEXT, TEXT, st.sampled_from(Severity), TEXT)
EVIDENCE = st.builds(
    Evidence,
    st.lists(TEXT, max_size=3).map(tuple),
    st.none() | st.integers(-255, 255),
    TEXT,
    st.lists(TEXT, max_size=3).map(tuple),
    COUNT,
    COUNT,
    st.lists(FINDINGS, max_size=3).map(tuple),
)
OUTCOMES = st.builds(
    Outcome,
    unit=TEXT,
    attempt=COUNT,
    rung=COUNT,
    kind=st.sampled_from(Kind),
    base=TEXT,
    commit=TEXT,
    evidence=EVIDENCE,
    usage=st.builds(Usage, COUNT, COUNT, COUNT),
    seconds=SECONDS,
    claimed=TEXT,
    reviews=st.lists(TEXT, max_size=3).map(tuple),
    retry_after=st.none() | SECONDS,
    memory_exceeded=st.booleans(),
)


@given(OUTCOMES)
def test_outcomes_survive(outcome: Outcome) -> None:
    text = outcome_to(outcome)
    assert text.isascii()
    assert "\x00" not in text
    assert outcome_from(text) == outcome


@given(st.lists(FINDINGS, max_size=5))
def test_findings_survive(findings: list[Finding]) -> None:
    assert findings_from(findings_to(findings)) == tuple(findings)


@given(st.lists(st.tuples(COUNT, st.sampled_from(Kind), TEXT), max_size=5))
def test_a_history_grows_by_lines(entries: list[tuple[int, Kind, str]]) -> None:
    assert history_from("".join(history_line(*entry) for entry in entries)).outcomes == tuple(entries)


@given(TEXT, TEXT)
def test_bytes_sort_as_strings_do(one: str, other: str) -> None:
    assert to_text(to_bytes(one)) == one
    assert (to_bytes(one) < to_bytes(other)) == (one < other)


def test_lone_surrogates_are_ascii() -> None:
    assert to_json("a\udc80") == '"a\\udc80"'
