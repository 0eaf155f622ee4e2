"""Findings become units of disjoint paths; everything else has a reason."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.backlog.partition import FileFacts, Partitioned, file_facts, partition, unit_key
from sweeper.records import BaseEntry, Finding, Listing, Partition, Severity, SkipReason

FILE = BaseEntry(0o100644, "0" * 40)
LINK = BaseEntry(0o120000, "0" * 40)
SUBMODULE = BaseEntry(0o160000, "0" * 40)


def listing(*paths: str, **special: BaseEntry) -> Listing:
    return {os.fsencode(path): FILE for path in paths} | {os.fsencode(path): entry for path, entry in special.items()}


def found(path: str, count: int = 1, rule: str = "R1", start: int = 1) -> list[Finding]:
    return [Finding(path, line, 1, rule, "m") for line in range(start, start + count)]


def parted(findings: list[Finding], tree: Listing, kind: str = "file", most: int = 40, **more: object) -> Partitioned:
    facts = more.pop("facts", {})
    return partition(findings, tree, facts, sweep="s", kind=kind, max_findings=most, **more)  # type: ignore[arg-type]


def test_by_file_most_findings_first() -> None:
    result = parted([*found("a.py"), *found("b.py", 3), *found("c.py", 2)], listing("a.py", "b.py", "c.py"))
    assert [unit.title for unit in result.units] == ["b.py", "c.py", "a.py"]
    assert [unit.paths for unit in result.units] == [("b.py",), ("c.py",), ("a.py",)]
    assert (result.skips, result.deferred) == ((), 0)


def titles(result: Partitioned) -> list[tuple[str, int]]:
    return [(unit.title, len(unit.findings)) for unit in result.units]


def test_a_large_file_is_one_chunk_a_round_in_line_order() -> None:
    findings = [*found("a.py", 25), *found("a.py", 20, "R2", start=26), *found("b.py")]
    result = parted(findings, listing("a.py", "b.py"), most=20)
    assert titles(result) == [("a.py #1", 20), ("b.py", 1)]
    assert [(unit.title, unit.lines, first) for unit, first in result.waiting] == [
        ("a.py #2", (21, 40), "a.py #1"),
        ("a.py #3", (41, 45), "a.py #1"),
    ]
    assert (result.deferred, result.turns) == (25, 3)
    first = result.units[0]
    assert (first.lines, result.units[1].lines) == ((1, 20), None)
    held = parted(findings, listing("a.py", "b.py"), most=20, held={first.key})
    assert titles(held) == [("a.py #1", 20), ("a.py #2", 20), ("b.py", 1)]
    assert held.deferred == 5


def test_findings_of_one_line_are_never_cut_apart() -> None:
    crowded = [Finding("a.py", 7, column, "R", "m") for column in range(1, 8)]
    result = parted([*found("a.py", 9), *crowded], listing("a.py"), most=5)
    units = [*result.units, *(unit for unit, _ in result.waiting)]
    assert sorted(unit.lines or () for unit in units) == [(1, 5), (6, 6), (7, 7), (8, 9)]
    assert [len(unit.findings) for unit in units] == [5, 1, 8, 2]
    nowhere = [Finding("a.py", 0, 0, "R", str(number)) for number in range(7)]
    lineless = parted(nowhere, listing("a.py"), most=5)
    assert (titles(lineless), lineless.deferred, lineless.units[0].lines) == ([("a.py #1", 5)], 2, None)


def test_a_chunk_stays_what_it_is_when_those_before_it_are_done() -> None:
    findings = [replace(f, fingerprint=str(f.line)) for f in found("a.py", 12)]
    result = parted(findings, listing("a.py"), most=4)
    first, second, third = [*result.units, *(unit for unit, _ in result.waiting)]
    # the first is fixed but for its last finding, the second waits for a human, and all lines have moved
    left = [replace(f, line=f.line + 30) for f in findings[3:]]
    then = parted(left, listing("a.py"), most=4, held={second.key}, standing=(third, second, first))
    by_key = {unit.key: unit for unit in (*then.units, *(unit for unit, _ in then.waiting))}
    assert [len(by_key[unit.key].findings) for unit in (first, second, third)] == [1, 4, 4]
    assert by_key[second.key].lines == (35, 38)
    assert titles(then) == [("a.py #2", 4), ("a.py #1", 1)]
    # with the first settled, what else there is takes its number
    more = [*left[1:], *(Finding("a.py", line, 1, "R9", "m", fingerprint=f"new {line}") for line in range(90, 92))]
    last = parted(more, listing("a.py"), most=4, held={second.key}, standing=(third, second))
    assert titles(last) == [("a.py #2", 4), ("a.py #3", 4)]
    assert [(unit.title, len(unit.findings)) for unit, _ in last.waiting] == [("a.py #1", 2)]


def test_a_chunk_of_another_partition_or_size_is_cut_anew() -> None:
    findings = found("p/a.py", 12)
    (first, *_) = parted(findings, listing("p/a.py"), most=4).units
    assert [u.title for u in parted(findings, listing("p/a.py"), "directory", standing=(first,)).units] == ["p/"]
    assert titles(parted(findings, listing("p/a.py"), most=2, standing=(first,))) == [("p/a.py #1", 2)]
    assert titles(parted(findings, listing("p/a.py"), most=2, standing=(first,), held={first.key}))[0][1] == 4
    assert titles(parted(findings, listing("p/a.py"), most=40)) == [("p/a.py", 12)]


def test_by_owner_and_what_nobody_owns() -> None:
    owners = {"a.py": ("@x", "@y"), "b.py": ("@y", "@x"), "c.py": ("@z",), "d.py": ()}
    findings = [*found("a.py", 3), *found("b.py", 3), *found("c.py", 2), *found("d.py"), *found("e.py")]
    tree = listing(*owners, "e.py")
    result = parted(findings, tree, "owner", owners=owners)
    assert [(unit.title, unit.paths) for unit in result.units] == [
        ("@x @y", ("a.py", "b.py")),
        ("(no owner)", ("d.py", "e.py")),
        ("@z", ("c.py",)),
    ]
    small = parted(findings, tree, "owner", owners=owners, most=3)
    assert [(unit.title, unit.paths) for unit in small.units][:2] == [("@x @y #1", ("a.py",)), ("@x @y #2", ("b.py",))]


def test_by_directory_keeps_files_whole() -> None:
    findings = [*found("p/a.py", 3), *found("p/b.py", 3), *found("p/c.py", 3), *found("p/q/d.py"), *found("top.py")]
    tree = listing("p/a.py", "p/b.py", "p/c.py", "p/q/d.py", "top.py")
    result = parted(findings, tree, "directory", most=6)
    assert [(unit.title, unit.paths) for unit in result.units] == [
        ("p/ #1", ("p/a.py", "p/b.py")),
        ("p/ #2", ("p/c.py",)),
        (".", ("top.py",)),
        ("p/q/", ("p/q/d.py",)),
    ]
    assert result.deferred == 0


def test_by_rule_only_disjoint_units_in_one_round() -> None:
    findings = [*found("a.py", 2, "R1"), *found("b.py", 2, "R1"), *found("a.py", 3, "R2"), *found("c.py", 1, "R3")]
    result = parted(findings, listing("a.py", "b.py", "c.py"), "rule")
    assert [(unit.title, unit.paths) for unit in result.units] == [("R1", ("a.py", "b.py")), ("R3", ("c.py",))]
    assert result.deferred == 3


def test_duplicates_are_one_finding() -> None:
    mild = Finding("a.py", 1, 1, "R", "m", Severity.WARNING)
    severe = Finding("a.py", 1, 1, "R", "m", Severity.ERROR)
    result = parted([mild, severe, mild], listing("a.py"))
    assert result.units[0].findings == (severe,)


def test_keys_are_hashes_over_every_part() -> None:
    parts = ("s", ".", Partition.FILE, "a.py", 1)
    changed = [("t", *parts[1:]), ("s", "p", *parts[2:]), ("s", ".", Partition.RULE, "a.py", 1), (*parts[:4], 2)]
    keys = {unit_key(*parts), *(unit_key(*other) for other in changed)}
    assert len(keys) == 5
    assert all(len(key) == 32 and set(key) <= set("0123456789abcdef") for key in keys)
    assert unit_key("ab", ".", Partition.RULE, "c", 1) != unit_key("a", ".", Partition.RULE, "bc", 1)
    assert unit_key("s", "./", Partition.FILE, "a.py", 1) == unit_key("s", "", Partition.FILE, "a.py", 1)
    unit_key("s", ".", Partition.FILE, "a\udcff.py", 1)


@pytest.mark.parametrize(
    ("path", "facts", "reason"),
    [
        ("/usr/lib/x.py", FileFacts(), SkipReason.OUTSIDE),
        ("../../registry/x.rs", FileFacts(), SkipReason.OUTSIDE),
        ("a/../b.py", FileFacts(), SkipReason.OUTSIDE),
        ("", FileFacts(), SkipReason.NO_LOCATION),
        ("nosuch.py", FileFacts(), SkipReason.MISSING),
        ("\ud800.py", FileFacts(), SkipReason.MISSING),
        ("a.py/b.py", FileFacts(), SkipReason.MISSING),
        ("sub/inside.py", FileFacts(), SkipReason.SUBMODULE),
        ("sub", FileFacts(), SkipReason.SUBMODULE),
        ("link", FileFacts(), SkipReason.LINK),
        ("link/inside.py", FileFacts(), SkipReason.LINK),
        ("node_modules/x.js", FileFacts(ignored=True), SkipReason.IGNORED),
        ("a.py", FileFacts(ignored=True), SkipReason.IGNORED),
        ("a.py", FileFacts(generated=True), SkipReason.GENERATED),
        ("a.py", FileFacts(binary=True), SkipReason.BINARY),
        ("a.py", FileFacts(size=5_000_001), SkipReason.TOO_LARGE),
    ],
)
def test_a23_classified_before_dispatch(path: str, facts: FileFacts, reason: SkipReason) -> None:
    tree = listing("a.py", sub=SUBMODULE, link=LINK)
    result = parted(found(path, 2), tree, facts={path: facts})
    assert result.units == ()
    assert [(skip.path, skip.reason, skip.findings) for skip in result.skips] == [(path, reason, 2)]


@pytest.mark.parametrize(
    "head",
    [
        b"// Code generated by x. DO NOT EDIT.\npackage p\n",
        b"#!/usr/bin/env python\n# @generated by tool\n",
        b"# This file is autogenerated, do not edit.\n",
        b"/* Generated by bison 3.8. Do not modify */\n",
    ],
)
def test_a23_generated_headers(head: bytes) -> None:
    assert file_facts(head, len(head)).generated
    assert not file_facts(head, len(head), {"linguist-generated": "unset"}).generated
    assert not file_facts(b"x = 1\n" * 20 + head, 999).generated


@pytest.mark.parametrize(
    "head", [b"# how code is generated\n", b"user@generated.example\n", b"# DO NOT EDIT below\n", b""]
)
def test_no_generated_header(head: bytes) -> None:
    assert not file_facts(head, len(head)).generated
    assert file_facts(head, len(head), {"linguist-generated": "set"}).generated


def test_binary_by_its_head() -> None:
    assert file_facts(b"PK\0\1", 4).binary
    assert not file_facts(b"x" * 8000 + b"\0", 8001).binary


PATHS = ["a.py", "b.py", "p/c.py", "p/d.py", "p/q/e.py", "gen.py", "gone.py", "/out.py"]
TREE = listing("a.py", "b.py", "p/c.py", "p/d.py", "p/q/e.py", "gen.py")
FACTS = {"gen.py": FileFacts(generated=True)}
FINDINGS = st.lists(
    st.builds(
        Finding,
        st.sampled_from(PATHS),
        st.integers(0, 9),
        st.just(1),
        st.sampled_from(["R1", "R2", ""]),
        st.sampled_from(["m", "n"]),
        st.sampled_from(list(Severity)),
    ),
    max_size=60,
)


@given(FINDINGS, st.sampled_from(list(Partition)), st.integers(1, 7), st.randoms(use_true_random=False), st.booleans())
def test_every_finding_is_in_exactly_one_place(
    findings: list[Finding], kind: Partition, most: int, random: object, hold: bool
) -> None:
    def part(items: list[Finding], held: frozenset[str] = frozenset()) -> Partitioned:
        return partition(items, TREE, FACTS, sweep="s", kind=kind, max_findings=most, held=held)

    first = part(findings)
    held = frozenset(unit.key for unit in first.units[:2]) if hold else frozenset()
    result = part(findings, held)
    distinct = {(f.path, f.line, f.column, f.rule, f.message) for f in findings}
    in_units = Counter((f.path, f.line, f.column, f.rule, f.message) for unit in result.units for f in unit.findings)
    assert all(count == 1 for count in in_units.values())
    assert in_units.keys() <= distinct
    assert len(in_units) + sum(skip.findings for skip in result.skips) + result.deferred == len(distinct)
    active = [path for unit in result.units if unit.key not in held for path in unit.paths]
    assert len(active) == len(set(active))
    every = [*result.units, *(unit for unit, _ in result.waiting)]
    assert len({unit.key for unit in every}) == len(every)
    places = Counter((f.path, f.line) for unit in every for f in {f.line: f for f in unit.findings}.values())
    assert all(count == 1 or not line or kind is Partition.RULE for (_, line), count in places.items())
    for unit in result.units:
        assert 0 < len(unit.findings) <= most or len({(f.path, f.line) for f in unit.findings}) == 1
        assert unit.paths == tuple(sorted({f.path for f in unit.findings}))
    sizes = [len(unit.findings) for unit in result.units]
    assert sizes == sorted(sizes, reverse=True)
    shuffled = list(findings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert part(shuffled, held) == result
    if first.deferred:
        assert first.units


def a_file(lines: list[tuple[int, str, str]]) -> list[Finding]:
    """Findings of one file: (line, rule, the line's text)."""
    return list(dict.fromkeys(Finding("a.py", line, 1, rule, "m", fingerprint=text) for line, rule, text in lines))


IN_ONE_FILE = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from(["R1", "R2"]), st.sampled_from(["s", "t", "u", "v"])), max_size=40
).map(a_file)


