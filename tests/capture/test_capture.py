from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from sweeper.capture import Captured, Refused, capture, recall
from sweeper.records import Change
from sweeper.repo import Repo
from sweeper.sandbox.contract import Entry, EntryKind, Layer
from tests.capture.layers import REF, captured, changes, file, lived, only
from tests.repo.builders import project


@pytest.mark.parametrize(
    "script",
    [
        "echo fixed > a.py",
        "echo fixed > a.py; git commit -qam fix",
        "echo fixed > a.py; git add a.py",
        "echo fixed > a.py; git checkout -qb other; git commit -qam fix; git checkout -q --detach",
        "echo fixed > a.py; git commit -qa --amend -m rewritten",
        "echo fixed > a.py; git add -A; git commit -qm one; git reset -q --soft HEAD~1",
        "echo fixed > a.py; rm -rf .git",
        "echo fixed > a.py; rm -rf .git; git init -q; git add -A; git -c user.name=x -c user.email=x commit -qm all",
        "echo fixed > a.py; git update-index --assume-unchanged a.py; echo 'a.py' > .git/info/exclude",
        "echo other > a.py; git commit -qam x; git stash -q || true; echo fixed > a.py",
    ],
)
def test_b05_agent_committed(tmp_path: Path, script: str) -> None:
    """Whatever git did in the sandbox: the work tree counts, against the base that we noted."""
    made = project(tmp_path / "p", {"a.py": b"bad\n", "b.py": b"b\n"})
    found = captured(made, lived(made, tmp_path, script))
    assert changes(found) == {"a.py": b"fixed\n"}
    assert not found.refused
    assert not found.out_of_scope


@pytest.mark.parametrize(
    "script", ["echo fixed > a.py; git stash -q", "echo fixed > a.py; git reset -q --hard", "true"]
)
def test_b05_b25_a_work_tree_put_back_is_no_change(tmp_path: Path, script: str) -> None:
    made = project(tmp_path / "p", {"a.py": b"bad\n"})
    found = captured(made, lived(made, tmp_path, script))
    assert found == Captured("")
    assert not found.touched


def test_b06_new_files(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"pkg/a.py": b"x\n"})
    script = "echo 'import pkg._helpers' > pkg/a.py; echo h > pkg/_helpers.py; mkdir -p pkg/sub; echo s > pkg/sub/s.py"
    layer = lived(made, tmp_path, script)
    assert changes(captured(made, layer)) == {
        "pkg/_helpers.py": b"h\n",
        "pkg/a.py": b"import pkg._helpers\n",
        "pkg/sub/s.py": b"s\n",
    }
    judged = captured(made, layer, only(b"pkg/a.py"))
    assert list(changes(judged)) == ["pkg/a.py"]
    assert judged.out_of_scope == ("pkg/_helpers.py", "pkg/sub/s.py")


def test_b07_build_outputs(tmp_path: Path) -> None:
    """Ignored outputs and caches are dropped; all else is named. A link is not what `node_modules/` means."""
    made = project(tmp_path / "p", {"a.py": b"x\n", ".gitignore": b"build/\n*.egg-info\nnode_modules/\n", "l/.x": b""})
    script = (
        "echo fixed > a.py; mkdir -p build/lib x.egg-info .ruff_cache/0 pkg/__pycache__ l/node_modules/m/.git; "
        "echo x > build/lib/a.py; echo x > x.egg-info/PKG-INFO; echo x > .ruff_cache/0/1; "
        "echo '*' > .ruff_cache/.gitignore; echo x > pkg/__pycache__/a.pyc; ln -s /elsewhere node_modules; "
        "echo x > l/node_modules/m/.git/config; "
        "echo '*' > .gitignore; echo x > stray.txt"
    )
    found = captured(made, lived(made, tmp_path, script), only(b"a.py"))
    assert changes(found) == {"a.py": b"fixed\n"}
    assert found.out_of_scope == (".gitignore", "node_modules", "stray.txt")
    assert not found.refused
    assert found.dropped_ignored == 6


