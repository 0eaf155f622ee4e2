from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

from sweeper.errors import ConfigError
from sweeper.records import Change
from sweeper.repo import Identity, Repo
from sweeper.repo.run import Git
from tests.repo.builders import Project, project


async def opened(start: Path) -> tuple[str, Path, Path]:
    async with await Repo.open(start) as repo:
        return await repo.resolve("HEAD"), repo.top, repo.state


def test_open_from_a_folder_below(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"pkg/deep/a.py": b"a\n"})
    head, top, state = anyio.run(opened, made.top / "pkg" / "deep")
    assert (head, top, state) == (made.head, made.top, made.top / ".git" / "sweeper")


def test_open_says_where_there_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not in a git repository") as caught:
        anyio.run(opened, tmp_path)
    assert caught.value.hint


def test_open_says_that_there_is_no_commit(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "p")], check=True)
    with pytest.raises(ConfigError, match="has no commits yet"):
        anyio.run(opened, tmp_path / "p")


def test_open_says_that_a_repository_is_broken(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    (made.top / ".git" / "HEAD").write_text("nonsense\n")
    with pytest.raises(ConfigError, match="not a usable git repository"):
        anyio.run(opened, made.top)


def test_resolve_names_what_it_does_not_know(tmp_path: Path) -> None:
    made = project(tmp_path / "p")

    async def main() -> None:
        async with await Repo.open(made.top) as repo:
            assert await repo.resolve("main") == await repo.resolve("HEAD^0") == made.head
            for rev in ("nowhere", "--all", "HEAD:a.py", ""):
                with pytest.raises(ConfigError, match="is no commit of"):
                    await repo.resolve(rev)

    anyio.run(main)


def test_state_folder_can_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = project(tmp_path / "p")
    monkeypatch.setenv("SWEEPER_STATE", str(tmp_path / "state"))

    async def main() -> str:
        async with await Repo.open(made.top) as repo:
            assert repo.state == tmp_path / "state"
            return await repo.write_change(made.head, [Change("a.py", b"b\n")], "m", "refs/sweeper/r/u/1", 1.0)

    commit = anyio.run(main)
    assert made.show(commit, "a.py") == b"b\n"
    assert not (made.top / ".git" / "sweeper").exists()


def test_bare_and_shallow(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    made.commit({"a.py": b"b\n"})
    for kind in ("--bare", "--depth=1"):
        copy = tmp_path / kind
        made.git("clone", "--quiet", kind, made.top.as_uri(), str(copy))

        async def main(copy: Path = copy) -> None:
            async with await Repo.open(copy) as repo:
                base = await repo.resolve("HEAD")
                unit = await repo.write_change(base, [Change("a.py", b"c\n")], "m", "refs/sweeper/r/u/1", 1.0)
                other = await repo.write_change(base, [Change("b.py", b"c\n")], "m", "refs/sweeper/r/v/1", 1.0)
                assert isinstance(await repo.merge_tree(unit, other), str)
                assert await repo.is_dirty() == []

        anyio.run(main)


def test_b16_linked_worktree(tmp_path: Path) -> None:
    """A linked worktree is opened as itself, shares refs and state, and what a sandbox gets has no link to it."""
    made = project(tmp_path / "p")
    made.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "wt"))
    linked = Project(tmp_path / "wt")
    head = linked.commit({"side.py": b"side\n"})
    assert (linked.top / ".git").is_file()

    async def main() -> None:
        async with await Repo.open(linked.top) as repo:
            assert (repo.top, repo.state) == (linked.top, made.top / ".git" / "sweeper")
            assert await repo.resolve("HEAD") == head
            await (await repo.tree(head)).write_to(tmp_path / "out")
            await repo.write_change(head, [Change("side.py", b"x\n")], "m", "refs/sweeper/r/u/1", 1.0)

    anyio.run(main)
    assert made.text("for-each-ref", "--format=%(refname)", "refs/sweeper/") == "refs/sweeper/r/u/1"
    # The copy stands alone: the repository can disappear, and a gc inside reaches nothing outside.
    shutil.rmtree(made.top)
    copy = Project(tmp_path / "out")
    assert (copy.top / ".git").is_dir()
    assert copy.git("status", "--porcelain") == b""
    copy.git("gc", "--quiet", "--prune=now")
    assert copy.text("fsck", "--strict") == ""
    assert copy.git("show", "HEAD:side.py") == b"side\n"


@pytest.mark.root
def test_b15_dubious_ownership(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another owner's repository is read by its exact path, and git's refusal is never an empty answer."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    made = project(tmp_path / "p")
    head = made.head
    subprocess.run(["chown", "-R", "1234:1234", str(made.top)], check=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    plain = subprocess.run(["git", "status"], cwd=made.top, capture_output=True, check=False)
    assert plain.returncode == 128  # git alone does refuse

    async def main() -> None:
        async with await Repo.open(made.top) as repo:
            assert await repo.resolve("HEAD") == head
            assert list(await repo.listing(head)) == [b"a.py"]
            assert await repo.is_dirty() == []
            await repo.write_change(head, [Change("a.py", b"b\n")], "m", "refs/sweeper/r/u/1", 1.0)

    anyio.run(main)
    assert not (tmp_path / ".gitconfig").exists()


def test_b18_inherited_git_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started from a hook of another repository, everything still happens in ours."""
    other = project(tmp_path / "other", {"other.py": b"other\n"})
    made = project(tmp_path / "p")
    before = other.text("rev-parse", "HEAD"), other.text("for-each-ref"), other.git("status", "--porcelain")
    monkeypatch.setenv("GIT_DIR", str(other.top / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.top))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.top / ".git" / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.top / ".git" / "objects"))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'")
    monkeypatch.setenv("GIT_NAMESPACE", "elsewhere")

    async def main() -> str:
        async with await Repo.open(made.top) as repo:
            base = await repo.resolve("HEAD")
            assert list(await repo.listing(base)) == [b"a.py"]
            await (await repo.tree(base)).write_to(tmp_path / "out")
            return await repo.write_change(base, [Change("a.py", b"b\n")], "m", "refs/sweeper/r/u/1", 1.0)

    commit = anyio.run(main)
    assert made.show(commit, "a.py") == b"b\n"
    assert made.text("for-each-ref", "--format=%(refname)", "refs/sweeper/") == "refs/sweeper/r/u/1"
    assert (other.text("rev-parse", "HEAD"), other.text("for-each-ref"), other.git("status", "--porcelain")) == before


def test_b18_every_local_variable_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    local = subprocess.run(["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True)
    names = local.stdout.split()
    for name in names:
        monkeypatch.setenv(name, "from a hook")
    assert len(names) > 10
    assert "from a hook" not in Git(Path("/somewhere")).environment().values()


def test_identity_is_the_users_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = project(tmp_path / "p")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    async def main() -> Identity:
        async with await Repo.open(made.top) as repo:
            tree = (await repo.commit_of(made.head)).tree
            commit = await repo.commit_tree(tree, [made.head], "done", 5.0)
            shown = made.text("show", "--no-patch", "--format=%an <%ae> %cn <%ce> %at %s", commit)
            name, email = repo.identity
            assert shown == f"{name} <{email}> {name} <{email}> 5 done"
            return repo.identity

    assert anyio.run(main) == Identity("sweeper", "sweeper@localhost")
    (home / ".gitconfig").write_text("[user]\n\tname = Ann Example\n\temail = ann@example.com\n")
    assert anyio.run(main) == Identity("Ann Example", "ann@example.com")
