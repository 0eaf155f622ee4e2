from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sweeper.errors import ConfigError, GitFailed, SweeperError
from sweeper.records import Change
from sweeper.repo import Repo
from sweeper.repo import refs as refs_module
from tests.repo.builders import project
from tests.repo.test_write import run
from tests.waiting import PATIENCE


async def some(repo: Repo, base: str, name: str) -> str:
    return await repo.write_change(base, [Change("a.py", name.encode())], name, f"refs/sweeper/r/{name}/1", 1.0)


def test_refs_are_found_and_deleted_by_prefix(tmp_path: Path) -> None:
    made = project(tmp_path / "p")

    async def work(repo: Repo) -> None:
        commits = {f"refs/sweeper/r/u{i}/1": await some(repo, made.head, f"u{i}") for i in range(5)}
        await repo.create_ref("refs/sweeper/rest/u/1", made.head)
        assert await repo.refs("refs/sweeper/r") == commits
        made.git("pack-refs", "--all")
        assert await repo.find_ref("refs/sweeper/r/u3/1") == commits["refs/sweeper/r/u3/1"]
        assert await repo.delete_refs("refs/sweeper/r/") == 5
        assert await repo.refs("refs/sweeper/") == {"refs/sweeper/rest/u/1": made.head}
        assert await repo.delete_refs("refs/sweeper/r") == 0

    run(made, work)


@pytest.mark.parametrize(
    "ref", ["refs/heads/main", "refs/sweeper", "refs/sweeper/../heads/main", "refs/sweeper/a.lock", "x"]
)
def test_nothing_but_our_refs_is_written_or_deleted(tmp_path: Path, ref: str) -> None:
    made = project(tmp_path / "p")

    async def work(repo: Repo) -> None:
        with pytest.raises(GitFailed, match="no ref below"):
            await repo.find_ref(ref)
        with pytest.raises(GitFailed, match="no ref below"):
            await repo.create_ref(ref, made.head)
        with pytest.raises(GitFailed, match="no ref below"):
            await repo.delete_refs(ref)

    run(made, work)
    assert made.text("rev-parse", "main") == made.head


