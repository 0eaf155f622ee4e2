"""Which changes are put together, and what an answer of the whole check proves of each."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.backlog.fingerprint import compare
from sweeper.records import Finding, Unit
from sweeper.verify.batch import (
    Answer,
    Footprint,
    Member,
    attribute,
    choose,
    footprint_of,
    independent,
    next_size,
    split,
)

PATHS = st.sampled_from(["a.py", "b.py", "lib/a.py", "lib/c.py", "lib", "pkg/__init__.py", "pkg/d.py", "main.go"])
TEXTS = st.sampled_from([b"", b"import a\n", b"x = 1\n", b"from lib import c\n", b"\xff\xfe", None])
CONTENTS = st.dictionaries(PATHS, TEXTS, min_size=1, max_size=3)


def unit(*paths: str, findings: tuple[Finding, ...] = ()) -> Unit:
    return Unit("0" * 32, "s", paths[0], paths, findings)


def footprint(path: str, text: bytes = b"") -> Footprint:
    return footprint_of(unit(path), {path: text})


FOOTPRINTS = CONTENTS.map(lambda contents: footprint_of(unit(*contents), contents))


@given(st.lists(FOOTPRINTS, min_size=1, max_size=12), st.integers(1, 8), st.integers(0, 60))
def test_a_batch_has_the_first_and_whoever_is_independent_in_order(
    waiting: list[Footprint], most: int, most_bytes: int
) -> None:
    chosen = choose(waiting, most, most_bytes)
    assert chosen[0] == 0
    assert all(a < b for a, b in pairwise(chosen))
    assert len(chosen) <= most
    assert sum(waiting[place].size for place in chosen) <= max(most_bytes, waiting[0].size)
    for place in chosen:
        assert all(independent(waiting[place], waiting[other]) for other in chosen if other != place)
    if len(chosen) < most:  # nobody who fits is left out
        for place in set(range(len(waiting))) - set(chosen):
            before = [other for other in chosen if other < place]
            fits = sum(waiting[other].size for other in before) + waiting[place].size <= most_bytes
            assert not fits or not all(independent(waiting[place], waiting[other]) for other in before)


@given(FOOTPRINTS, FOOTPRINTS)
def test_independence_has_no_direction_and_means_that_no_path_is_shared(one: Footprint, other: Footprint) -> None:
    assert independent(one, other) == independent(other, one)
    if independent(one, other):
        assert not one.paths & other.paths
        assert not any(a.startswith(f"{b}/") or b.startswith(f"{a}/") for a in one.paths for b in other.paths)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (footprint("pkg/shapes.py"), footprint("app.py", b"from pkg.shapes import area\n")),
        (footprint("pkg/shapes.py"), footprint("pkg/app.py", b"from . import shapes\n")),
        (footprint("src/shapes.ts"), footprint("src/app.ts", b'import { area } from "./shapes";\n')),
        (footprint("src/my-shapes.ts"), footprint("src/app.ts", b'import "./my-shapes";\n')),
        (footprint("src/shapes/index.ts"), footprint("app.ts", b'import { area } from "./src/shapes";\n')),
        (footprint("pkg/__init__.py"), footprint("pkg/deep/app.py", b"from .. import area\n")),
        (footprint("globals.d.ts"), footprint("src/app.ts", b"area(1);\n")),
        (footprint("src/lib.rs"), footprint("src/app.rs", b"use crate::area;\n")),
        (footprint("shapes.h"), footprint("app.c", b'#include "shapes.h"\n')),
        (footprint("geo/shapes.go"), footprint("geo/app.go", b"package geo\n")),
        (footprint("a"), footprint("a/b")),
    ],
)
def test_files_that_may_see_each_other_are_not_put_together(one: Footprint, other: Footprint) -> None:
    assert not independent(one, other)
    assert choose([one, other], 9) == (0,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (footprint("pkg/m1.py", b"import os\n"), footprint("pkg/m2.py", b"import os\n")),
        (footprint("geo/shapes.go"), footprint("web/app.go", b"package web\n")),
        (footprint("a/__init__.py"), footprint("b/app.py", b"import os\n")),
    ],
)
def test_files_that_say_nothing_of_each_other_are(one: Footprint, other: Footprint) -> None:
    assert independent(one, other)


A, B = (Finding(f"{name}.py", 1, 1, "BAD", "bad", fingerprint=name) for name in "ab")
ELSEWHERE = Finding("zz.py", 1, 1, "BAD", "bad", fingerprint="z")
MEMBERS = [Member(unit(f.path, findings=(f,)), frozenset({f.path, f"{f.path}i"})) for f in (A, B)]


def answered(*after: Finding, unread: frozenset[str] = frozenset()) -> Answer:
    return attribute(MEMBERS, compare([A, B, ELSEWHERE], after), after, unread)


@pytest.mark.parametrize(
    ("after", "unread", "answer"),
    [
        ((ELSEWHERE,), "", Answer()),
        ((ELSEWHERE, A), "", Answer(frozenset({0}))),
        ((ELSEWHERE, A, B), "", Answer(frozenset({0, 1}))),
        ((ELSEWHERE, Finding("b.py", 9, 1, "NEW", "new")), "", Answer(frozenset({1}))),
        ((ELSEWHERE, Finding("b.pyi", 9, 1, "NEW", "new")), "", Answer(frozenset({1}))),
        ((ELSEWHERE, Finding("yy.py", 9, 1, "NEW", "new")), "", Answer(unclear=True)),
        ((ELSEWHERE,), "a.py", Answer(frozenset({0}))),
        ((ELSEWHERE,), "yy.py", Answer(unclear=True)),
        ((), "", Answer(unclear=True)),
    ],
)
def test_clean_is_the_given_findings_gone_and_nothing_else_changed(
    after: tuple[Finding, ...], unread: str, answer: Answer
) -> None:
    assert answered(*after, unread=frozenset({unread} - {""})) == answer


def parts_checks(count: int, answer_of: Answer) -> int:
    """How many checks `count` members come to where every batch of two and more is answered so."""
    if count == 1:
        return 1
    suspects = frozenset(place for place in answer_of.suspects if place < count)
    return 1 + sum(parts_checks(len(part), answer_of) for part in split(count, Answer(suspects, not suspects)))


@given(st.integers(2, 40), st.frozensets(st.integers(0, 39)), st.booleans())
def test_everybody_is_judged_again_in_smaller_parts(count: int, suspects: frozenset[int], unclear: bool) -> None:
    answer = Answer(frozenset(place for place in suspects if place < count), unclear)
    parts = split(count, answer)
    if answer.clean:
        assert parts == ()
        return
    assert sorted(place for part in parts for place in part) == list(range(count))
    assert all(0 < len(part) < count for part in parts)
    assert all((place,) in parts for place in answer.suspects)
    assert parts_checks(count, answer) < 2 * count


@given(st.integers(2, 64), st.lists(st.sampled_from([Answer(), Answer(frozenset({0})), Answer(unclear=True)])))
def test_the_size_stays_within_its_bounds(most: int, answers: list[Answer]) -> None:
    size = most
    for answer in answers:
        size = next_size(size, most, answer)
        assert 2 <= size <= most
    assert next_size(most, most, Answer(unclear=True)) <= most
    assert next_size(2, most, Answer()) >= min(most, 2)
