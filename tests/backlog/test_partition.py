"""Findings become units of disjoint paths; everything else has a reason."""

from __future__ import annotations

import os
from collections import Counter

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


def test_a_large_file_is_one_chunk_a_round() -> None:
    findings = [*found("a.py", 25), *found("a.py", 20, "R2"), *found("b.py")]
    result = parted(findings, listing("a.py", "b.py"), most=20)
    assert [(unit.title, len(unit.findings)) for unit in result.units] == [("a.py", 20), ("b.py", 1)]
    assert result.deferred == 25
    first = result.units[0]
    assert first.rules == ("R1",)
    held = parted(findings, listing("a.py", "b.py"), most=20, held={first.key})
    assert [(unit.title, len(unit.findings)) for unit in held.units] == [("a.py", 20), ("a.py #2", 20), ("b.py", 1)]
    assert held.deferred == 5


def test_by_directory_keeps_files_whole() -> None:
    findings = [*found("p/a.py", 3), *found("p/b.py", 3), *found("p/c.py", 3), *found("p/q/d.py"), *found("top.py")]
    tree = listing("p/a.py", "p/b.py", "p/c.py", "p/q/d.py", "top.py")
    result = parted(findings, tree, "directory", most=6)
    assert [(unit.title, unit.paths) for unit in result.units] == [
        ("p/", ("p/a.py", "p/b.py")),
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
    assert len({unit.key for unit in result.units}) == len(result.units)
    for unit in result.units:
        assert 0 < len(unit.findings) <= most
        assert unit.paths == tuple(sorted({f.path for f in unit.findings}))
    sizes = [len(unit.findings) for unit in result.units]
    assert sizes == sorted(sizes, reverse=True)
    shuffled = list(findings)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert part(shuffled, held) == result
    if first.deferred:
        assert first.units
