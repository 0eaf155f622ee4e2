"""The fake forge's state: repositories, people, pull requests; what GitHub would refuse is refused here."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

BODY_LIMIT = 65_536
GIT_ENV = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
NO_WORKFLOWS = """#!/bin/sh
# What GitHub does to a token that lacks the scope.
test "$FORGE_MAY_CHANGE_WORKFLOWS" = yes && exit 0
while read old new ref; do
    test "$new" = "${new#0000000}" || continue
    base=$(git rev-parse --verify --quiet refs/heads/main) || continue
    file=$(git diff --name-only "$base" "$new" -- .github/workflows | head -n 1)
    test -z "$file" && continue
    echo "refusing to allow a Personal Access Token to create or update workflow \\`$file\\`" \\
        "without \\`workflow\\` scope" >&2
    exit 1
done
"""


@dataclass
class Person:
    """Whoever has a token. `bot`: an App's, which has no user of its own; `scopes`: a classic token's."""

    login: str
    push: bool = True
    may_open: bool = True
    workflows: bool = False
    bot: bool = False
    scopes: str | None = None


@dataclass
class Failure:
    """The next `times` requests that match method and the end of the path are answered with this.

    `after`: the request is carried out all the same, only its answer is lost.
    """

    method: str
    path: str
    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    after: bool = False


@dataclass
class Pull:
    number: int
    title: str
    body: str
    head: str
    base: str
    author: str
    draft: bool
    bot: bool = False
    state: str = "open"
    merged: bool = False
    last_head: str = ""
    labels: list[str] = field(default_factory=list)
    reviewers: list[str] = field(default_factory=list)
    teams: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    milestone: int | None = None
    comments: list[str] = field(default_factory=list)


@dataclass
class Hub:
    """One repository "owner/name" in a bare git directory below `folder`. `tokens`: token -> who has it."""

    folder: Path
    owner: str = "acme"
    name: str = "widgets"
    default_branch: str = "main"
    tokens: dict[str, Person] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    pulls: dict[int, Pull] = field(default_factory=dict)
    milestones: dict[int, str] = field(default_factory=lambda: {1: "v1"})
    requests: list[str] = field(default_factory=list)
    drafts: bool = True
    private: bool = False
    archived: bool = False
    lag: int = 0  # reads of a pull request that still show its former head

    @property
    def full(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def git_dir(self) -> Path:
        return self.folder / self.owner / f"{self.name}.git"

    def create(self) -> None:
        self.git_dir.mkdir(parents=True)
        self.git("init", "-q", "--bare", "-b", self.default_branch)
        self.git("config", "http.receivepack", "true")
        self.git("config", "uploadpack.allowAnySHA1InWant", "true")
        hook = self.git_dir / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(NO_WORKFLOWS)
        hook.chmod(0o755)

    def git(self, *words: str, stdin: str = "") -> str:
        env = {**os.environ, **GIT_ENV}
        done = subprocess.run(
            ["git", *words], cwd=self.git_dir, env=env, input=stdin, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def tip(self, branch: str) -> str | None:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"],
            cwd=self.git_dir,
            env={**os.environ, **GIT_ENV},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() or None

    def branches(self) -> dict[str, str]:
        rows = self.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads").splitlines()
        return dict(row.split(" ") for row in rows)

    def commit_on(self, branch: str, path: str, content: str, message: str = "by hand") -> str:
        """A person's commit on a branch of the forge, without any clone."""
        parent = self.tip(branch)
        blob = self.git("hash-object", "-w", "--stdin", stdin=content)
        index = str(self.git_dir / f"index-{time.monotonic_ns()}")
        env = {**os.environ, **GIT_ENV, "GIT_INDEX_FILE": index}
        for words in (
            ["read-tree", parent or "--empty"],
            ["update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"],
        ):
            subprocess.run(["git", *words], cwd=self.git_dir, env=env, check=True, capture_output=True)
        tree = subprocess.run(
            ["git", "write-tree"], cwd=self.git_dir, env=env, check=True, capture_output=True, text=True
        ).stdout.strip()
        os.unlink(index)
        words = ["-c", "user.name=Human", "-c", "user.email=human@example.invalid", "commit-tree", tree, "-m", message]
        commit = self.git(*words, *(["-p", parent] if parent else []))
        self.git("update-ref", f"refs/heads/{branch}", commit)
        return commit

    def fail(self, method: str, path: str, status: int, message: str, **more: Any) -> None:
        errors = more.pop("errors", None)
        body = {"message": message} | ({"errors": errors} if errors else {})
        self.failures.append(Failure(method, path, status, body, **more))

    def failure(self, method: str, path: str) -> Failure | None:
        for each in self.failures:
            if each.method == method and path.endswith(each.path) and each.times > 0:
                each.times -= 1
                return each
        return None

    def open_pulls(self) -> list[Pull]:
        return [pull for pull in self.pulls.values() if pull.state == "open"]

    def head_of(self, pull: Pull) -> str:
        """A deleted branch closes its pull request, which then keeps the last head."""
        tip = self.tip(pull.head)
        if pull.state == "open":
            if tip is None:
                pull.state = "closed"
            elif tip != pull.last_head and self.lag > 0:
                self.lag -= 1
            else:
                pull.last_head = tip
        return pull.last_head

    def state(self) -> dict[str, Any]:
        """Everything as it is now, for a test in another process and for a comparison with later."""
        for pull in self.pulls.values():
            self.head_of(pull)
        return {
            "branches": self.branches(),
            "pulls": [asdict(pull) for pull in self.pulls.values()],
            "requests": list(self.requests),
        }

    def __iter__(self) -> Iterator[Pull]:
        return iter(self.pulls.values())

    def __str__(self) -> str:
        return json.dumps(self.state(), indent=2)
