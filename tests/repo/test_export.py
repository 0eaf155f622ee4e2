from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import anyio
import pytest

from sweeper.errors import ConfigError, GitFailed
from sweeper.repo import Repo
from tests.repo.builders import Project, project

HOSTILE = {
    ".gitattributes": (
        b"crlf.txt text eol=crlf\nlf.txt text eol=lf\nident.txt ident\nsecret.py export-ignore\n"
        b"subst.txt export-subst\nwide.txt text working-tree-encoding=UTF-16\n"
        b"*.bin filter=lfs -text\n"
    ),
    "lf.txt": b"a\nb\n",
    "ident.txt": b"$Id$\n",
    "secret.py": b"kept = 1\n",
    "subst.txt": b"$Format:%H$\n",
    "wide.txt": "ä\n".encode(),
    "a.bin": b"version https://git-lfs.github.com/spec/v1\n",
    "x b/y.py": b"b\n",
    "naïve.py": b"n\n",
    "new\nline.py": b"n\n",
    ":magic.py": b"m\n",
    "back\\slash.py": b"s\n",
}


def blob(made: Project, data: bytes) -> str:
    return made.git("hash-object", "-w", "--stdin", "--no-filters", stdin=data).decode().strip()


def raw_tree(made: Project, entries: dict[bytes, tuple[str, str]]) -> str:
    """A commit of exactly these entries: path -> (mode, id)."""
    rows = b"".join(b"%s %s\t%s\0" % (mode.encode(), oid.encode(), path) for path, (mode, oid) in entries.items())
    made.git("read-tree", "--empty")
    made.git("update-index", "-z", "--index-info", stdin=rows)
    tree = made.text("write-tree")
    made.git("read-tree", "HEAD")
    return made.git("commit-tree", tree, "-m", "raw").decode().strip()


async def written(top: Path, commit: str, directory: Path) -> None:
    async with await Repo.open(top) as repo:
        await (await repo.tree(commit)).write_to(directory)


def test_tree_is_the_raw_blobs(tmp_path: Path) -> None:
    """No filter, no attribute and no line-ending conversion touches a byte, whatever the repository asks for."""
    made = project(tmp_path / "p", {"a": b""})
    entries = {name.encode(): ("100644", blob(made, data)) for name, data in HOSTILE.items()}
    entries[b"crlf.txt"] = ("100644", blob(made, b"mixed\r\nends\n"))
    entries[b"caf\xe9.py"] = ("100755", blob(made, b"caf\xe9\n"))
    entries[b"link"] = ("120000", blob(made, b"../outside"))
    entries[b"lib/x"] = ("160000", "1" * 40)
    commit = raw_tree(made, entries)
    out = tmp_path / "out"
    anyio.run(written, made.top, commit, out)
    root = os.fsencode(out)
    for path, (mode, oid) in entries.items():
        place = os.path.join(root, path)
        info = os.lstat(place)
        if mode == "160000":
            assert stat.S_ISDIR(info.st_mode)
            assert os.listdir(place) == []
        elif mode == "120000":
            assert os.readlink(place) == b"../outside"
        else:
            assert stat.S_IMODE(info.st_mode) == int(mode[3:], 8)
            assert blob(made, Path(os.fsdecode(place)).read_bytes()) == oid
    assert {name for name in os.listdir(root) if name != b".git"} == {path.split(b"/")[0] for path in entries}
    assert_stands_alone(Project(out))


def assert_stands_alone(copy: Project) -> None:
    """One commit, no remote, no hook, no borrowed object, and nothing to see for `git status`."""
    assert copy.git("status", "--porcelain", "--ignored") == b""
    assert copy.text("rev-list", "--all", "--count") == "1"
    assert copy.text("log", "-1", "--format=%an <%ae>") == "sweeper <sweeper@localhost>"
    assert copy.text("symbolic-ref", "HEAD") == "refs/heads/main"
    assert copy.text("remote") == ""
    assert not (copy.top / ".git" / "hooks").exists()
    assert not (copy.top / ".git" / "objects" / "info" / "alternates").exists()
    assert copy.text("fsck", "--strict") == ""
    # Fresh: nothing is read again, even after the owner or inode changed (as in an overlay): another content
    # of the same size and time stays unnoticed.
    moved = copy.top.with_name("moved")
    shutil.copytree(copy.top, moved, symlinks=True)
    times = (moved / "lf.txt").stat()
    (moved / "lf.txt").write_bytes(b"c\nd\n")
    os.utime(moved / "lf.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert Project(moved).git("status", "--porcelain") == b""


def test_an_edit_of_equal_size_in_the_same_second_is_seen_inside(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"one\n"})
    out = tmp_path / "out"
    anyio.run(written, made.top, made.head, out)
    (out / "a.py").write_bytes(b"two\n")
    assert Project(out).git("status", "--porcelain") == b" M a.py\n"
    Project(out).commit(message="inside")
    assert Project(out).text("log", "--format=%s") == "inside\nbase"