def test_update_branch_compares_and_swaps(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    head = made.head

    async def work(repo: Repo) -> None:
        one, two = await some(repo, head, "one"), await some(repo, head, "two")
        assert await repo.branch("sweeper/ruff") is None
        await repo.update_branch("sweeper/ruff", one, None)
        await repo.update_branch("sweeper/ruff", two, one)
        assert await repo.branch("sweeper/ruff") == two
        for expected in (one, None):
            with pytest.raises(SweeperError, match="was expected") as caught:
                await repo.update_branch("sweeper/ruff", one, expected)
            assert caught.value.hint
        for name in ("a b", "-x", "a..b", "x.lock", "@{-1}", ""):
            with pytest.raises(ConfigError, match="no name for a branch"):
                await repo.update_branch(name, one, None)

    run(made, work)
    assert made.text("rev-parse", "HEAD") == head
    assert made.git("status", "--porcelain") == b""


def test_a_checked_out_branch_is_never_moved(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    made.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "wt"))
    head = made.head

    async def work(repo: Repo) -> None:
        one = await some(repo, head, "one")
        for name, place in (("main", made.top), ("side", tmp_path / "wt")):
            with pytest.raises(SweeperError, match=f"is checked out in {place}"):
                await repo.update_branch(name, one, head)
            assert await repo.branch(name) == head

    run(made, work)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("git branch sweeper", "a branch sweeper, beside"),
        ("git branch sweeper/x/y", "a branch sweeper/x/y, beside"),
        ("git pack-refs --all; git branch sweeper/x/y; git pack-refs --all", "a branch sweeper/x/y, beside"),
        ("git checkout -qb sweeper/x; git rebase -q --exec false HEAD~1; git status", "middle of a rebase"),
        ("git worktree add -qb sweeper/x ../w; cd ../w; git rebase -q --exec false HEAD~1", "middle of a rebase"),
        ("git checkout -qb sweeper/x; git bisect start; git bisect bad; git bisect good HEAD~2", "a bisection"),
        ("git checkout -qb sweeper/x", "checked out"),
        ("git checkout -qb sweeper/xx; git branch sweeper/x", ""),
        ("git branch sweeper-x; git branch sweepers", ""),
    ],
)
def test_b17_a_branch_in_use_or_in_the_way(tmp_path: Path, script: str, why: str) -> None:
    made = project(tmp_path / "p")
    made.commit({"b.py": b"1"})
    made.commit({"b.py": b"2"})
    identity = {f"GIT_{who}_{what}": "t@e.x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["sh", "-c", script], cwd=made.top, env=os.environ | identity, capture_output=True, check=False)

    async def work(repo: Repo) -> None:
        said = await repo.branch_in_use("sweeper/x")
        assert why in said
        assert bool(why) == bool(said)
        old = await repo.branch("sweeper/x")
        one = await some(repo, made.head, "one")
        if why:
            with pytest.raises(SweeperError, match=why):
                await repo.update_branch("sweeper/x", one, old)
        else:
            await repo.update_branch("sweeper/x", one, old)
        assert await repo.branch("sweeper/x") == (old if why else one)

    run(made, work)


def test_a_branch_that_is_a_link_does_not_move_its_target(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    made.git("symbolic-ref", "refs/heads/sweeper/x", "refs/heads/main")
    head = made.head

    async def work(repo: Repo) -> None:
        one = await some(repo, head, "one")
        await repo.update_branch("sweeper/x", one, head)
        assert await repo.branch("main") == head
        assert await repo.branch("sweeper/x") == one

    run(made, work)


def test_b17_user_locks_do_not_matter(tmp_path: Path) -> None:
    """The user's index lock stops nothing of ours, and we never take it or delete it."""
    made = project(tmp_path / "p")
    lock = made.top / ".git" / "index.lock"
    lock.write_text("")

    async def work(repo: Repo) -> None:
        one, two = await some(repo, made.head, "one"), await some(repo, made.head, "two")
        assert isinstance(await repo.replay(one, made.head), str)
        await repo.update_branch("sweeper/x", two, None)
        assert await repo.is_dirty() == []

    run(made, work)
    assert lock.exists()


def test_b17_a_stale_ref_lock_is_reported_with_its_age(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    lock = made.top / ".git" / "refs" / "sweeper" / "r" / "one" / "1.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("")
    os.utime(lock, (lock.stat().st_mtime - 3600, lock.stat().st_mtime - 3600))

    async def work(repo: Repo) -> None:
        with pytest.raises(GitFailed) as caught:
            await some(repo, made.head, "one")
        assert str(lock) in caught.value.hint
        assert "360" in caught.value.hint
        assert "remove it yourself" in caught.value.hint

    run(made, work)
    assert lock.exists()


WRITER = """
import sys, anyio
from pathlib import Path
from sweeper.records import Change
from sweeper.repo import Repo

async def main(top, who):
    async with await Repo.open(Path(top)) as repo:
        base = await repo.resolve("main")
        async def one(i):
            change = [Change("a.py", f"{who} {i}".encode())]
            await repo.write_change(base, change, "m", f"refs/sweeper/r/{who}-{i}/1", 1.0)
        async with anyio.create_task_group() as group:
            for i in range(8):
                group.start_soon(one, i)

anyio.run(main, *sys.argv[1:])
"""


def test_b17_processes_and_tasks_write_at_once(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(made.top), f"w{i}"]) for i in range(3)]
    assert [writer.wait(PATIENCE) for writer in writers] == [0, 0, 0]
    assert len(made.text("for-each-ref", "--format=%(refname)", "refs/sweeper/").splitlines()) == 24
    assert made.text("fsck", "--strict", "--no-dangling") == ""


def test_b17_a_held_writer_lock_is_an_error_with_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = project(tmp_path / "p")
    monkeypatch.setattr(refs_module, "WAIT", 0.05)

    async def work(repo: Repo) -> None:
        from filelock import FileLock

        with FileLock(repo.state / "writer.lock"), pytest.raises(SweeperError, match="has been writing") as caught:
            await some(repo, made.head, "one")
        assert "writer.lock" in caught.value.hint
        await some(repo, made.head, "one")

    run(made, work)


def test_b23_commits_are_signed_only_at_the_end(tmp_path: Path) -> None:
    """commit.gpgSign with a program that fails: captures and merges do not care, signing says it clearly."""
    made = project(tmp_path / "p")
    made.git("config", "commit.gpgSign", "true")
    made.git("config", "gpg.program", "/bin/false")
    base = made.head

    async def work(repo: Repo) -> None:
        assert repo.signs
        one = await some(repo, base, "one")
        tip = await repo.commit_tree((await repo.commit_of(one)).tree, [base], "done", 1.0)
        with pytest.raises(GitFailed, match=r"could not be signed.*gpg failed") as caught:
            await repo.sign(base, tip)
        assert "gpg" in caught.value.hint
        signer = tmp_path / "signer"
        signer.write_text(
            "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\n"
            "echo '-----BEGIN PGP SIGNATURE-----'\necho\necho x\necho '-----END PGP SIGNATURE-----'\n"
        )
        signer.chmod(0o755)
        made.git("config", "gpg.program", str(signer))
        made.git("config", "user.name", "Ann")
        signed = await repo.sign(base, tip)
        assert b"gpgsig -----BEGIN" in made.git("cat-file", "commit", signed)
        assert (await repo.commit_of(signed)).tree == (await repo.commit_of(tip)).tree
        assert (await repo.commit_of(signed)).parents == (base,)
        assert (await repo.commit_of(signed)).message == "done\n"

    run(made, work)


def test_b23_a_signer_that_waits_ends_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sweeper.repo import commits

    monkeypatch.setattr(commits, "SIGNING", 0.2)
    made = project(tmp_path / "p")
    (tmp_path / "slow").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "slow").chmod(0o755)
    made.git("config", "gpg.program", str(tmp_path / "slow"))
    base = made.head
    tip = made.commit({"a.py": b"b\n"})

    async def work(repo: Repo) -> None:
        with pytest.raises(GitFailed, match="did not end within"):
            await repo.sign(base, tip)

    run(made, work)


