"""Every finding of the first check is in exactly one bucket, and the buckets add up."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sweeper.ledger.contract import Queued
from sweeper.records import Finding, Skip, SkipReason, Unit, UnitState
from sweeper.report.build import UNKNOWN, sort_findings

PATHS = ("a.py", "b.py", "c.py")
RULES = ("E1", "F2")
TALLY = st.dictionaries(
    st.sampled_from(PATHS), st.dictionaries(st.sampled_from(RULES), st.integers(1, 5), max_size=2), max_size=3
)


def unit(
    path: str, counts: dict[str, int], state: UnitState = UnitState.OPEN, why: str = "", chunk: str = ""
) -> Queued:
    findings = tuple(Finding(path, n, 0, rule, "m") for rule, count in counts.items() for n in range(count))
    return Queued(Unit(f"{path}{chunk}", "s", path, (path,), findings), 1, state=state, why=why)


def total(tally: dict[str, dict[str, int]]) -> int:
    return sum(sum(rules.values()) for rules in tally.values())


@given(
    first=TALLY,
    last=TALLY,
    given_only=TALLY,
    units=st.lists(
        st.builds(
            unit,
            st.sampled_from(PATHS),
            st.dictionaries(st.sampled_from(RULES), st.integers(1, 4), max_size=2),
            st.sampled_from(list(UnitState)),
            st.sampled_from(["", "ladder exhausted"]),
            st.sampled_from(["", "#2"]),
        ),
        max_size=5,
    ),
    skips=st.lists(
        st.builds(Skip, st.sampled_from((*PATHS, "./a.py", "/x")), st.sampled_from(SkipReason), st.integers(1, 3)),
        max_size=3,
    ),
)
def test_the_buckets_add_up(first: Any, last: Any, given_only: Any, units: list[Queued], skips: list[Skip]) -> None:
    buckets = sort_findings({"first": first, "last": last, "not_reproduced": given_only}, units, skips)
    assert buckets.first == total(first)
    assert buckets.already_clean == total(given_only)
    assert buckets.total == total(first) + total(given_only)
    assert buckets.remaining + buckets.appeared == total(last)
    assert min((0, *buckets.held.values(), *buckets.open.values(), *buckets.skipped.values())) == 0


def test_what_remains_belongs_to_the_unit_that_has_it() -> None:
    units = [
        unit("a.py", {"E1": 2}, UnitState.HELD, "ladder exhausted"),
        unit("a.py", {"E1": 3}, UnitState.OPEN, chunk="#2"),
        unit("b.py", {"F2": 1}, UnitState.SETTLED),
    ]
    notes = {
        "first": {"a.py": {"E1": 6}, "b.py": {"F2": 1}, "gen.py": {"E1": 2}, "new.py": {"E1": 1}},
        "last": {"a.py": {"E1": 5}, "gen.py": {"E1": 2}, "new.py": {"E1": 3}},
    }
    buckets = sort_findings(notes, units, [Skip("./gen.py", SkipReason.GENERATED, 2)])
    assert buckets.fixed == 2
    assert buckets.held == {"ladder exhausted": 2}
    assert Counter(buckets.open) == {"not settled when the run ended": 3, UNKNOWN: 1}
    assert buckets.skipped == {"generated": 2}
    assert buckets.appeared == 2


def test_a_unit_that_still_waits_comes_before_one_that_was_settled_long_ago() -> None:
    units = [unit("a.py", {"E1": 1}, UnitState.SETTLED), unit("a.py", {"E1": 1}, UnitState.HELD, "why", chunk="#2")]
    buckets = sort_findings({"first": {"a.py": {"E1": 1}}, "last": {"a.py": {"E1": 1}}}, units, [])
    assert (buckets.held, buckets.open) == ({"why": 1}, {})


def test_before_anything_was_merged_the_newest_check_is_the_first() -> None:
    buckets = sort_findings({"first": {"a.py": {"E1": 2}}}, [unit("a.py", {"E1": 2})], [])
    assert (buckets.fixed, sum(buckets.open.values())) == (0, 2)
