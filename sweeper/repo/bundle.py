"""Our commits in one file beside the ledger, for a state folder that is carried from one clone to the next.

The ledger names commits; in a new clone they are missing until they are brought back. What the file holds stands on
the commit that was checked out when it was made, which the next clone must have.
"""

from __future__ import annotations

import os
from pathlib import Path

from sweeper.repo.refs import OURS
from sweeper.repo.run import Git

NAME = "commits.bundle"
BRANCHES = "refs/heads/sweeper/"


class Bundle:
    """`git` is bound to the user's repository, `state` is its state folder."""

    def __init__(self, git: Git, state: Path) -> None:
        self._git, self._path = git, state / NAME

    def save(self) -> int:
        """Put our refs and branches and what they hold into the file; how many. Raises GitFailed."""
        refs = self._refs()
        if not refs:
            self._path.unlink(missing_ok=True)
            return 0
        part = self._path.with_suffix(f".{os.getpid()}")
        rows = "".join(f"{ref}\n" for ref in refs) + "^HEAD\n"
        try:
            # 128: all of it is in HEAD's history, and an empty bundle is refused
            code, _ = self._git.answer(
                "bundle", "create", "--quiet", str(part), "--stdin", stdin=rows.encode(), codes=(0, 128)
            )
            if code:
                self._path.unlink(missing_ok=True)
                return 0
            part.replace(self._path)
        finally:
            part.unlink(missing_ok=True)
        return len(refs)

    def load(self) -> dict[str, str]:
        """Bring the file's objects here: ref -> commit, of refs that are not here yet; none is made of it.

        Raises GitFailed if the file is damaged, or if the commit it stands on is not here.
        """
        if not self._path.exists():
            return {}
        known = self._refs()
        _, out = self._git.answer("bundle", "unbundle", str(self._path))
        rows = (row.partition(" ") for row in out.decode("utf-8", "surrogateescape").splitlines())
        return {ref: commit for commit, _, ref in rows if ref.startswith((OURS, BRANCHES)) and ref not in known}

    def _refs(self) -> set[str]:
        out = self._git.run("for-each-ref", "--format=%(refname)", OURS, BRANCHES)
        return set(out.decode("utf-8", "surrogateescape").splitlines())