def test_b24_hooks_do_not_run(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    proof = tmp_path / "ran"
    for folder in (made.top / ".git" / "hooks", made.top / ".husky"):
        folder.mkdir(exist_ok=True)
        for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "pre-merge-commit"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {proof}\nexit 1\n")
            (folder / name).chmod(0o755)
    made.git("config", "core.hooksPath", ".husky")
    base = made.head

    async def work(repo: Repo) -> None:
        one = await some(repo, base, "one")
        tip = await repo.commit_tree((await repo.commit_of(one)).tree, [base], "done", 1.0)
        await repo.update_branch("sweeper/x", tip, None)
        await repo.delete_refs("refs/sweeper/r")

    run(made, work)
    assert not proof.exists()


def test_b28_the_users_work_is_reported_and_left_alone(tmp_path: Path) -> None:
    made = project(tmp_path / "p", {"a.py": b"a\n", "b.py": b"b\n", ".gitignore": b"*.log\n"})
    made.write({"a.py": b"edited\n", "notes.txt": b"mine\n", "new/x.py": b"x\n", "x.log": b"log\n"})
    made.write({"staged.py": b"s\n"})
    made.git("add", "staged.py")
    (made.top / "b.py").unlink()
    before = (
        made.git("status", "--porcelain"),
        (made.top / ".git" / "index").read_bytes(),
        made.text("rev-parse", "HEAD"),
    )

    async def work(repo: Repo) -> None:
        base = await repo.resolve("HEAD")
        assert sorted(await repo.is_dirty()) == ["a.py", "b.py", "new/", "notes.txt", "staged.py"]
        await (await repo.tree(base)).write_to(tmp_path / "out")
        assert (tmp_path / "out" / "a.py").read_bytes() == b"a\n"
        assert not (tmp_path / "out" / "notes.txt").exists()
        one = await some(repo, base, "one")
        assert [change.path for change in await repo.changes_of(one)] == ["a.py"]
        await repo.update_branch("sweeper/x", one, None)

    run(made, work)
    after = (
        made.git("status", "--porcelain"),
        (made.top / ".git" / "index").read_bytes(),
        made.text("rev-parse", "HEAD"),
    )
    assert after == before
    assert (made.top / "a.py").read_bytes() == b"edited\n"
