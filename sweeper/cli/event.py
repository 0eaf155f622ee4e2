"""What started this process on GitHub: whose commits are checked out, and what lies beside them.

A pull request from a fork comes without secrets and with a read-only token, so that nothing can be paid for or written.
The events that bring secrets together with somebody's pull request are the opposite danger: there only the base
branch's own commits are worked on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeper.errors import ConfigError, GitFailed
from sweeper.repo import Repo

TARGET = "pull_request_target"


@dataclass(frozen=True, slots=True)
class Event:
    """`fork`: a pull request from another repository, without secrets. `armed`: one that finds secrets here; then
    `tip` is the base branch's newest commit.
    """

    name: str = ""
    fork: bool = False
    armed: bool = False
    tip: str = ""


class DryRun(Exception):
    """Nothing may be paid for or written here: what would be done is shown instead. Says why."""


def event_of(environ: Mapping[str, str]) -> Event:
    """The event by GITHUB_EVENT_NAME and its payload. What a payload doesn't tell counts as the worse case."""
    name = environ.get("GITHUB_EVENT_NAME", "")
    payload = _payload(environ.get("GITHUB_EVENT_PATH", ""))
    armed = (
        name == TARGET
        or (name == "issue_comment" and "pull_request" in (_part(payload, "issue") or {"pull_request": "not told"}))
        or (name == "workflow_run" and _foreign(_part(payload, "workflow_run"), payload))
    )
    pull = _part(payload, "pull_request")
    fork = name.startswith("pull_request") and not armed and _from_fork(pull)
    return Event(name, fork, armed, environ.get("GITHUB_SHA", ""))


def spare(event: Event, *, paid: bool) -> None:
    """Raises DryRun where models or a pull request are asked for, and the run is for a pull request from a fork."""
    if event.fork and paid:
        raise DryRun("a pull request from a fork has no secrets and may write nothing, so no run is started")


async def guard(event: Event, repo: Repo, base: str, *, trusted: bool) -> None:
    """Raises ConfigError for a pull request's own commit beside secrets, unless a person said that it is `trusted`.

    What is checked out must be the base branch's too, whatever the run's base: its configuration says which secret
    goes where.
    """
    if not event.armed or trusted:
        return
    for commit in dict.fromkeys([await repo.resolve(base), await repo.resolve("HEAD")]):
        if not await _is_own(event, repo, commit):
            raise _stranger(event, commit)


async def _is_own(event: Event, repo: Repo, commit: str) -> bool:
    try:
        return bool(event.tip) and await repo.descends(event.tip, commit)
    except GitFailed:  # it is not even here
        return False


def _stranger(event: Event, commit: str) -> ConfigError:
    return ConfigError(
        f"the event {event.name} brings this repository's secrets, and {commit[:12]} is no commit of its base branch: "
        "a pull request's own code and configuration would be beside them",
        hint="check out the base branch; or run on the event pull_request, which has no secrets; or say "
        "--trust-checkout if nobody else can choose that commit",
    )


def _from_fork(pull: Mapping[str, Any]) -> bool:
    head, base = _part(_part(pull, "head"), "repo"), _part(_part(pull, "base"), "repo")
    names = head.get("full_name"), base.get("full_name")
    # a repository that is a fork itself has pull requests of its own, too
    return names[0] != names[1] if all(names) else head.get("fork") is not False


def _foreign(run: Mapping[str, Any], payload: Mapping[str, Any]) -> bool:
    head, own = _part(run, "head_repository").get("full_name"), _part(payload, "repository").get("full_name")
    return head is None or head != own


def _payload(path: str) -> Mapping[str, Any]:
    try:
        value = json.loads(Path(path).read_bytes()) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}