def test_b07_a_tracked_file_is_never_taken_for_a_cache_or_ignored(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"x\n"})
    made.write({"build/kept.py": b"k\n", ".cache/kept": b"k\n", ".gitignore": b"build/\n"})
    made.git("add", "-Af")
    made.commit()
    layer = [file(b"build/kept.py", b"1"), file(b".cache/kept", b"2"), file(b"build/new.py", b"3")]
    found = captured(made, layer)
    assert changes(found) == {"build/kept.py": b"1", ".cache/kept": b"2"}
    assert found.dropped_ignored == 1
    outside = captured(made, layer, only())
    assert outside.out_of_scope == (".cache/kept", "build/kept.py")
    assert outside.commit == ""
    assert outside.touched


def test_b09_submodules(tmp_path: Path) -> None:
    """Dirt in a submodule is nothing to capture and spoils nothing; only a file in its place is refused."""
    library = project(tmp_path / "lib", {"x.c": b"x\n"})
    made = project(tmp_path / "p", {"a.py": b"x\n"})
    made.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.top), "lib/x")
    made.commit()
    script = "echo fixed > a.py; echo 'gitdir: ../../.git/modules/lib/x' > lib/x/.git; echo dirt > lib/x/x.c"
    found = captured(made, lived(made, tmp_path, script))
    assert found.refused == ()
    assert changes(found) == {"a.py": b"fixed\n"}
    assert captured(made, [Entry(b"lib/x", EntryKind.DELETED)], only(b"a.py")) == Captured("")
    replaced = captured(made, [file(b"lib/x", b"f"), file(b"a.py", b"1")])
    assert replaced.refused == (Refused("lib/x", "replaces a submodule"),)
    assert changes(replaced) == {"a.py": b"1"}


BYTES = [b"a\r\nb\r\n", b"a\nb", b"a\nb\n \n\n", b"caf\xe9\n", "ä\n".encode("utf-16"), b"", b"\0\x01", b"$Id$\n", b"\r"]


@pytest.mark.parametrize("data", BYTES)
def test_b01_b02_b04_b12_bytes_survive(tmp_path: Path, data: bytes) -> None:
    """Blank lines at the end, CRLF, a missing last newline, other encodings: byte for byte, both ways."""
    made = project(tmp_path / "p", {"a.py": b"x\n", ".gitattributes": b"* text=auto eol=crlf\na.py ident\n"})
    made.git("config", "core.autocrlf", "true")
    made.git("config", "core.whitespace", "fix")
    found = captured(made, [file(b"a.py", data)])
    assert made.show(found.commit, "a.py") == data
    assert found.changes == (Change("a.py", data),)


def test_b11_b12_names(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"naïve.py": b"x\n", "x b/y.py": b"x\n", os.fsdecode(b"\xe9.py"): b"x\n"})
    script = "for f in na*.py 'x b/y.py' ?.py; do echo fixed > \"$f\"; done; echo n > 'x b/new file'; "
    script += "printf x > \"$(printf 'a\\nb')\""
    found = captured(made, lived(made, tmp_path, script))
    assert set(changes(found)) == {"naïve.py", "x b/y.py", "\udce9.py", "x b/new file"}
    assert [refused.path for refused in found.refused] == ["a\nb"]
    assert set(made.raw(made.head, found.commit)) == {os.fsencode(path) for path in changes(found)}


def test_b13_binary_changes(tmp_path: Path) -> None:
    """A binary file in scope does not spoil the text beside it; out of scope it is named like anything else."""
    made = project(tmp_path / "p", {"a.py": b"x\n", "logo.png": b"\x89PNG\r\n\x1a\n\0\0"})
    layer = [file(b"a.py", b"y\n"), file(b"logo.png", b"\x89PNG\r\n\x1a\n\0")]
    assert changes(captured(made, layer)) == {"a.py": b"y\n", "logo.png": b"\x89PNG\r\n\x1a\n\0"}
    judged = captured(made, layer, only(b"a.py"))
    assert changes(judged) == {"a.py": b"y\n"}
    assert judged.out_of_scope == ("logo.png",)