def test_b19_nothing_of_the_repository_runs_on_the_host(tmp_path: Path) -> None:
    """Hooks, filters, monitors and drivers of a hostile configuration never start, in any of our operations."""
    made = project(tmp_path / "p", {".gitattributes": b"*.py filter=evil merge=evil diff=evil\n", "a.py": b"1\n2\n3\n"})
    proof = tmp_path / "pwned"
    for name, value in {
        "core.fsmonitor": f"touch {proof}; false",
        "filter.evil.clean": f"touch {proof}; cat",
        "filter.evil.smudge": f"touch {proof}; cat",
        "filter.evil.required": "true",
        "merge.evil.driver": f"touch {proof}; false",
        "diff.evil.textconv": f"touch {proof}; cat",
        "diff.external": f"touch {proof}",
        "core.sshCommand": f"touch {proof}",
        "core.pager": f"touch {proof}",
        "gpg.program": f"touch {proof}",
        "commit.gpgSign": "true",
    }.items():
        made.git("config", name, value)
    hooks = made.top / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        "pre-commit",
        "post-commit",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
        "pre-auto-gc",
    ):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {proof}\nexit 1\n")
        (hooks / name).chmod(0o755)

    async def main() -> None:
        from sweeper.records import Change

        async with await Repo.open(made.top) as repo:
            base = await repo.resolve("HEAD")
            await (await repo.tree(base)).write_to(tmp_path / "out")
            one = await repo.write_change(base, [Change("a.py", b"x\n2\n3\n")], "m", "refs/sweeper/r/u/1", 1.0)
            two = await repo.write_change(base, [Change("a.py", b"1\n2\ny\n")], "m", "refs/sweeper/r/v/1", 1.0)
            tree = await repo.replay(two, one)
            assert isinstance(tree, str)
            tip = await repo.commit_tree(tree, [one], "both", 1.0)
            assert await repo.blobs(tip, [b"a.py"]) == {b"a.py": b"x\n2\ny\n"}
            await repo.check_ignore(base, [b"a.py"])
            await repo.attributes(base, [b"a.py"], ("filter",))
            await repo.changes_of(two)
            await repo.update_branch("sweeper/x", tip, None)
            await repo.delete_refs("refs/sweeper/r")

    anyio.run(main)
    assert not proof.exists()


def test_a_tree_is_not_written_over_something(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(GitFailed, match="not empty"):
        anyio.run(written, made.top, made.head, tmp_path / "out")


@pytest.mark.parametrize("name", [b"..", b".git", b".GIT", b"."])
def test_a_tree_that_leaves_its_folder_is_refused(tmp_path: Path, name: bytes) -> None:
    made = project(tmp_path / "p")
    oid = blob(made, b"evil")
    write = ("hash-object", "-t", "tree", "-w", "--stdin", "--literally")
    inner = made.git(*write, stdin=b"100644 x\0" + bytes.fromhex(oid)).decode().strip()
    tree = made.git(*write, stdin=b"40000 " + name + b"\0" + bytes.fromhex(inner)).decode().strip()
    commit = made.git("commit-tree", tree, "-m", "evil").decode().strip()
    with pytest.raises(GitFailed, match="cannot be written to a disk safely"):
        anyio.run(written, made.top, commit, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_sha256_repository(tmp_path: Path) -> None:
    from sweeper.records import Change

    top = tmp_path / "p"
    subprocess.run(["git", "init", "--quiet", "--object-format=sha256", str(top)], check=True)
    made = Project(top)
    made.commit({"a.py": b"a\n", "pkg/b.py": b"b\n"})

    async def main() -> None:
        async with await Repo.open(top) as repo:
            base = await repo.resolve("HEAD")
            assert len(base) == 64
            commit = await repo.write_change(base, [Change("pkg/b.py", None)], "m", "refs/sweeper/r/u/1", 1.0)
            await (await repo.tree(commit)).write_to(tmp_path / "out")

    anyio.run(main)
    copy = Project(tmp_path / "out")
    assert copy.git("ls-files") == b"a.py\n"
    assert copy.git("status", "--porcelain") == b""


def test_a_clone_without_some_of_its_files_is_named(tmp_path: Path) -> None:
    """Nothing is fetched unasked; who has a partial clone hears how to fill it."""
    made = project(tmp_path / "p", {"a.py": b"a", "docs/b.txt": b"b"})
    made.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    words = ("clone", "--quiet", "--filter=blob:none", "--sparse", f"file://{made.top}", str(clone))
    subprocess.run(["git", *words], check=True)
    with pytest.raises(ConfigError, match=r"1 files of .* missing or damaged .* such as docs/b.txt") as caught:
        anyio.run(written, clone, made.head, tmp_path / "one")
    assert "--refetch" in caught.value.hint
    assert "fsck" in caught.value.hint
    subprocess.run(["git", "fetch", "--quiet", "--refetch", "--no-filter"], cwd=clone, check=True)
    anyio.run(written, clone, made.head, tmp_path / "two")
    assert (tmp_path / "two" / "docs" / "b.txt").read_bytes() == b"b"
