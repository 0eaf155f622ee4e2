"""Refs: create, find, delete, move a branch. Every write happens under one lock between processes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from filelock import FileLock, Timeout

from sweeper.errors import ConfigError, GitFailed, SweeperError
from sweeper.repo.run import Child, Git, line, lock_hint

OURS = "refs/sweeper/"
WAIT = 120.0  # seconds for another process to finish its write
# Where git remembers the branch that a rebase or a bisection will return to.
PAUSED = ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START")
NAME = re.compile(r"refs/sweeper(/[A-Za-z0-9_][A-Za-z0-9._+=-]*)+")


class Refs:
    """`git` is bound to the user's repository, whose worktrees share `common`; `zero`: the id for "no object"."""

    def __init__(self, git: Git, common: Path, lock: Path, zero: str) -> None:
        self._git, self._common, self._path, self._zero = git, common, lock, zero
        self._updates = Child(git, "update-ref", "--no-deref", "-m", "sweeper", "--stdin", "-z", cwd=lock.parent)

    def close(self) -> None:
        self._updates.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer lock. The system frees it when its holder dies; it is never deleted."""
        # One object per entry: a shared one counts its holders and would let a second thread in.
        lock = FileLock(self._path, thread_local=False, poll_interval=0.01)
        try:
            lock.acquire(timeout=WAIT)
        except Timeout as problem:
            raise SweeperError(
                f"another process has been writing to the repository for {WAIT:g} s", hint=lock_hint(f"'{self._path}'")
            ) from problem
        try:
            yield
        finally:
            lock.release()

    def find(self, ref: str) -> str | None:
        """The commit of a ref of ours, or None."""
        code, out = self._git.answer("rev-parse", "--verify", "--quiet", checked(ref), codes=(0, 1))
        return None if code else out.decode().strip()

    def under(self, prefix: str) -> dict[str, str]:
        """Our refs below a prefix: name -> commit."""
        if prefix != OURS:
            prefix = checked(prefix.rstrip("/"))
        out = self._git.run("for-each-ref", "--format=%(refname)%00%(objectname)", prefix)
        return dict(row.split("\0") for row in out.decode().splitlines())

    def create(self, ref: str, commit: str) -> None:
        """Raises GitFailed if the ref exists with another commit; the same one is fine (a repeated capture)."""
        with self.writing():
            try:
                self._update([f"create {checked(ref)}\0{commit}\0"])
            except GitFailed:
                if self.find(ref) != commit:
                    raise

    def delete(self, prefix: str) -> int:
        """Delete our refs below a prefix, all or none; how many there were."""
        with self.writing():
            found = self.under(prefix)
            if found:
                self._update([f"delete {ref}\0{commit}\0" for ref, commit in found.items()])
        return len(found)

    def branch(self, name: str) -> str | None:
        """The commit of a branch, or None."""
        ref = self._branch_ref(name)
        code, out = self._git.answer("rev-parse", "--verify", "--quiet", ref + "^{commit}", codes=(0, 1))
        return None if code else out.decode().strip()

    def move_branch(self, name: str, new: str, expected: str | None) -> None:
        """Set a branch if it is where it is expected (None: it does not exist).

        Raises SweeperError if it is worked on in a worktree or is elsewhere.
        """
        ref = self._branch_ref(name)
        with self.writing():
            now = self.branch(name)
            if now != expected:
                raise SweeperError(
                    f"branch {name} is at {now or 'no commit'}, {expected or 'no commit'} was expected",
                    hint="somebody moved it meanwhile: rename or delete that branch and run again",
                )
            if why := self.in_use(name):
                raise SweeperError(why, hint="leave that branch, or rename what is in the way, and run again")
            self._update([f"update {ref}\0{new}\0{expected or self._zero}\0"])

    def in_use(self, name: str) -> str:
        """Why a branch must not be moved or made by us, "" if nothing forbids it."""
        ref = self._branch_ref(name)
        if place := self._checked_out(ref):
            return f"branch {name} is checked out in {place}"
        if (folder := self._paused_on(name)) is not None:
            return f"branch {name} is in the middle of a rebase or a bisection in {folder}"
        above = ["/".join(name.split("/")[:depth]) for depth in range(1, name.count("/") + 1)]
        below = self._git.run("for-each-ref", "--count=1", "--format=%(refname:lstrip=2)", f"{ref}/").decode().split()
        if other := next(filter(self.branch, above), None) or next(iter(below), None):
            return f"there is a branch {other}, beside which git allows none that is named {name}"
        return ""

    def _checked_out(self, ref: str) -> str | None:
        """The worktree in which a branch is checked out, or None. A bare repository's HEAD checks out nothing."""
        place, bare = "", False
        for row in self._git.run("worktree", "list", "--porcelain", "-z").decode("utf-8", "replace").split("\0"):
            word, _, value = row.partition(" ")
            if word == "worktree":
                place, bare = value, False
            elif word == "bare":
                bare = True
            elif word == "branch" and value == ref and not bare:
                return place
        return None

    def _paused_on(self, name: str) -> Path | None:
        """The git directory of a worktree whose HEAD left the branch for a while and goes back to it, or None."""
        for folder in (self._common, *self._common.glob("worktrees/*")):
            for file in PAUSED:
                try:
                    said = (folder / file).read_text("utf-8", "surrogateescape")
                except OSError:
                    continue
                if said.strip().removeprefix("refs/heads/") == name:
                    return folder
        return None

    def _branch_ref(self, name: str) -> str:
        code, _ = self._git.answer("check-ref-format", "--branch", name, codes=(0, 1, 128))
        if code or name.startswith(("-", "@")):
            raise ConfigError(f"{name!r} is no name for a branch", hint="see `git help check-ref-format`")
        return f"refs/heads/{name}"

    def _update(self, commands: Sequence[str]) -> None:
        """One transaction, by a git that stays. Raises GitFailed if git refuses it."""
        self._updates.ask(b"start\0" + "".join(commands).encode() + b"commit\0", _reported)


def _reported(stream: BufferedReader) -> None:
    for word in ("start", "commit"):
        said = line(stream)
        if said != f"{word}: ok".encode():
            raise GitFailed(f"`git update-ref` said {said!r} instead of {word}: ok")


def checked(ref: str) -> str:
    """The name itself, if it is one of ours. Raises GitFailed otherwise: nothing else is written or deleted here."""
    if not NAME.fullmatch(ref) or ".." in ref or ref.endswith((".", ".lock")) or ".lock/" in ref or "./" in ref:
        raise GitFailed(f"{ref!r} is no ref below {OURS}")
    return ref
