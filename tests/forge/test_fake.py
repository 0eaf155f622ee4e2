"""The fake forge is what PyGithub, git and GitHub's own words take for one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import github
import pytest

from tests.forge.server import TOKEN, Forge

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "credential.helper=")


def push(forge: Forge, folder: Path, branch: str = "topic", token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    forge.hub.commit_on("main", "README.md", "hello\n")
    url = forge.clone.replace("://", f"://x-access-token:{token}@")
    subprocess.run([*GIT, "clone", "-q", url.replace(token, TOKEN), "."], cwd=folder, check=True)
    (folder / "new.txt").write_text("new\n")
    for words in (["checkout", "-q", "-b", branch], ["add", "."], ["commit", "-qm", "new"]):
        subprocess.run([*GIT, *words], cwd=folder, check=True)
    words = [*GIT, "push", "-q", url, f"HEAD:refs/heads/{branch}"]
    return subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)


def test_pygithub_opens_reads_edits_and_closes(forge: Forge, tmp_path: Path) -> None:
    assert push(forge, tmp_path / "clone").returncode == 0
    with github.Github(base_url=forge.api, auth=github.Auth.Token(TOKEN)) as hub:
        repository = hub.get_repo("acme/widgets")
        assert hub.get_user().login == "dev"
        assert repository.permissions.push
        made = repository.create_pull(base="main", head="topic", title="T", body="B", draft=True)
        assert (made.number, made.draft, made.head.sha) == (1, True, forge.hub.tip("topic"))
        made.add_to_labels("lint")
        made.create_review_request(reviewers=["kim"])
        made.add_to_assignees("lee")
        made.edit(title="T2")
        made.create_issue_comment("hello")
        made.mark_ready_for_review()
        (found,) = repository.get_pulls(state="open", head="acme:topic")
        assert (found.title, found.draft, [label.name for label in found.labels]) == ("T2", False, ["lint"])
        assert forge.hub.pulls[1].comments == ["hello"]
        with pytest.raises(github.GithubException, match="already exists") as twice:
            repository.create_pull(base="main", head="topic", title="T", body="B")
        assert twice.value.status == 422
        with pytest.raises(github.GithubException, match="too long"):
            made.edit(body="x" * 65_537)
        made.edit(state="closed")
        assert list(repository.get_pulls(state="open")) == []
        forge.hub.git("update-ref", "-d", "refs/heads/topic")
        with pytest.raises(github.GithubException, match="invalid"):
            repository.create_pull(base="main", head="topic", title="T", body="B")
    with (
        github.Github(base_url=forge.api, auth=github.Auth.Token("wrong")) as hub,
        pytest.raises(github.BadCredentialsException),
    ):
        hub.get_repo("acme/widgets")


def test_a_deleted_branch_closes_its_pull_request(forge: Forge, tmp_path: Path) -> None:
    push(forge, tmp_path / "clone")
    with github.Github(base_url=forge.api, auth=github.Auth.Token(TOKEN)) as hub:
        repository = hub.get_repo("acme/widgets")
        made = repository.create_pull(base="main", head="topic", title="T", body="B")
        forge.hub.git("update-ref", "-d", "refs/heads/topic")
        made.update()
        assert made.state == "closed"


def test_a_wrong_token_pushes_nothing(forge: Forge, tmp_path: Path) -> None:
    refused = push(forge, tmp_path / "clone", token="wrong")
    assert refused.returncode != 0
    assert forge.hub.tip("topic") is None


def test_a_workflow_file_is_refused_without_the_scope(forge: Forge, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    push(forge, clone)
    place = clone / ".github/workflows/ci.yml"
    place.parent.mkdir(parents=True)
    place.write_text("on: push\n")
    for words in (["add", "."], ["commit", "-qm", "ci"]):
        subprocess.run([*GIT, *words], cwd=clone, check=True)
    words = [*GIT, "push", "origin", "HEAD:refs/heads/ci"]
    refused = subprocess.run(words, cwd=clone, check=False, capture_output=True, text=True)
    assert "without `workflow` scope" in refused.stderr
    assert forge.hub.tip("ci") is None
    forge.hub.tokens[TOKEN].workflows = True
    assert subprocess.run(words, cwd=clone, check=False, capture_output=True).returncode == 0