def test_b19_what_the_sandbox_wrote_for_git_is_only_data(tmp_path: Path) -> None:
    """Configuration, filters and attributes from the sandbox never reach a git on the host."""
    made = project(tmp_path / "p", {"a.py": b"x\n"})
    proof = tmp_path / "pwned"
    script = (
        f"git config core.fsmonitor 'touch {proof}'; git config filter.evil.clean 'touch {proof}; cat'; "
        "echo '*.py filter=evil' > .gitattributes; echo '*.py filter=evil' > .git/info/attributes; echo y > a.py"
    )
    found = captured(made, lived(made, tmp_path, script), only(b"a.py"))
    assert changes(found) == {"a.py": b"y\n"}
    assert found.out_of_scope == (".gitattributes",)
    assert not proof.exists()


def test_b21_files_behind_a_filter(tmp_path: Path) -> None:
    """A file that the base stores through a filter is refused with the reason: its blob is a pointer, no content."""
    pointer = b"version https://git-lfs.github.com/spec/v1\n"
    made = project(tmp_path / "p", {".gitattributes": b"*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.py": b"x\n"})
    made.write({"a.bin": pointer})
    made.git("-c", "filter.lfs.clean=cat", "-c", "filter.lfs.required=false", "add", "-A")
    made.git("-c", "filter.lfs.clean=cat", "commit", "--quiet", "-m", "pointer")
    found = captured(made, [file(b"a.bin", b"content"), file(b"new.bin", b"content"), file(b"a.py", b"y\n")])
    assert changes(found) == {"a.py": b"y\n"}
    assert found.refused == (
        Refused("a.bin", "is stored through the git filter 'lfs'"),
        Refused("new.bin", "is stored through the git filter 'lfs'"),
    )
    assert captured(made, [file(b"a.bin", b"content")], only()).out_of_scope == ("a.bin",)


def test_modes_are_the_bases(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"x\n", "run.sh": b"x\n"})
    (made.top / "run.sh").chmod(0o755)
    made.commit()
    script = "echo y > run.sh; chmod 644 run.sh; echo y > a.py; chmod 755 a.py; echo n > new.sh; chmod 755 new.sh"
    found = captured(made, lived(made, tmp_path, script))
    assert {change.path: change.mode for change in found.changes} == {
        "a.py": 0o100644,
        "new.sh": 0o100644,
        "run.sh": 0o100755,
    }


def test_modes_alone_are_no_change(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"x\n"})
    script = "chmod 755 a.py; touch a.py; cp a.py b; mv b a.py"
    assert captured(made, lived(made, tmp_path, script)) == Captured("")


def test_what_is_no_plain_file_is_refused_by_name(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"x\n", "d/x": b"x\n"})
    (made.top / "link").symlink_to("a.py")
    made.commit()
    odd = [kind for kind in EntryKind if kind not in (EntryKind.FILE, EntryKind.DELETED)]
    entries = [Entry(f"odd/{kind}".encode(), kind, 1) for kind in odd]
    entries += [file(b"link", b"now a file"), Entry(b"d/unread", EntryKind.FILE, 5), file(b"a.py", b"y")]
    found = captured(made, Layer(tuple(sorted(entries, key=lambda entry: entry.path)), truncated=True))
    assert changes(found) == {"a.py": b"y"}
    assert [refused.path for refused in found.refused] == sorted(["", "d/unread", "link", *(f"odd/{k}" for k in odd)])
    assert all(refused.reason for refused in found.refused)
    assert captured(made, entries, only(b"a.py")).out_of_scope == tuple(
        sorted(["d/unread", "link", *(f"odd/{kind}" for kind in odd)])
    )


