from __future__ import annotations

import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from sweeper.errors import GitFailed
from sweeper.records import BaseEntry, Change
from sweeper.repo import Conflict, Repo
from sweeper.repo.trees import Trees
from tests.repo.builders import Project, project


def run(made: Project, work: Callable[[Repo], Awaitable[None]]) -> None:
    async def main() -> None:
        async with await Repo.open(made.top) as repo:
            await work(repo)

    anyio.run(main)


FILES = {"a.py": b"a\n", "pkg/b.py": b"b\n", "pkg/sub/c.py": b"c\n", "pkg/sub/d.py": b"d\n", "run.sh": b"#!/bin/sh\n"}


def test_a_change_is_exactly_what_was_meant(tmp_path: Path) -> None:
    made = project(tmp_path / "p", FILES)
    (made.top / "run.sh").chmod(0o755)
    base = made.commit()
    index = (made.top / ".git" / "index").read_bytes()
    changes = [
        Change("a.py", b"A\r\n"),
        Change("new/deep/n.py", b"\xff\x00", 0o100644),
        Change("pkg/sub/c.py", None),
        Change("pkg/sub/d.py", None),
        Change("run.sh", b"#!/bin/bash", 0o100755),
    ]

    async def work(repo: Repo) -> None:
        commit = await repo.write_change(base, changes, "fix\n\nbody", "refs/sweeper/r/u/1", 1234.9)
        # git's own opinion
        assert {path: row.split(b" ")[1] for path, row in made.raw(base, commit).items()} == {
            b"a.py": b"100644",
            b"new/deep/n.py": b"100644",
            b"pkg/sub/c.py": b"000000",
            b"pkg/sub/d.py": b"000000",
            b"run.sh": b"100755",
        }
        assert made.names(commit) == [b"a.py", b"new/deep/n.py", b"pkg/b.py", b"run.sh"]
        assert made.show(commit, "a.py") == b"A\r\n"
        assert made.show(commit, "new/deep/n.py") == b"\xff\x00"
        assert made.text("log", "-1", "--format=%an %ae %at %cn %ct %B", commit).startswith(
            "sweeper sweeper@localhost 1234 sweeper 1234 fix"
        )
        assert await repo.changes_of(commit) == changes
        assert await repo.changes_between(base, commit) == changes
        assert await repo.find_ref("refs/sweeper/r/u/1") == commit
        assert await repo.find_ref("refs/sweeper/r/u/2") is None
        # the same again is the same
        assert await repo.write_change(base, changes, "fix\n\nbody", "refs/sweeper/r/u/1", 1234.0) == commit
        with pytest.raises(GitFailed):  # create only: another commit never takes a ref
            await repo.write_change(base, changes[:1], "fix", "refs/sweeper/r/u/1", 1234.0)
        assert await repo.find_ref("refs/sweeper/r/u/1") == commit

    run(made, work)
    assert made.text("fsck", "--strict", "--no-dangling") == ""
    assert (made.top / ".git" / "index").read_bytes() == index
    assert made.git("status", "--porcelain") == b""


def test_b25_nothing_changed_is_no_commit(tmp_path: Path) -> None:
    made = project(tmp_path / "p", FILES)

    async def work(repo: Repo) -> None:
        for changes in ([], [Change("a.py", b"a\n")], [Change("absent.py", None)], [Change("pkg", None)]):
            assert await repo.write_change(made.head, changes, "m", "refs/sweeper/r/u/1", 1.0) == ""
        assert await repo.refs("refs/sweeper/r") == {}

    run(made, work)


@pytest.mark.parametrize(
    "path",
    [".git/config", "a/.git/x", "a/.GIT/x", "../x", "/etc/x", "a//b", "a/", "", ".", "a/./b", "nul\0", "pkg/.."],
)
def test_a_path_that_git_would_skip_raises(tmp_path: Path, path: str) -> None:
    made = project(tmp_path / "p", FILES)

    async def work(repo: Repo) -> None:
        with pytest.raises(GitFailed, match="no path to commit"):
            await repo.write_change(made.head, [Change(path, b"x")], "m", "refs/sweeper/r/u/1", 1.0)
        assert await repo.refs("refs/sweeper/r") == {}

    run(made, work)


