"""Printed paths against a tree: root, repository, checkouts, links, submodules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.backlog.paths import Resolver, entry_reason, foreign_checkout, to_root
from sweeper.records import BaseEntry, SkipReason
from sweeper.sandbox.contract import WORK
from tests.backlog.samples import tree

TREE = tree("a.py", "pkg/a.py", "pkg/b c.py", "pkg/sub/x.py", "odd\\name.py", "pk%20g/y.py", "a\udcff.py")


@pytest.mark.parametrize(
    ("printed", "root", "path"),
    [
        ("a.py", ".", "a.py"),
        ("./a.py", ".", "a.py"),
        (".//pkg/./a.py", ".", "pkg/a.py"),
        ("a.py", "pkg", "pkg/a.py"),
        ("../a.py", "pkg", "a.py"),
        ("pkg/a.py", "pkg", "pkg/a.py"),
        ("pkg/sub/x.py", "pkg", "pkg/sub/x.py"),
        (f"{WORK}/pkg/a.py", "pkg", "pkg/a.py"),
        (f"../..{WORK}/a.py", ".", "a.py"),
        (f"file://{WORK}/pkg/b%20c.py", ".", "pkg/b c.py"),
        ("file:pkg/b%20c.py", ".", "pkg/b c.py"),
        ("pk%20g/y.py", ".", "pk%20g/y.py"),
        ("odd\\name.py", ".", "odd\\name.py"),
        ("pkg\\sub\\x.py", ".", "pkg/sub/x.py"),
        ("a\udcff.py", ".", "a\udcff.py"),
    ],
)
def test_a16_resolved_against_root_then_repository(printed: str, root: str, path: str) -> None:
    assert Resolver(root=root, listing=TREE).resolve(printed) == (path, None)


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("../../../../proj/main.go", SkipReason.OUTSIDE),
        ("/usr/lib/python3/x.py", SkipReason.OUTSIDE),
        (WORK, SkipReason.OUTSIDE),
        (f"{WORK}shop/a.py", SkipReason.OUTSIDE),
        ("C:\\other\\a.py", SkipReason.OUTSIDE),
        ("https://host/a.py", SkipReason.OUTSIDE),
        ("nosuch.py", SkipReason.MISSING),
        ("\ud800", SkipReason.MISSING),
        ("", SkipReason.NO_LOCATION),
        ("<stdin>", SkipReason.NO_LOCATION),
    ],
)
def test_what_does_not_resolve_has_a_reason(printed: str, reason: SkipReason) -> None:
    assert Resolver(root=".", listing=TREE).resolve(printed)[1] is reason


def test_without_a_tree_paths_resolve_by_name() -> None:
    resolver = Resolver(root="pkg", listing=None)
    assert resolver.resolve("x.py") == ("pkg/x.py", None)
    assert resolver.resolve("/elsewhere/x.py")[1] is SkipReason.OUTSIDE


def test_links_and_submodules_resolve_to_themselves() -> None:
    listing = {**TREE, b"mod": BaseEntry(0o160000, "0"), b"ln": BaseEntry(0o120000, "0")}
    assert Resolver(root=".", listing=listing).resolve("mod/x.py") == ("mod/x.py", None)
    assert entry_reason("mod/x.py", listing) is SkipReason.SUBMODULE
    assert entry_reason("ln", listing) is SkipReason.LINK


def test_a_foreign_checkout_needs_one_explanation() -> None:
    printed = ["/b/repo/a.py", "/b/repo/pkg/a.py", "/b/repo/pkg/sub/x.py", "/usr/lib/other.py"]
    assert foreign_checkout(printed, TREE) == ("/b/repo", "")
    assert foreign_checkout(["/b/repo/pkg/a.py"], TREE) == ("", "")  # pkg/a.py of /b/repo, or a.py of /b/repo/pkg
    assert foreign_checkout(["D:\\r\\pkg\\sub\\x.py"], TREE) == ("D:/r", "")
    assert foreign_checkout(["/usr/lib/other.py", "a.py"], TREE) == ("", "")
    elsewhere = ["/usr/lib/a.py", *(f"/usr/lib/{number}.py" for number in range(5))]
    assert foreign_checkout(elsewhere, TREE) == ("", "")  # one name in common is chance


NAMES = st.lists(st.sampled_from(["pkg", "a.py", "..", ".", "x", "sub"]), min_size=1, max_size=5).map("/".join)


@given(NAMES | st.text(max_size=20), st.sampled_from([".", "pkg", "pkg/sub"]))
def test_a_resolved_path_is_in_the_tree(printed: str, root: str) -> None:
    path, reason = Resolver(root=root, listing=TREE).resolve(printed)
    assert (reason is None) == (path.encode("utf-8", "surrogateescape") in TREE if reason is None else False)


@pytest.mark.parametrize(
    ("path", "root", "seen"), [("a.py", ".", "a.py"), ("p/a.py", "p", "a.py"), ("b.py", "p", "../b.py")]
)
def test_to_root(path: str, root: str, seen: str) -> None:
    assert to_root(path, root) == seen


def test_b12_a_path_whose_odd_bytes_a_linter_replaced() -> None:
    """Most print U+FFFD for bytes that are no Unicode; it is the one path that prints so, or none."""
    resolver = Resolver(root="pkg", listing=tree("pkg/\udce9.py", "pkg/x\udce8", "pkg/x\udce9", "pkg/\ufffd/a.py"))
    assert resolver.resolve("\ufffd.py") == ("pkg/\udce9.py", None)
    assert resolver.resolve(f"{WORK}/pkg/\ufffd.py") == ("pkg/\udce9.py", None)
    assert resolver.resolve("\ufffd/a.py") == ("pkg/\ufffd/a.py", None)
    assert resolver.resolve("x\ufffd")[1] is SkipReason.MISSING
    assert Resolver(root=".", listing=None).resolve("\ufffd.py") == ("\ufffd.py", None)