def test_deletions_and_swaps(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a": b"x\n", "d/x": b"x\n", "d/y": b"y\n", "e/z": b"z\n", "keep": b"k\n"})
    (made.top / "link").symlink_to("a")
    made.commit()
    script = "rm a; mkdir a; echo in > a/in; rm -r d; echo file > d; rm -r e; mkdir e; echo n > e/n; rm link"
    found = captured(made, lived(made, tmp_path, script))
    assert changes(found) == {
        "a": None, "a/in": b"in\n", "d": b"file\n", "d/x": None, "d/y": None, "e/n": b"n\n", "e/z": None, "link": None,
    }  # fmt: skip
    assert made.names(found.commit) == [b"a/in", b"d", b"e/n", b"keep"]


def test_a_recalled_change_is_judged_by_todays_scope(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"x\n", "b.py": b"x\n"})

    async def main() -> None:
        async with await Repo.open(made.top) as repo:
            layer = Layer((file(b"a.py", b"1"), file(b"b.py", b"2"), file(b"c.py", b"3")))
            listing = await repo.listing(made.head)
            found = await capture(layer, repo, made.head, listing, only(b"a.py", b"b.py"), REF, "m", 1.0)
            again, _ = await recall(repo, found.commit, only(b"a.py"))
            assert changes(again) == {"a.py": b"1"}
            assert set(again.out_of_scope) == {"b.py", "c.py"}
            assert (await repo.commit_of(found.commit)).when == 1

    anyio.run(main)


PATHS = st.sampled_from(
    [b"a.py", b"pkg/b.py", b"pkg/new.py", b"x.log", b".ruff_cache/x", b"link", b"sub", b"sub/in", b"bin.bin"]
)
ENTRIES = st.builds(
    lambda path, kind, data: file(path, data) if kind is EntryKind.FILE else Entry(path, kind, 1),
    PATHS,
    st.sampled_from(EntryKind),
    st.binary(max_size=3),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    layers=st.lists(st.lists(ENTRIES, unique_by=lambda entry: entry.path), min_size=1, max_size=5), scope=st.sets(PATHS)
)
def test_every_entry_ends_in_one_place(
    tmp_path_factory: pytest.TempPathFactory, layers: list[list[Entry]], scope: set[bytes]
) -> None:
    """Any layer: the commit's difference is `changes`, all in scope; everything else is refused, outside or dropped."""
    made = project(tmp_path_factory.mktemp("any") / "p", {"a.py": b"a", "pkg/b.py": b"b", ".gitignore": b"*.log\n"})
    made.write({".gitattributes": b"*.bin filter=lfs\n"})
    (made.top / "link").symlink_to("a.py")
    made.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    made.git("add", ".gitattributes", "link")
    made.git("commit", "--quiet", "-m", "base")

    async def each(work: Callable[[Repo, int, list[Entry]], Awaitable[None]]) -> None:
        async with await Repo.open(made.top) as repo:
            for i, entries in enumerate(layers):
                await work(repo, i, sorted(entries, key=lambda entry: entry.path))

    async def one(repo: Repo, i: int, entries: list[Entry]) -> None:
        listing = await repo.listing(made.head)
        ref = f"refs/sweeper/run/u{i}/1"
        found = await capture(Layer(tuple(entries)), repo, made.head, listing, scope.__contains__, ref, "m", 1.0)
        paths = {entry.path for entry in entries}
        changed = {os.fsencode(change.path) for change in found.changes}
        refused = {os.fsencode(each.path) for each in found.refused}
        outside = {os.fsencode(path) for path in found.out_of_scope}
        assert changed <= scope
        assert refused <= scope
        assert not outside & scope
        assert len(changed) + len(refused) + len(outside) + found.dropped_ignored <= len(paths)
        assert changed | refused | outside <= paths
        if found.commit:
            effective = set(made.raw(made.head, found.commit))
            assert effective <= changed
            assert all(mode in (0o100644, 0o120000) for mode in (change.mode for change in found.changes))
        else:
            assert not changed

    anyio.run(each, one)