def test_a_tree_that_is_not_the_intended_one_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git skipped or misplaced something: no commit and no ref, but an error that names the path."""
    made = project(tmp_path / "p", FILES)
    edit = Trees.edit

    def careless(trees: Trees, tree: str, edits: Mapping[bytes, BaseEntry | None]) -> str:
        return edit(trees, tree, {path: entry for path, entry in edits.items() if path != b"a.py"})

    async def work(repo: Repo) -> None:
        monkeypatch.setattr(Trees, "edit", careless)
        changes = [Change("a.py", b"1"), Change("pkg/b.py", None)]
        with pytest.raises(GitFailed, match=r"not the intended one, at \[b'a.py'\]"):
            await repo.write_change(made.head, changes, "m", "refs/sweeper/r/u/1", 1.0)
        assert await repo.refs("refs/sweeper/") == {}

    run(made, work)


def test_file_and_directory_change_places(tmp_path: Path) -> None:
    made = project(tmp_path / "p", FILES)

    async def work(repo: Repo) -> None:
        swap = [Change("a.py/in.py", b"i"), Change("a.py", None), Change("pkg/sub", b"s")]
        gone = [Change("pkg/sub/c.py", None), Change("pkg/sub/d.py", None)]
        commit = await repo.write_change(made.head, swap + gone, "m", "refs/sweeper/r/u/1", 1.0)
        assert made.names(commit) == [b"a.py/in.py", b"pkg/b.py", b"pkg/sub", b"run.sh"]
        with pytest.raises(GitFailed, match="still has files"):
            await repo.write_change(made.head, [Change("pkg/sub", b"s")], "m", "refs/sweeper/r/u/2", 1.0)
        with pytest.raises(GitFailed, match="no directory"):
            await repo.write_change(made.head, [Change("a.py/in.py", b"i")], "m", "refs/sweeper/r/u/2", 1.0)
        with pytest.raises(GitFailed, match="only regular files"):
            await repo.write_change(made.head, [Change("l", b"t", 0o120000)], "m", "refs/sweeper/r/u/2", 1.0)
        with pytest.raises(GitFailed, match="given twice"):
            await repo.write_change(
                made.head, [Change("a.py", b"1"), Change("a.py", b"2")], "m", "refs/sweeper/r/u/2", 1.0
            )
        everything = [Change(name, None) for name in FILES]
        empty = await repo.write_change(made.head, everything, "m", "refs/sweeper/r/u/3", 1.0)
        assert made.names(empty) == []

    run(made, work)
    assert made.text("fsck", "--strict", "--no-dangling") == ""


def test_b02_b04_bytes_survive(tmp_path: Path) -> None:
    """Line endings, missing last newlines, blank lines at the end, and bytes of any encoding."""
    contents = [b"a\r\nb\r\n", b"a\nb", b"a\nb\n\n \n", b"caf\xe9\n", "ä".encode("utf-16"), b"", b"\r", b"a\0b"]
    made = project(tmp_path / "p", {f"f{i}": b"old\n" for i in range(len(contents))})
    made.git("config", "core.autocrlf", "true")
    made.git("config", "core.eol", "crlf")

    async def work(repo: Repo) -> None:
        changes = [Change(f"f{i}", data) for i, data in enumerate(contents)]
        commit = await repo.write_change(made.head, changes, "m", "refs/sweeper/r/u/1", 1.0)
        assert [made.show(commit, f"f{i}") for i in range(len(contents))] == contents
        assert await repo.changes_of(commit) == changes

    run(made, work)


def test_b11_b12_names_are_bytes(tmp_path: Path) -> None:
    names = ["naïve.py", "x b/y.py", "new\nline.py", "tab\there.py", 'quote".py', os.fsdecode(b"\xe9.py"), " ", "-rf"]
    made = project(tmp_path / "p", dict.fromkeys(names, b"old\n"))

    async def work(repo: Repo) -> None:
        assert sorted(await repo.listing(made.head)) == sorted(os.fsencode(name) for name in names)
        changes = sorted((Change(name, b"new\n") for name in names), key=lambda change: os.fsencode(change.path))
        commit = await repo.write_change(made.head, changes, "m", "refs/sweeper/r/u/1", 1.0)
        assert set(made.raw(made.head, commit)) == {os.fsencode(name) for name in names}
        assert await repo.changes_of(commit) == changes
        found = await repo.blobs(commit, [os.fsencode(name) for name in names])
        assert found == {os.fsencode(name): b"new\n" for name in names}

    run(made, work)


def test_b10_configuration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the repository, the user or the machine changes which file a change is about."""
    made = project(tmp_path / "p", {"f": b"a\n", "d/f": b"a\n"})
    settings_of = "[diff]\nnoprefix=true\nmnemonicPrefix=true\nrenames=copies\nexternal=false\n[color]\nui=always\n"
    settings_of += "[core]\nquotePath=true\nautocrlf=true\n[status]\nrelativePaths=true\n"
    settings_of += "[i18n]\ncommitEncoding=latin1\n"
    (tmp_path / ".gitconfig").write_text(settings_of)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with (made.top / ".git" / "config").open("a") as file:
        file.write(settings_of)

    async def work(repo: Repo) -> None:
        commit = await repo.write_change(made.head, [Change("d/f", b"b\r\n")], "ä", "refs/sweeper/r/u/1", 1.0)
        assert set(made.raw(made.head, commit)) == {b"d/f"}
        assert [change.path for change in await repo.changes_of(commit)] == ["d/f"]
        assert (await repo.commit_of(commit)).message == "ä\n"
        assert b"encoding" not in made.git("cat-file", "commit", commit)

    run(made, work)


