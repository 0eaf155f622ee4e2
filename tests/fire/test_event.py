"""E11: pull requests from forks, and events that bring secrets together with somebody's pull request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeper.cli.event import Event, event_of
from tests.fire.project import CHECK, Project

OWN, OTHER = {"full_name": "o/r", "fork": False}, {"full_name": "x/r", "fork": True}


@pytest.fixture
def environ(tmp_path: Path) -> Callable[..., dict[str, str]]:
    def make(name: str, payload: Any, sha: str = "") -> dict[str, str]:
        path = tmp_path / "event.json"
        path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
        return {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), "GITHUB_SHA": sha}

    return make


def pull(head: Any, base: Any = OWN) -> dict[str, Any]:
    return {"pull_request": {"head": {"repo": head}, "base": {"repo": base}}}


@pytest.mark.parametrize(
    ("name", "payload", "fork", "armed"),
    [
        ("", {}, False, False),
        ("push", {}, False, False),
        ("schedule", {}, False, False),
        ("pull_request", pull(OWN), False, False),
        ("pull_request", pull(OTHER), True, False),
        ("pull_request", pull({"fork": True}), True, False),
        ("pull_request", pull(None), True, False),
        ("pull_request", pull({"full_name": "x/r", "fork": True}, {"full_name": "x/r", "fork": True}), False, False),
        ("pull_request", "no JSON", True, False),
        ("pull_request", [1], True, False),
        ("pull_request_review", pull(OTHER), True, False),
        ("pull_request_target", pull(OTHER), False, True),
        ("pull_request_target", pull(OWN), False, True),
        ("pull_request_target", "no JSON", False, True),
        ("issue_comment", {"issue": {"pull_request": {}}}, False, True),
        ("issue_comment", {"issue": {"number": 1}}, False, False),
        ("issue_comment", "no JSON", False, True),
        ("issue_comment", {"issue": []}, False, True),
        ("workflow_run", {"workflow_run": {"head_repository": OTHER}, "repository": OWN}, False, True),
        ("workflow_run", {"workflow_run": {"head_repository": OWN}, "repository": OWN}, False, False),
        ("workflow_run", {}, False, True),
    ],
)
def test_e11_events(environ: Callable[..., dict[str, str]], name: str, payload: Any, fork: bool, armed: bool) -> None:
    assert event_of(environ(name, payload, "abc")) == Event(name, fork, armed, "abc")


def paid(project: Project) -> None:
    rung = '[[sweep.s.ladder]]\nrun = "true"\nprovider = "anthropic"\nmodel = "claude-sonnet-4-5"\n'
    (project.folder / "sweeper.toml").write_text(f"[sweep.s]\ncheck = {json.dumps(CHECK)}\n{rung}")


def attempts(project: Project) -> bool:
    return (project.folder / ".git/sweeper/ledger.sqlite3").exists()


@pytest.mark.parametrize("key", ["", "sk-something"], ids=["without", "with"])
def test_e11_a_pull_request_from_a_fork_is_a_dry_run(
    project: Project, environ: Callable[..., dict[str, str]], key: str
) -> None:
    paid(project)
    env = environ("pull_request", pull(OTHER)) | {"ANTHROPIC_API_KEY": key}
    ended = project.sweeper("run", "--sandbox", "bubblewrap", env=env)
    assert ended.code == 0, ended.err
    assert "a pull request from a fork" in ended.err
    assert "pkg/m0.py" in ended.out
    assert not project.has_branch()
    assert not attempts(project)
    assert project.sweeper("run", "--sandbox", "bubblewrap", env=environ("pull_request", pull(OWN))).code == 2


def test_e11_what_costs_nothing_runs_for_a_fork_too(project: Project, environ: Callable[..., dict[str, str]]) -> None:
    project.configure({"default": ["fix"]})
    ended = project.sweeper("run", "--sandbox", "bubblewrap", env=environ("pull_request", pull(OTHER)))
    assert ended.code == 0, ended.err
    assert project.has_branch()


def test_e11_pull_request_target_with_a_head_is_refused(
    project: Project, environ: Callable[..., dict[str, str]]
) -> None:
    project.configure({"default": ["fix"]})
    base = project.git("rev-parse", "HEAD").strip()
    (project.folder / "pkg" / "theirs.py").write_text("VALUE = 9\n")
    project.commit("a head")
    for sha in (base, "0" * 40, ""):
        env = environ("pull_request_target", pull(OTHER), sha)
        ended = project.sweeper("run", "--sandbox", "bubblewrap", env=env)
        assert ended.code == 2
        assert "pull_request_target" in ended.err
        assert "--trust-checkout" in ended.err
        assert not attempts(project)
    env = environ("pull_request_target", pull(OTHER), base)
    # the base is the base branch's, but the configuration that says where keys and tokens go is the pull request's
    for words in (("run", "--sandbox", "bubblewrap", "--base", base), ("pr",)):
        ended = project.sweeper(*words, env=env)
        assert ended.code == 2
        assert "--trust-checkout" in ended.err
        assert not attempts(project)
    project.git("checkout", "--quiet", "--detach", base)
    assert project.sweeper("run", "--sandbox", "bubblewrap", "--base", base, env=env).code == 0
    project.git("checkout", "--quiet", "main")
    assert project.sweeper("run", "--sandbox", "bubblewrap", "--trust-checkout", env=env).code == 0
