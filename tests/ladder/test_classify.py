"""Evidence -> class."""

from __future__ import annotations

import pytest

from sweeper.ladder.classify import Classified, after_verify, before_verify, common_failure, exchanged, swaps
from sweeper.records import Evidence, Finding, Kind, Outcome
from sweeper.sandbox.contract import Clock, Facts


@pytest.mark.parametrize(
    ("facts", "kind", "reason"),
    [
        (Facts(0), Kind.NO_CHANGE, "no change"),
        (Facts(1), Kind.NO_CHANGE, "no change"),
        (Facts(2), Kind.NO_CHANGE, "exit 2"),
        (Facts(126), Kind.REFUSED, "agent cannot start"),
        (Facts(127), Kind.REFUSED, "agent cannot start"),
        (Facts(None, signal=11), Kind.UNCLASSIFIED, "signal 11"),
        (Facts(139), Kind.UNCLASSIFIED, "signal 11"),
        (Facts(None, signal=9, clock=Clock.WALL), Kind.TIMED_OUT, "wall"),
        (Facts(None, signal=9, clock=Clock.IDLE), Kind.TIMED_OUT, "idle"),
        (Facts(None, signal=9), Kind.TRANSIENT, "the sandbox was killed from outside"),
        (Facts(1, disk_full=True), Kind.NO_CHANGE, "disk full"),
        (Facts(None, signal=9, oom=True), Kind.TRANSIENT, "memory"),
        (Facts(137, oom=True), Kind.TRANSIENT, "memory"),
        (Facts(0, oom=True), Kind.TRANSIENT, "memory"),
    ],
)
def test_an_end_without_a_change(facts: Facts, kind: Kind, reason: str) -> None:
    assert before_verify(facts, changed=False) == Classified(kind, reason)


@pytest.mark.parametrize(
    "facts",
    [
        Facts(0),
        Facts(1),
        Facts(127),
        Facts(None, signal=9, clock=Clock.WALL),
        Facts(None, signal=11),
        Facts(0, oom=True),
        Facts(1, disk_full=True),
    ],
)
def test_a_change_is_always_judged(facts: Facts) -> None:
    assert before_verify(facts, changed=True) is None


def test_c11_a_kill_is_not_read_as_out_of_memory() -> None:
    assert before_verify(Facts(137), changed=False) == Classified(Kind.UNCLASSIFIED, "signal 9")


def test_out_of_memory_with_a_torn_change_is_tried_again() -> None:
    assert before_verify(Facts(None, signal=9, oom=True), changed=True) == Classified(Kind.TRANSIENT, "memory")


def verified(
    *,
    before: int = 3,
    after: int = 0,
    new: int = 0,
    broken: bool = False,
    unparsable: bool = False,
    clock: Clock | None = None,
) -> Classified:
    return after_verify(
        broken=broken, unparsable=unparsable, targeted_before=before, targeted_after=after, new=new, clock=clock
    )


def test_what_the_verifier_saw() -> None:
    assert verified() == Classified(Kind.FIXED)
    assert verified(after=1) == Classified(Kind.PARTIAL)
    assert verified(after=3) == Classified(Kind.NOT_FIXED, "findings remain")
    assert verified(new=1) == Classified(Kind.NOT_FIXED, "new findings")
    assert verified(after=1, new=1) == Classified(Kind.NOT_FIXED, "new findings")
    assert verified(broken=True) == Classified(Kind.NOT_FIXED, "the check broke")
    assert verified(unparsable=True) == Classified(Kind.NOT_FIXED, "does not parse")


def test_d16_what_was_there_when_a_clock_ran_out_counts() -> None:
    assert verified(clock=Clock.WALL) == Classified(Kind.FIXED)
    assert verified(after=1, clock=Clock.WALL) == Classified(Kind.PARTIAL)
    assert verified(after=3, clock=Clock.IDLE) == Classified(Kind.TIMED_OUT, "idle")
    assert verified(after=0, new=2, clock=Clock.WALL) == Classified(Kind.TIMED_OUT, "wall")


def test_a22_rules_that_were_exchanged_are_the_reason() -> None:
    kind, reason = after_verify(
        broken=False,
        unparsable=False,
        targeted_before=2,
        targeted_after=0,
        new=1,
        swapped=swaps([found("D203", 7), found("D211", 7), found("E1", 90)], [found("D211", 8)]),
    )
    assert kind is Kind.NOT_FIXED
    assert exchanged(reason) == {"D203/D211"}
    assert exchanged("new findings") == frozenset()


def test_only_what_comes_near_a_mended_finding_is_taken_for_its_exchange() -> None:
    gone = [found("B009", 700), found("UP017", 118), found("I001", 118, "b.py")]
    assert swaps(gone, [found("PLW0127", 121)]) == {"PLW0127/UP017"}
    assert swaps(gone, [found("PLW0127", 300)]) == set()


def test_a_rule_that_had_nothing_to_do_with_a_new_finding_is_no_partner_in_a_conflict() -> None:
    """`fdopen(` became `open(`, so an import is unused now; that a set lost its double in between tells nothing."""
    gone = [found("UP020", 14), found("B033", 8)]
    new = [found("F401", 3)]
    assert swaps(gone, new) == set()
    assert swaps([found("B033", 5), found("UP020", 4)], new) == {"F401/UP020"}
    rules = {one.rule for one in new}
    came = after_verify(broken=False, unparsable=False, targeted_before=2, targeted_after=0, new=1, rules=rules)
    assert came == Classified(Kind.NOT_FIXED, "new findings: F401")


def found(rule: str, line: int, path: str = "a.py") -> Finding:
    return Finding(path, line, 1, rule, "bad")


def ended(exit_code: int, kind: Kind = Kind.NO_CHANGE, rung: int = 0) -> Outcome:
    return Outcome("u", 1, rung, kind, "base", evidence=Evidence(exit_code=exit_code, reason=f"exit {exit_code}"))


def test_f09_the_same_crash_of_the_first_units_is_noticed() -> None:
    assert "exit 2" in common_failure([ended(2)] * 5)
    assert common_failure([ended(2)] * 4) == ""
    assert common_failure([*[ended(2)] * 4, ended(3)]) == ""
    assert common_failure([ended(1)] * 5) == "", "findings that the fixer cannot mend are no crash"
    assert common_failure([ended(2, Kind.NOT_FIXED)] * 5) == ""
    assert common_failure([ended(2), *[ended(2)] * 4, ended(0)]) != "", "later outcomes do not matter"