def test_replay_and_merge(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"1\n2\n3\n4\n5\n", "b.py": b"b\n", "d/x": b"x\n"})
    base = made.head

    async def work(repo: Repo) -> None:
        async def unit(name: str, *changes: Change) -> str:
            return await repo.write_change(base, changes, name, f"refs/sweeper/r/{name}/1", 1.0)

        tip = await unit("tip", Change("a.py", b"one\n2\n3\n4\n5\n"), Change("new/f", b"f\n"))
        disjoint = await repo.replay(await unit("u1", Change("b.py", b"B\n")), tip)
        lines = await repo.replay(await unit("u2", Change("a.py", b"1\n2\n3\n4\nfive\n")), tip)
        assert isinstance(disjoint, str)
        assert isinstance(lines, str)
        assert made.show(disjoint, "b.py") == b"B\n"
        assert made.show(disjoint, "a.py").startswith(b"one\n")
        assert made.show(lines, "a.py") == b"one\n2\n3\n4\nfive\n"
        assert await repo.replay(tip, tip) == (await repo.commit_of(tip)).tree
        same_lines = await unit("u3", Change("a.py", b"ONE\n2\n3\n4\n5\n"))
        assert await repo.replay(same_lines, tip) == Conflict(("a.py",))
        assert await repo.merge_tree(tip, same_lines) == Conflict(("a.py",))
        blocked = await repo.replay(await unit("u4", Change("new", b"file\n")), tip)
        assert isinstance(blocked, Conflict)
        below = await repo.replay(await unit("u5", Change("d/x", None), Change("d", b"file\n")), tip)
        assert isinstance(below, str)
        deeper = await unit("t2", Change("d/y", b"y\n"))
        assert isinstance(await repo.replay(await unit("u6", Change("d/x", None), Change("d", b"f")), deeper), Conflict)
        as_file = await unit("t3", Change("new", b"file\n"))
        assert await repo.replay(await unit("u7", Change("new/f", b"f\n")), as_file) == Conflict(("new",))
        assert await repo.descends(tip, base)
        assert not await repo.descends(base, tip)
        assert await repo.sizes(tip, [b"a.py", b"new", b"none"]) == {b"a.py": 12}
        assert await repo.heads(tip, [b"a.py", b"new/f"], 3) == {b"a.py": b"one", b"new/f": b"f\n"}
        assert await repo.blobs(tip, [b"a.py", b"new/f"], 3) == {b"new/f": b"f\n"}

    run(made, work)


