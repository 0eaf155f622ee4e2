"""Findings before and after a change: what moved, what stayed, what is new."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sweeper.backlog.fingerprint import compare, fingerprint, follow, line_hashes, normalise, remaining_of, stamp
from sweeper.records import Finding


def at(line: int, rule: str = "R1", message: str = "m", path: str = "a.py", column: int = 1) -> Finding:
    return Finding(path, line, column, rule, message)


def stamped(source: bytes, *findings: Finding) -> tuple[Finding, ...]:
    return stamp(findings, {"a.py": line_hashes(source)})


def test_d15_shifted_findings_are_not_new() -> None:
    lines = [b"line %d" % n for n in range(1, 41)]
    before = stamped(b"\n".join(lines), at(10), at(20), at(30))
    edited = [*lines[:9], b"fixed", b"inserted", b"inserted", *lines[10:]]
    after = stamped(b"\n".join(edited), at(22), at(32))
    difference = compare(before, after)
    assert [f.line for f in difference.gone] == [10]
    assert [f.line for f in difference.remaining] == [22, 32]
    assert difference.new == ()


def test_d15_a_phantom_on_another_line_is_new() -> None:
    before = stamped(b"a\nb\nc", at(1))
    after = stamped(b"a\nb\nc", at(1), at(3))
    assert [f.line for f in compare(before, after).new] == [3]


def test_d15_identical_lines_are_told_apart_by_occurrence() -> None:
    source = b"x\nx\nx"
    before = stamped(source, at(1), at(2), at(3))
    difference = compare(before, stamped(source, at(1), at(3)))
    assert (len(difference.gone), len(difference.remaining), len(difference.new)) == (1, 2, 0)


def test_an_edited_line_that_still_has_its_finding_remains() -> None:
    before = stamped(b"value = 1", at(1, "E501", "Line too long (130 > 120)"))
    after = stamped(b"renamed = 1", at(1, "E501", "Line too long (125 > 120)"))
    difference = compare(before, after)
    assert (difference.gone, len(difference.remaining), difference.new) == ((), 1, ())


def test_a_finding_of_the_same_rule_about_something_else_is_new() -> None:
    before = stamped(b"import os", at(1, "F401", "`os` imported but unused"))
    after = stamped(b"import sys", at(1, "F401", "`sys` imported but unused"))
    difference = compare(before, after)
    assert ([f.message for f in difference.gone], [f.message for f in difference.new]) == (
        ["`os` imported but unused"],
        ["`sys` imported but unused"],
    )


def test_a22_fixes_that_fight_each_other_show_as_new() -> None:
    before = stamped(b"class A:", at(1, "needs-X", "X is missing"))
    after = stamped(b"class A: X", at(1, "no-X", "X is not allowed"))
    difference = compare(before, after)
    assert ([f.rule for f in difference.gone], [f.rule for f in difference.new]) == (["needs-X"], ["no-X"])
    back = compare(after, before)
    assert ([f.rule for f in back.gone], [f.rule for f in back.new]) == (["no-X"], ["needs-X"])


def test_messages_are_normalised() -> None:
    assert normalise("redefinition of `x1` from line 12") == "redefinition of `x1` from line #"
    assert normalise("see /home/u/repo/a/b.py:3") == normalise("see /srv/other/repo/a/b.py:44")
    assert normalise("see C:\\work\\a\\b.py") == "see b.py"
    assert normalise('`/etc/x/y` is fixed at "10"') != normalise('`/etc/x/z` is fixed at "10"')
    assert normalise('use "10"') != normalise('use "11"')
    assert normalise("a and/or b") == "a and/or b"
    assert normalise("too complex (12 > 10)") == normalise("too complex (11 > 10)")
    assert normalise("use utf8") == "use utf8"


def test_indentation_and_line_ends_do_not_matter() -> None:
    assert line_hashes(b"  x = 1\r\ny\r\n") == line_hashes(b"x = 1  \ny\n")
    assert line_hashes(b"a\x0cb\n")[0] != line_hashes(b"a\n")[0]


def test_a_line_beyond_the_file_has_a_fingerprint() -> None:
    (found,) = stamped(b"x", at(99))
    assert found.fingerprint == fingerprint(at(0), "")


FINDINGS = st.lists(
    st.builds(
        at,
        st.integers(1, 6),
        st.sampled_from(["R1", "R2"]),
        st.sampled_from(["m", "n 3", "`q`"]),
        st.sampled_from(["a.py", "b.py"]),
    ),
    max_size=12,
)
SOURCES = st.lists(st.sampled_from([b"x", b"y", b"z"]), min_size=6, max_size=6).map(b"\n".join)


@given(FINDINGS, FINDINGS, SOURCES, SOURCES)
def test_compare_accounts_for_every_finding(
    before: list[Finding], after: list[Finding], old: bytes, new: bytes
) -> None:
    first = stamp(before, dict.fromkeys(("a.py", "b.py"), line_hashes(old)))
    second = stamp(after, dict.fromkeys(("a.py", "b.py"), line_hashes(new)))
    difference = compare(first, second)
    assert Counter(difference.remaining) + Counter(difference.new) == Counter(second)
    assert len(difference.gone) + len(difference.remaining) == len(first)
    assert not Counter(difference.gone) - Counter(first)

    def counted(findings: tuple[Finding, ...]) -> Counter[tuple[str, str, str]]:
        return Counter((f.path, f.rule, normalise(f.message)) for f in findings)

    assert counted(difference.new) == counted(second) - counted(first)
    assert compare(tuple(reversed(first)), tuple(reversed(second))) == difference


@given(FINDINGS, SOURCES, st.integers(1, 5))
def test_moving_every_line_changes_nothing(found: list[Finding], source: bytes, by: int) -> None:
    moved = [replace(f, line=f.line + by) for f in found]
    before = stamp(found, dict.fromkeys(("a.py", "b.py"), line_hashes(source)))
    after = stamp(moved, dict.fromkeys(("a.py", "b.py"), line_hashes(b"# new\n" * by + source)))
    difference = compare(before, after)
    assert (difference.gone, difference.new) == ((), ())
    assert Counter(f.fingerprint for f in before) == Counter(f.fingerprint for f in after)


def test_findings_of_another_chunk_are_not_what_remains_of_this_one() -> None:
    source = b"\n".join(b"line %d" % n for n in range(1, 7))
    before = stamped(source, *(at(line) for line in range(1, 7)))
    own, others = before[:3], before[3:]
    assert remaining_of(own, others, stamped(b"ok\nok\nok\n" + source[21:], at(4), at(5), at(6))) == []
    # one of its lines was edited, and is as bad as before
    edited = stamped(b"ok\nedited\nok\n" + source[21:], at(2), at(4), at(5), at(6))
    assert [f.line for f in remaining_of(own, others, edited)] == [2]
    # another chunk's findings were fixed instead of its own
    instead = stamped(source[:21] + b"ok\nok\nok", at(1), at(2), at(3))
    assert [f.line for f in remaining_of(own, others, instead)] == [1, 2, 3]


def test_of_equal_lines_those_that_are_left_are_the_others() -> None:
    before = stamped(b"x\n" * 6, *(at(line) for line in range(1, 7)))
    after = stamped(b"ok\n" * 3 + b"x\n" * 3, *(at(line) for line in range(4, 7)))
    assert remaining_of(before[:3], before[3:], after) == []
    assert len(remaining_of(before[:3], before[3:], stamped(b"x\n" * 5, *(at(n) for n in range(1, 6))))) == 2


MARKED = st.lists(
    st.builds(
        lambda line, rule, text: Finding("a.py", line, 1, rule, "m", fingerprint=text),
        st.integers(1, 30),
        st.sampled_from(["R1", "R2"]),
        st.sampled_from(["s", "t", "u", "v"]),
    ),
    max_size=20,
)


@given(MARKED, MARKED, st.data())
def test_what_remains_of_a_chunk_is_counted_whatever_the_others_have(
    own: list[Finding], others: list[Finding], data: st.DataObject
) -> None:
    kept = own[: data.draw(st.integers(0, len(own)))]
    down = data.draw(st.integers(0, 50))
    after = [replace(f, line=f.line + down) for f in (*kept, *others)]
    assert len(remaining_of(own, others, data.draw(st.permutations(after)))) == len(kept)
    assert remaining_of(own, others, others) == []


@given(MARKED, MARKED)
def test_following_gives_every_finding_one_place(known: list[Finding], now: list[Finding]) -> None:
    followed, left = follow([(f, index % 3) for index, f in enumerate(known)], now)
    assert Counter([*left, *(f for found in followed.values() for f in found)]) == Counter(now)
    assert [len(found) for found in follow([(f, 0) for f in now], now)[0].values()] == ([len(now)] if now else [])
    for whose, found in followed.items():
        assert len(found) <= sum(index % 3 == whose for index in range(len(known)))