@given(IN_ONE_FILE, st.integers(1, 6))
def test_chunks_of_a_file_are_ranges_of_lines(findings: list[Finding], most: int) -> None:
    result = parted(findings, listing("a.py"), most=most)
    units = [*result.units, *(unit for unit, _ in result.waiting)]
    ranges = [(unit.findings[0].line, unit.findings[-1].line) for unit in units]
    assert ranges == sorted(ranges)
    assert all(before[1] < after[0] for before, after in pairwise(ranges))
    assert result.turns == max(1, len(units))


@given(IN_ONE_FILE, st.integers(1, 6), st.data())
def test_every_chunk_keeps_what_is_left_of_it_while_the_others_come_and_go(
    findings: list[Finding], most: int, data: st.DataObject
) -> None:
    findings = [replace(f, fingerprint=f"{f.line} {f.rule}") for f in findings]
    before = parted(findings, listing("a.py"), most=most)
    standing = [*before.units, *(unit for unit, _ in before.waiting)]
    if len(standing) < 2:
        return
    gone = data.draw(st.sets(st.sampled_from(findings)))
    held = data.draw(st.sets(st.sampled_from([unit.key for unit in standing])))
    down = data.draw(st.integers(-5, 50))
    left = [replace(f, line=f.line + down + 5) for f in findings if f not in gone]
    after = parted(left, listing("a.py"), most=most, standing=standing, held=held)
    expected = {u.key: {f.fingerprint for f in u.findings if f not in gone} for u in standing}
    got = {u.key: {f.fingerprint for f in u.findings} for u in (*after.units, *(u for u, _ in after.waiting))}
    assert got == {key: marks for key, marks in expected.items() if marks}
    open_ones = [unit for unit in after.units if unit.key not in held]
    assert len(open_ones) == bool({unit.key for unit in standing if expected[unit.key]} - held)
