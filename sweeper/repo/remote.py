"""A remote repository through the user's own git: look, fetch, push. The only part of the door that has a network.

Nothing of the user's is moved: no remote-tracking branch, no FETCH_HEAD, no hook, no configuration.
"""

from __future__ import annotations

import base64
import dataclasses
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from anyio import to_thread

from sweeper.errors import ConfigError, ForgeFailed, GitFailed
from sweeper.redact import Redactor
from sweeper.repo.bundle import Bundle
from sweeper.repo.run import Git

WALL = 600.0
PROTOCOLS = "https:http:ssh"
# How the user's own git reaches a network; every other GIT_ variable is dropped.
KEPT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_PROXY_COMMAND")
STALE = ("stale info", "fetch first", "non-fast-forward", "cannot lock ref", "reference already exists")
WORKFLOW = re.compile(r"refusing to allow .+ to create or update workflow [`']?([^`'\s]+)")
FIXED = re.compile(r"\[remote rejected\][^\[]*\(non-fast-forward\)|[Cc]annot force-push")
IN_THE_WAY = re.compile(r"'refs/heads/([^']+)' exists; cannot create")


class Remote:
    """`url` holds no credentials. `token`: sent to this URL alone, in git's environment; "" leaves the user's own."""

    def __init__(self, git: Git, url: str, token: str = "") -> None:
        self.url = url
        self._redactor = Redactor([token] if token else [])
        self._extra = {name: os.environ[name] for name in KEPT if name in os.environ}
        self._extra |= {"GIT_ALLOW_PROTOCOL": PROTOCOLS}
        if token:
            coded = base64.b64encode(f"x-access-token:{token}".encode()).decode()
            options = (
                # a list: the first word forgets what a checkout left in the repository's own configuration
                (f"http.{url}.extraHeader", ""),
                (f"http.{url}.extraHeader", f"Authorization: Basic {coded}"),
                (f"http.{url}.followRedirects", "false"),
                ("credential.helper", ""),
                ("core.askPass", ""),
            )
            git = dataclasses.replace(git, options=(*git.options, *options))
        self._git = git

    async def heads(self, branches: Iterable[str]) -> dict[str, str]:
        """Branch -> commit, of those that are there. Raises ForgeFailed."""
        wanted = {f"refs/heads/{name}": name for name in branches}
        out = await self._ask("ls-remote", "--quiet", self.url, *wanted)
        rows = (row.split("\t", 1) for row in out.decode("utf-8", "surrogateescape").splitlines() if "\t" in row)
        return {wanted[ref]: oid for oid, ref in rows if ref in wanted}

    async def fetch(self, branch: str) -> None:
        """Bring a branch's objects here, under no name. Raises ForgeFailed."""
        quiet = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
        await self._ask("fetch", *quiet, "--refmap=", self.url, f"refs/heads/{branch}")

    async def push(self, commit: str, branch: str, expected: str | None) -> None:
        """Set a branch that is at `expected` (None: does not exist). Raises ForgeFailed, "stale" if it is not."""
        ref = f"refs/heads/{branch}"
        lease = f"--force-with-lease={ref}:{expected or ''}"
        fixed = ("--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")
        await self._ask("push", *fixed, lease, self.url, f"{commit}:{ref}")

    async def _ask(self, *words: str) -> bytes:
        try:
            answer = await to_thread.run_sync(lambda: self._git.answer(*words, timeout=WALL, extra=self._extra))
            return answer[1]
        except GitFailed as problem:
            raise self._refusal(words[0], self._redactor.text(problem.said or str(problem))) from None

    def _refusal(self, what: str, said: str) -> ForgeFailed:
        line = " ".join(said.split())[-600:]
        if found := WORKFLOW.search(line):
            hint = (
                f"give the token the workflow scope (workflows: write), or leave {found[1]} out of the sweep's `allow`"
            )
            return ForgeFailed(f"the push was refused: {line}", hint=hint, reason="forbidden")
        if found := IN_THE_WAY.search(line):
            hint = f"the branch {found[1]} is in the way: name another one with [pull_request] branch"
            return ForgeFailed(f"the push was refused: {line}", hint=hint, reason="occupied")
        if FIXED.search(line):
            hint = "the forge forbids forced pushes there: take the branch out of that rule, or name another one with "
            return ForgeFailed(f"the push was refused: {line}", hint=f"{hint}[pull_request] branch", reason="forbidden")
        if what == "push" and any(word in line for word in STALE):
            return ForgeFailed(f"somebody pushed to the branch meanwhile: {line}", reason="stale")
        if "[remote rejected]" in line:
            hint = "a rule or a hook of the forge refuses it, in its own words above"
            return ForgeFailed(f"the push was refused: {line}", hint=hint, reason="forbidden")
        hint = "does `git push` work there by hand?"
        reason = "unreachable"
        if re.search(r"\b(401|403)\b|denied|[Aa]uthentication failed|could not read (Username|Password)", line):
            hint, reason = "the token or key may not do that there", "forbidden"
        return ForgeFailed(f"git {what} {self.url}: {line}", hint=hint, reason=reason)


class Remotes:
    """The remotes of one repository. `git` is the user's own."""

    def __init__(self, git: Git) -> None:
        self._git = git

    def at(self, url: str, token: str = "") -> Remote:
        return Remote(self._git, url, token)

    def carried(self, state: Path) -> Bundle:
        """What a state folder brings along from another clone."""
        return Bundle(self._git, state)

    async def url(self, name: str) -> str:
        """Where a remote's pushes go, as git resolves it; a URL stands for itself. Raises ConfigError."""
        if "://" in name:
            return name
        code, out = await self._answer("remote", "get-url", "--push", "--", name, codes=(0, 2, 128))
        if code:
            hint = "[pull_request] remote names one; `git remote -v` lists them"
            raise ConfigError(f"there is no remote {name!r}", hint=hint)
        return os.fsdecode(out).splitlines()[0]

    async def current_branch(self) -> str:
        """The branch that is checked out, "" if HEAD is none's."""
        code, out = await self._answer("symbolic-ref", "--quiet", "--short", "HEAD", codes=(0, 1, 128))
        return "" if code else os.fsdecode(out).strip()

    async def tracked(self, remote: str, branch: str) -> str:
        """Where a remote's branch was when it was last fetched, "" if it never was; `remote`: its name."""
        ref = f"refs/remotes/{remote}/{branch}"
        code, out = await self._answer(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", codes=(0, 1, 128)
        )
        return "" if code else os.fsdecode(out).strip()

    async def has(self, commit: str) -> bool:
        """Whether a commit is here already."""
        return (await self._answer("cat-file", "-e", f"{commit}^{{commit}}", codes=(0, 1, 128)))[0] == 0

    async def beyond(self, tip: str, base: str, most: int) -> list[str]:
        """The newest commits of a line that another one does not have, the oldest first. Raises GitFailed."""
        words = ("rev-list", "--first-parent", f"--max-count={most}", tip, f"^{base}")
        _, out = await self._answer(*words, codes=(0,))
        return out.decode().split()[::-1]

    async def _answer(self, *words: str, codes: Sequence[int]) -> tuple[int, bytes]:
        return await to_thread.run_sync(lambda: self._git.answer(*words, codes=codes))
