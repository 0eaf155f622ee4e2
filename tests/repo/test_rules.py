from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sweeper.errors import ConfigError, GitFailed
from sweeper.repo import Repo
from sweeper.repo import place as places
from sweeper.repo.run import Child, Git, line
from tests.repo.builders import project
from tests.repo.test_write import run

FILES = {
    ".gitignore": b"*.log\nbuild/\nnode_modules/\n/only-here\n!keep.log\n",
    "pkg/.gitignore": b"cache\n!*.log\n",
    ".gitattributes": (
        b"*.bin filter=lfs diff=lfs merge=lfs -text\n*.gen linguist-generated\nx.gen -linguist-generated\n"
    ),
    "pkg/.gitattributes": b"*.bin !filter\n",
    "a.log": b"tracked\n",
}


def test_ignored_is_what_the_commit_says(tmp_path: Path) -> None:
    """The commit's own files decide: not the work tree's, not the user's, not those of a later commit."""
    made = project(tmp_path / "p", {})
    made.write(FILES)
    made.git("add", "-Af")
    base = made.commit()
    later = made.commit({".gitignore": b"*\n"})
    (made.top / ".gitignore").write_bytes(b"everything\n")
    (made.top / ".git" / "info" / "exclude").write_text("*.py\n")
    yes = [b"x.log", b"a.log", b"build/x/y.py", b"node_modules/a.js", b"only-here", b"pkg/cache", b"pkg/cache/x"]
    no = [b"a.py", b"build", b"node_modules", b"keep.log", b"pkg/x.log", b"sub/only-here", b":x", b"new\nline", b"\xe9"]
    yes += [b":(top)x.log", b"pkg/build/\xe9\n"]

    async def work(repo: Repo) -> None:
        assert await repo.check_ignore(base, yes + no) == set(yes)
        assert await repo.check_ignore(base, [b":keep.log"]) == {b":keep.log"}
        many = [b"d%d/%s.log" % (i, b"x" * 200) for i in range(500)]  # far more than a pipe holds
        assert await repo.check_ignore(base, many) == set(many)
        assert await repo.check_ignore(base, []) == set()
        assert await repo.check_ignore(later, no) == set(no)
        for i in range(6):  # more commits than are remembered
            made.commit({".gitignore": b"f%d\n" % i})
            assert await repo.check_ignore(made.head, [b"f%d" % i, b"x.log"]) == {b"f%d" % i}
        assert await repo.check_ignore(base, yes + no) == set(yes)

    run(made, work)


def test_a_linked_gitignore_counts_for_nothing(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"rules": b"*.log\n"})
    (made.top / ".gitignore").symlink_to("rules")
    base = made.commit()

    async def work(repo: Repo) -> None:
        assert await repo.check_ignore(base, [b"x.log"]) == set()

    run(made, work)


def test_b21_attributes_of_the_commit(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {})
    made.write(FILES)
    base = made.commit()
    (made.top / ".gitattributes").write_bytes(b"* filter=work\n")
    (made.top / ".git" / "info" / "attributes").write_text("* filter=info\n")

    async def work(repo: Repo) -> None:
        found = await repo.attributes(
            base, [b"a.bin", b"d/b.bin", b"pkg/c.bin", b"y.gen", b"x.gen", b"a.py"], ("filter", "linguist-generated")
        )
        assert found == {
            b"a.bin": {"filter": "lfs"},
            b"d/b.bin": {"filter": "lfs"},
            b"y.gen": {"linguist-generated": "set"},
            b"x.gen": {"linguist-generated": "unset"},
        }
        assert await repo.attributes(base, [b"a.bin"], ("merge",)) == {b"a.bin": {"merge": "lfs"}}

    run(made, work)


def test_git_that_fails_is_an_error_never_an_empty_answer(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"a\n", "b.py": b"b\n"})
    oid = made.text("rev-parse", "HEAD:a.py")
    (made.top / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    absent = "1" * 40

    async def work(repo: Repo) -> None:
        with pytest.raises(GitFailed, match=r"ls-tree.*code 128"):
            await repo.listing(absent)
        with pytest.raises(GitFailed, match=f"object {absent} is missing"):
            await repo.changes_of(absent)
        with pytest.raises(GitFailed, match=f"blob {oid} is missing") as caught:
            await repo.blobs(made.head, [b"a.py", b"b.py"])
        assert "partial clone" in caught.value.hint
        assert await repo.blobs(made.head, [b"b.py"]) == {b"b.py": b"b\n"}
        with pytest.raises(ConfigError, match=r"1 files of .* are missing or damaged in this clone, such as a\.py"):
            await (await repo.tree(made.head)).write_to(tmp_path / "out")

    run(made, work)


def test_a_child_that_died_is_replaced(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    git = Git(made.top / ".git")
    child = Child(git, "cat-file", "--batch-check", cwd=tmp_path)
    assert child.ask(b"HEAD\n", line).split()[1] == b"commit"
    process = child._process
    assert process is not None
    process.kill()
    process.wait()
    with pytest.raises(GitFailed, match="cat-file --batch-check"):
        child.ask(b"HEAD\n", line)
    assert child.ask(b"HEAD\n", line).split()[1] == b"commit"
    child.close()
    broken = Child(Git(tmp_path / "nowhere"), "cat-file", "--batch-check", cwd=tmp_path)
    with pytest.raises(GitFailed, match="not a git repository"):
        broken.ask(b"HEAD\n", line)


def test_what_dead_processes_left_is_removed(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    ended = subprocess.Popen(["true"])
    ended.wait()

    async def work(repo: Repo) -> None:
        (mine,) = (repo.state / "scratch").iterdir()
        host = mine.name.split("-")[0]
        left = repo.state / "scratch" / f"{host}-{ended.pid}-x"
        other = repo.state / "scratch" / f"elsewhere-{ended.pid}-x"
        left.mkdir()
        other.mkdir()
        again = places.find(made.top).scratch()
        assert {path.name for path in (repo.state / "scratch").iterdir()} == {mine.name, other.name, again.name}
        again.rmdir()

    run(made, work)
    assert [path.name.split("-")[0] for path in (made.top / ".git" / "sweeper" / "scratch").iterdir()] == ["elsewhere"]


@pytest.mark.parametrize("user_config", [False, True])
def test_c26_git_gets_no_key_of_a_model(user_config: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "k")
    monkeypatch.setenv("SSH_AUTH_SOCK", "agent")
    env = Git(None, user_config=user_config).environment()
    assert [name for name in env if name.startswith("ANTHROPIC")] == []
    assert env["SSH_AUTH_SOCK"] == "agent"
