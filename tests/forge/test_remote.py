"""The user's own git towards the forge: what it pushes, what it refuses to push over, and where the token is not."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from sweeper.errors import ConfigError, ForgeFailed
from sweeper.repo import Remote, Repo
from tests.forge.server import TOKEN, Forge
from tests.repo.builders import Project

Step = Callable[[Repo, Remote], Awaitable[None]]


@pytest.fixture
def clone(tmp_path: Path, forge: Forge) -> Project:
    project = Project(tmp_path / "clone")
    project.top.mkdir()
    project.git("init", "--quiet")
    project.commit({"a.txt": b"a\n"})
    project.git("remote", "add", "origin", forge.clone)
    return project


def do(project: Project, forge: Forge, step: Step, token: str = TOKEN) -> None:
    async def main() -> None:
        async with await Repo.open(project.top) as repo:
            await step(repo, repo.remotes.at(forge.clone, token))

    anyio.run(main)


def test_a_push_expects_exactly_what_was_seen(clone: Project, forge: Forge) -> None:
    first = clone.head
    second = clone.commit({"b.txt": b"b\n"})

    async def step(repo: Repo, remote: Remote) -> None:
        await remote.push(first, "sweeper/s", None)
        assert await remote.heads(["sweeper/s", "none"]) == {"sweeper/s": first}
        with pytest.raises(ForgeFailed) as stale:
            await remote.push(second, "sweeper/s", None)
        assert stale.value.reason == "stale"
        await remote.push(second, "sweeper/s", first)
        theirs = forge.hub.commit_on("sweeper/s", "theirs.txt", "x\n")
        with pytest.raises(ForgeFailed) as stale:
            await remote.push(first, "sweeper/s", second)
        assert stale.value.reason == "stale"
        assert forge.hub.tip("sweeper/s") == theirs
        assert not await repo.remotes.has(theirs)
        await remote.fetch("sweeper/s")
        assert await repo.remotes.has(theirs)
        assert await repo.descends(theirs, second)

    do(clone, forge, step)
    assert clone.text("for-each-ref", "refs/remotes") == ""
    assert not (clone.top / ".git/FETCH_HEAD").exists()


def test_a_branch_in_the_way_and_a_rule_of_the_forge_are_named(clone: Project, forge: Forge) -> None:
    async def step(repo: Repo, remote: Remote) -> None:
        await remote.push(clone.head, "sweeper", None)
        with pytest.raises(ForgeFailed) as refused:
            await remote.push(clone.head, "sweeper/s", None)
        assert refused.value.reason == "occupied"
        assert "the branch sweeper is in the way" in refused.value.hint
        hook = forge.hub.git_dir / "hooks/pre-receive"
        hook.write_text("#!/bin/sh\necho GH013: Repository rule violations found >&2\nexit 1\n")
        with pytest.raises(ForgeFailed, match="GH013") as refused:
            await remote.push(clone.head, "other", None)
        assert refused.value.reason == "forbidden"

    do(clone, forge, step)


def test_a_checkouts_own_header_is_forgotten(clone: Project, forge: Forge) -> None:
    """actions/checkout leaves one in the configuration; two of them are a bad request."""
    for place in (forge.url + "/", forge.clone):
        clone.git("config", "--add", f"http.{place}.extraheader", "AUTHORIZATION: basic d3Jvbmc6d3Jvbmc=")
    clone.git("config", "credential.helper", "!echo password=wrong; echo username=wrong; :")

    async def step(repo: Repo, remote: Remote) -> None:
        await remote.push(clone.head, "sweeper/s", None)

    do(clone, forge, step)
    assert forge.hub.tip("sweeper/s") == clone.head


def test_a_wrong_token_is_refused_without_a_prompt(clone: Project, forge: Forge) -> None:
    async def step(repo: Repo, remote: Remote) -> None:
        with pytest.raises(ForgeFailed) as refused:
            await remote.push(clone.head, "sweeper/s", None)
        assert refused.value.reason == "forbidden"
        assert "wrong-token-wrong" not in str(refused.value)

    do(clone, forge, step, "wrong-token-wrong")


def test_the_token_is_on_no_command_line_in_no_url_and_no_file(
    clone: Project, forge: Forge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every git that is started writes down its words; afterwards the whole repository is searched."""
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    log, bin = tmp_path / "words", tmp_path / "bin"
    bin.mkdir()
    (bin / "git").write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec {real} "$@"\n')
    (bin / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GIT_TRACE_CURL", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_CURL_VERBOSE", "1")

    async def step(repo: Repo, remote: Remote) -> None:
        await remote.push(clone.head, "sweeper/s", None)
        await remote.fetch("sweeper/s")

    do(clone, forge, step)
    words = log.read_text()
    assert "push" in words
    assert TOKEN not in words
    assert not (tmp_path / "trace").exists()
    for path in (clone.top / ".git").rglob("*"):
        if path.is_file():
            assert TOKEN.encode() not in path.read_bytes(), path


def test_the_user_s_remote_is_resolved_and_no_other_is(clone: Project, forge: Forge) -> None:
    async def step(repo: Repo, remote: Remote) -> None:
        assert await repo.remotes.url("origin") == forge.clone
        assert await repo.remotes.url("https://example.com/a/b") == "https://example.com/a/b"
        assert await repo.remotes.current_branch() == "main"
        with pytest.raises(ConfigError, match="no remote 'nowhere'") as missing:
            await repo.remotes.url("nowhere")
        assert missing.value.hint

    clone.git("branch", "-M", "main")
    do(clone, forge, step)


def test_a_shallow_single_branch_clone_pushes(clone: Project, forge: Forge, tmp_path: Path) -> None:
    """E04: stale information of a fresh clone."""
    clone.commit({"b.txt": b"b\n"})

    async def push(repo: Repo, remote: Remote) -> None:
        await remote.push(clone.head, "main", None)
        await remote.push(clone.text("rev-parse", "HEAD~"), "sweeper/s", None)

    do(clone, forge, push)
    shallow = Project(tmp_path / "shallow")
    secret = forge.clone.replace("://", f"://x:{TOKEN}@")
    subprocess.run(["git", "clone", "-q", "--depth", "1", "-b", "main", secret, str(shallow.top)], check=True)
    made = shallow.commit({"c.txt": b"c\n"})

    async def step(repo: Repo, remote: Remote) -> None:
        seen = (await remote.heads(["sweeper/s"]))["sweeper/s"]
        await remote.push(made, "sweeper/s", seen)

    do(shallow, forge, step)
    assert forge.hub.tip("sweeper/s") == made


def test_d22_a_sandboxs_repository_has_neither_remote_nor_token(clone: Project, forge: Forge) -> None:
    """The export's own .git is synthetic; what is in the user's configuration never gets there."""
    clone.git("remote", "set-url", "origin", forge.clone.replace("://", f"://x:{TOKEN}@"))

    async def step(repo: Repo, remote: Remote) -> None:
        tree = await repo.tree(clone.head)
        assert not any(re.match(rb"(^|/)\.git(/|$)", path) for path in tree.listing)

    do(clone, forge, step)