def test_what_is_replayed_is_one_change_and_nothing_that_it_stands_on(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"1\n2\n3\n4\n5\n", "b.py": b"b\n"})
    base = made.head

    async def work(repo: Repo) -> None:
        first = await repo.write_change(base, [Change("b.py", b"B\n")], "1", "refs/sweeper/r/a/1", 1.0)
        second = await repo.write_change(first, [Change("a.py", b"one\n2\n3\n4\n5\n")], "2", "refs/sweeper/r/a/2", 1.0)
        third = await repo.write_change(second, [Change("a.py", b"one\n2\n3\n4\nV\n")], "3", "refs/sweeper/r/a/3", 1.0)
        # where a.py has changed as well, lines are merged: b.py and the first line stay as they are there
        moved = await repo.write_change(
            base, [Change("a.py", b"1\n2\nthree\n4\n5\n"), Change("b.py", b"else\n")], "m", "refs/sweeper/r/m/1", 1.0
        )
        tree = await repo.replay(third, moved)
        assert isinstance(tree, str)
        assert made.show(tree, "a.py") == b"1\n2\nthree\n4\nV\n"
        assert made.show(tree, "b.py") == b"else\n"
        here = await repo.write_change(base, [Change("a.py", b"1\n2\n3\n4\nfive\n")], "h", "refs/sweeper/r/h/1", 1.0)
        assert await repo.replay(third, here) == Conflict(("a.py",))

    run(made, work)


NAMES = st.lists(st.sampled_from(["a", "b", "c", "d-e", "d", "d.x"]), min_size=1, max_size=3).map("/".join)
TREES = st.dictionaries(NAMES, st.binary(max_size=3), max_size=8)


def fits(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without the paths that lie below another one."""
    return {
        name: data
        for name, data in files.items()
        if not any(name.startswith(other + "/") for other in files if other != name)
    }


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(TREES, TREES), min_size=1, max_size=5))
def test_any_tree_becomes_any_other(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[dict[str, bytes], dict[str, bytes]]]
) -> None:
    """For random pairs of trees: the change between them, committed, is git's own difference and gives the other."""
    made = project(tmp_path_factory.mktemp("any") / "p", {"zz": b"z"})

    async def work(repo: Repo) -> None:
        for i, (left, right) in enumerate(pairs):
            left, right = fits(left), fits(right)
            base = await tree_of(repo, made.head, {}, left, f"refs/sweeper/r/l{i}/1")
            new = await tree_of(repo, base, left, right, f"refs/sweeper/r/r{i}/1")
            if new != base:
                assert made.oids(new) == {name.encode(): oid(data) for name, data in {**right, "zz": b"z"}.items()}
                changed = {change.path.encode() for change in await repo.changes_of(new)}
                assert set(made.raw(base, new)) == changed

    run(made, work)


def oid(data: bytes) -> bytes:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest().encode()


async def tree_of(repo: Repo, base: str, old: dict[str, bytes], new: dict[str, bytes], ref: str) -> str:
    changes = [Change(name, new.get(name)) for name in old.keys() | new.keys() if old.get(name) != new.get(name)]
    return await repo.write_change(base, changes, "m", ref, 1.0) or base
