"""Reading a layer, against a model: what a directory over a base must look like, and what is reported of it."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.records import BaseEntry, Change
from sweeper.sandbox.contract import EntryKind, LayerCaps
from sweeper.sandbox.holder import lay
from sweeper.sandbox.layer import Base, read_layer, refused
from sweeper.sandbox.seed import plan
from tests.sandbox.trees import blob_id

NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CONTENT = st.sampled_from([b"", b"1", b"2"])


def possible(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without paths that need another file to be a folder."""
    return {
        path: data for path, data in files.items() if not any(f"{path}/" == other[: len(path) + 1] for other in files)
    }


TREES = st.dictionaries(PATHS, CONTENT, max_size=8).map(possible)


def base_of(files: dict[str, bytes]) -> Base:
    return Base({os.fsencode(path): BaseEntry(0o100644, blob_id(data)) for path, data in files.items()})


def merged(lower: dict[str, bytes], upper: Path) -> dict[str, bytes]:
    """What an overlay of plain files, whiteouts and folders shows."""
    seen = dict(lower)
    for folder, folders, names in os.walk(upper):
        for name in [*names, *folders]:
            path = Path(folder, name)
            inside = str(path.relative_to(upper))
            mode = path.lstat().st_mode
            below = [each for each in seen if each.startswith(inside + "/")]
            if stat.S_ISDIR(mode):
                seen.pop(inside, None)
                continue
            for each in [*below, inside]:
                seen.pop(each, None)
            if stat.S_ISREG(mode):
                seen[inside] = path.read_bytes()
    return seen


@settings(max_examples=300, deadline=None)
@given(before=TREES, after=TREES)
def test_seeded_change_shows_the_tree_after_and_is_read_back(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    changes = [Change(path, None) for path in before if path not in after]
    changes += [Change(path, data) for path, data in after.items() if before.get(path) != data]
    base = base_of(before)
    folder = Path(tempfile.mkdtemp())
    fd = os.open(folder, os.O_RDONLY)
    try:
        items, body = plan(changes, base)
        lay(fd, items, body)
        assert merged(before, folder) == after
        layer = read_layer(fd, base, LayerCaps(), lambda path: True)
        again = read_layer(fd, base.patched(changes), LayerCaps(), lambda path: True)
    finally:
        os.close(fd)
        shutil.rmtree(folder)
    assert {os.fsdecode(e.path): e.data for e in layer.entries} == {change.path: change.data for change in changes}
    assert {e.kind for e in again.entries} <= {EntryKind.DELETED}
    assert again.entries == ()


@settings(max_examples=200, deadline=None)
@given(files=TREES, changes=st.dictionaries(PATHS, st.none() | CONTENT, max_size=5), folder=PATHS | st.just(""))
def test_patched_base_is_the_base_of_the_patched_tree(
    files: dict[str, bytes], changes: dict[str, bytes | None], folder: str
) -> None:
    after = {**files, **changes}
    left = {path: data for path, data in after.items() if data is not None}
    patched = base_of(files).patched([Change(path, data) for path, data in changes.items()])
    direct = base_of(left)
    for path in {*files, *changes}:
        assert patched.get(os.fsencode(path)) == direct.get(os.fsencode(path))
    assert sorted(patched.under(os.fsencode(folder))) == sorted(direct.under(os.fsencode(folder)))


def test_sha256_repositories() -> None:
    assert len(Base({b"a": BaseEntry(0o100644, "0" * 64)}).oid(b"x")) == 64
    assert Base({b"a": BaseEntry(0o100644, "0" * 40)}).oid(b"x") == blob_id(b"x")


@pytest.mark.parametrize(
    "name",
    [
        b".git", b".GIT", b".Git", b".git ", b".git.", b".git . .", b"git~1", b"GIT~1", b".git:stream",
        ".g\u200cit".encode(), "\ufeff.git".encode(), ".gi\u206at".encode(), b"a\\b", b"a\nb", b"a\x7fb", b"\x01",
    ],
)  # fmt: skip
def test_refused_names(name: bytes) -> None:
    assert refused(name)


@pytest.mark.parametrize(
    "name",
    [b".gitignore", b".github", b"git", b"a.git", b".gitmodules", "é".encode(), b"\xff", b" ", b"..a", b"git~10"],
)
def test_allowed_names(name: bytes) -> None:
    assert not refused(name)


@pytest.mark.parametrize("name", ["a\nb.py", "tab\t.py", "back\\slash.py", "d\x01/x.py"])
def test_b11_what_the_base_holds_under_an_odd_name_may_be_changed(name: str, tmp_path: Path) -> None:
    """Only a new path must not have such a name."""
    place = tmp_path / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"new")
    (tmp_path / "other\n").write_bytes(b"new")
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        layer = read_layer(fd, base_of({name: b"old"}), LayerCaps(), lambda path: True)
    finally:
        os.close(fd)
    kinds = {entry.path: (entry.kind, entry.data) for entry in layer.entries}
    assert kinds == {
        os.fsencode(name): (EntryKind.FILE, b"new"),
        b"other\n": (EntryKind.REFUSED_NAME, None),
    }
