"""The only door to git: what a commit holds, what a change is, and how it becomes a commit.

Objects are read and written through a bare directory of our own over the repository's object store; refs are
written under `refs/sweeper/`, a branch only by `update_branch`. The user's work tree, index and checkout are
never touched, and git never runs where a sandbox could write.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from anyio import to_thread

from sweeper.errors import ConfigError, GitFailed
from sweeper.records import BaseEntry, Change, Listing
from sweeper.repo import place as places
from sweeper.repo.commits import OURS, Commit, Identity
from sweeper.repo.export import CommitTree
from sweeper.repo.objects import GITLINK, LINK, Objects
from sweeper.repo.place import Place
from sweeper.repo.refs import Refs
from sweeper.repo.remote import Remotes
from sweeper.repo.rules import Rules
from sweeper.repo.trees import EMPTY_TREE, Trees
from sweeper.repo.write import BAD_NAME, Conflict, Writer

LISTINGS = 2  # commits whose listing is remembered: a round's base and its merge
FILE_CAP = 5_000_000  # bytes


class Repo:
    """One repository. Every method is safe to call from several tasks; each raises GitFailed if git fails.

    Commits are full hex ids. Paths are bytes as git stores them, except in `Change` and in what is reported.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._private, self._real = place.private(), place.real
        self._scratch = place.scratch()
        empty = EMPTY_TREE[place.object_format]
        self._objects = Objects(self._private, self._scratch, len(empty) // 2)
        self._writer = Writer(self._private, self._objects, Trees(self._objects, empty), empty)
        self._refs = Refs(self._real, place.common, place.state / "writer.lock", "0" * len(empty))
        self._rules = Rules(self._private.git_dir or place.state, self._scratch, self._objects)
        self._listings: dict[str, Listing] = {}

    @classmethod
    async def open(cls, start: Path, state: Path | None = None) -> Self:
        """The repository that `start` lies in: an ordinary one, a linked worktree, a bare or a shallow one.

        `state`: another folder than the repository's own, for what is to leave no trace in it.

        Raises ConfigError (no repository, no commit, git too old) or SweeperError (state folder).
        """
        return await to_thread.run_sync(lambda: cls(places.find(start, state)))

    async def aclose(self) -> None:
        await to_thread.run_sync(self._close)

    def _close(self) -> None:
        self._rules.close()
        self._objects.close()
        self._refs.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    @property
    def top(self) -> Path:
        """The work tree, or a bare repository itself."""
        return self._place.top

    @property
    def state(self) -> Path:
        """Where everything that outlives a process is kept: `<git common dir>/sweeper` or $SWEEPER_STATE."""
        return self._place.state

    @property
    def usual_state(self) -> Path:
        """What `state` is for a repository that was opened without another one."""
        return self._place.usual_state

    @property
    def remotes(self) -> Remotes:
        """What is elsewhere, through the user's own git."""
        return Remotes(self._place.users)

    @property
    def identity(self) -> Identity:
        """Who the branch's commits are by: the configured user.name and user.email if there are both, else us."""
        name, email = (self._place.settings.get(key, "") for key in ("user.name", "user.email"))
        return Identity(name, email) if name and email else OURS

    @property
    def signs(self) -> bool:
        """Whether the user has commits signed (commit.gpgSign)."""
        return self._place.settings.get("commit.gpgsign", "").lower() in ("true", "yes", "on", "1")

    # --- reading ---

    async def resolve(self, rev: str) -> str:
        """The commit that a revision means. Raises ConfigError for one that means none."""
        return await to_thread.run_sync(self._resolve, rev)

    def _resolve(self, rev: str) -> str:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
        code, out = self._real.answer(*words, codes=(0, 1, 128)) if "\0" not in rev else (1, b"")
        if code:
            raise ConfigError(
                f"{rev!r} is no commit of {self.top}", hint="name a branch, a tag or a commit that is here"
            )
        return out.decode().strip()

    async def listing(self, commit: str) -> Listing:
        """path -> entry for every file, link and submodule of a commit. Not to be changed: it is shared."""
        return await to_thread.run_sync(self._listing, commit)

    def _listing(self, commit: str) -> Listing:
        if (known := self._listings.get(commit)) is not None:
            return known
        listing: dict[bytes, BaseEntry] = {}
        for row in self._private.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
            head, path = row.split(b"\t", 1)
            mode, _, oid = head.split(b" ")
            listing[path] = BaseEntry(int(mode, 8), oid.decode())
        for path in listing:
            if BAD_NAME.search(path):
                raise GitFailed(f"{commit} holds the path {path!r}, which cannot be written to a disk safely")
        while len(self._listings) >= LISTINGS:
            self._listings.pop(next(iter(self._listings)), None)
        self._listings[commit] = listing
        return listing

    async def tree(self, commit: str) -> CommitTree:
        """A commit for a sandbox (`sandbox.contract.Tree`)."""

        def load() -> CommitTree:
            form = self._place.object_format
            return CommitTree(commit, self._listing(commit), self._writer.commit(commit).tree, self._private, form)

        return await to_thread.run_sync(load)

    async def blobs(self, commit: str, paths: Iterable[bytes], limit: int = FILE_CAP) -> dict[bytes, bytes]:
        """path -> content. What is no regular file of the commit, or larger than `limit` bytes, is absent."""
        wanted = tuple(paths)
        return await to_thread.run_sync(partial(self._contents, commit, wanted, limit)) if wanted else {}

    async def heads(self, commit: str, paths: Iterable[bytes], limit: int) -> dict[bytes, bytes]:
        """path -> the first `limit` bytes of a regular file; other paths are absent."""
        return await to_thread.run_sync(partial(self._contents, commit, tuple(paths), limit, cut=True))

    async def sizes(self, commit: str, paths: Iterable[bytes]) -> dict[bytes, int]:
        """path -> bytes of a regular file; other paths are absent."""

        def look(wanted: tuple[bytes, ...]) -> dict[bytes, int]:
            oids = self._files(commit, wanted)
            return dict(zip(oids, self._objects.sizes(list(oids.values())), strict=True))

        return await to_thread.run_sync(look, tuple(paths))

    def _contents(self, commit: str, paths: Sequence[bytes], limit: int, *, cut: bool = False) -> dict[bytes, bytes]:
        oids = self._files(commit, paths)
        found = zip(oids, self._objects.blobs(list(oids.values()), limit, cut=cut), strict=True)
        return {path: data for path, (_, data) in found if data is not None}

    def _files(self, commit: str, paths: Iterable[bytes]) -> dict[bytes, str]:
        """path -> blob id of those paths that are regular files of the commit."""
        entries = ((path, self._listing(commit).get(path)) for path in paths)
        return {path: entry.oid for path, entry in entries if entry is not None and entry.mode not in (LINK, GITLINK)}

    async def check_ignore(self, commit: str, paths: Iterable[bytes]) -> set[bytes]:
        """Which of the paths the commit's own .gitignore files ignore (tracked or not)."""
        wanted = tuple(paths)
        if not wanted:
            return set()
        return await to_thread.run_sync(lambda: self._rules.ignored(commit, self._listing(commit), wanted))

    async def attributes(
        self, commit: str, paths: Iterable[bytes], names: tuple[str, ...]
    ) -> Mapping[bytes, Mapping[str, str]]:
        """path -> attribute -> "set", "unset" or a value, by the commit's own .gitattributes; others are absent."""
        wanted = tuple(paths)
        if not wanted:
            return {}
        return await to_thread.run_sync(lambda: self._rules.attributes(commit, self._listing(commit), wanted, names))

    async def is_dirty(self) -> list[str]:
        """Paths of the user's work tree that differ from HEAD or are untracked; nothing is locked or refreshed."""
        return await to_thread.run_sync(self._is_dirty)

    def _is_dirty(self) -> list[str]:
        if self._place.bare:
            return []
        words = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", "-unormal")
        out = self._place.without_filters().run(*words, cwd=self.top)
        return [os.fsdecode(row[3:]) for row in out.split(b"\0") if row]

    async def changes_of(self, commit: str) -> list[Change]:
        """A captured commit as the changes it makes to its parent, by path."""
        writer = self._writer
        return await to_thread.run_sync(lambda: writer.contents(writer.deltas(writer.commit(commit))))

    async def changes_between(self, old: str, new: str) -> list[Change]:
        """What turns one commit's tree into another's, by path."""
        return await to_thread.run_sync(lambda: self._writer.contents(self._writer.between(old, new)))

    async def descends(self, commit: str, ancestor: str) -> bool:
        """Whether a commit has another among its ancestors, or is that one."""
        words = ("merge-base", "--is-ancestor", ancestor, commit)
        code, _ = await to_thread.run_sync(lambda: self._private.answer(*words, codes=(0, 1)))
        return code == 0

    async def commit_of(self, commit: str) -> Commit:
        """Tree, parents, time and message of a commit."""
        return await to_thread.run_sync(self._writer.commit, commit)

    async def line(self, tip: str, base: str) -> AsyncIterator[tuple[str, Commit]]:
        """The commits from `tip` back to `base` (excluded), or to where history begins; always the first parent's."""
        commits = self._writer.line(tip, base)
        while (step := await to_thread.run_sync(next, commits, None)) is not None:
            yield step

    async def paths_of(self, commit: str) -> list[str]:
        """The paths that a commit changes against its parent."""
        writer = self._writer
        return await to_thread.run_sync(lambda: sorted(map(os.fsdecode, writer.deltas(writer.commit(commit)))))

    # --- writing ---

    async def write_change(self, base: str, changes: Sequence[Change], message: str, ref: str, when: float) -> str:
        """Commit changes on top of `base` under a ref of ours; "" (and no commit) if they change nothing.

        Equal arguments give an equal id; `ref` may already hold that very commit. The written tree is read back
        and compared with the intent. Raises GitFailed for a path that git would not store as it is.
        """

        def write() -> str:
            if commit := self._writer.change(base, changes, message, when):
                self._refs.create(ref, commit)
            return commit

        return await to_thread.run_sync(write)

    async def replay(self, commit: str, onto: str) -> str | Conflict:
        """The tree of `onto` with what `commit` changed against its parent, or where the two do not fit."""
        return await to_thread.run_sync(self._writer.replay, commit, onto)

    async def merge_tree(self, ours: str, theirs: str) -> str | Conflict:
        """The merged tree of two commits line by line, without rename detection, attributes or merge drivers."""
        return await to_thread.run_sync(self._writer.merge, ours, theirs)

    async def commit_tree(self, tree: str, parents: Sequence[str], message: str, when: float) -> str:
        """A commit by `identity`, unsigned, on no ref; equal arguments give an equal id."""
        commit = Commit(tree, tuple(parents), int(when), message)
        return await to_thread.run_sync(self._writer.write, commit, self.identity)

    async def sign(self, base: str, tip: str) -> str:
        """The commits from `base` to `tip` again with the user's signatures; the new tip. Raises GitFailed."""
        return await to_thread.run_sync(self._writer.sign, self._place.users, base, tip, self.identity)

    async def create_ref(self, ref: str, commit: str) -> None:
        """Keep a commit under a ref of ours. Raises GitFailed if the ref holds another one."""
        await to_thread.run_sync(self._refs.create, ref, commit)

    async def find_ref(self, ref: str) -> str | None:
        return await to_thread.run_sync(self._refs.find, ref)

    async def refs(self, prefix: str) -> dict[str, str]:
        """Our refs below a prefix: name -> commit."""
        return await to_thread.run_sync(self._refs.under, prefix)

    async def delete_refs(self, prefix: str) -> int:
        """Delete our refs below a prefix, all or none; how many there were."""
        return await to_thread.run_sync(self._refs.delete, prefix)

    async def branch(self, name: str) -> str | None:
        """The commit of a branch, or None."""
        return await to_thread.run_sync(self._refs.branch, name)

    async def branch_in_use(self, name: str) -> str:
        """Why a branch must not be set: a worktree works on it, another one is in the way; "" if it may."""
        return await to_thread.run_sync(self._refs.in_use, name)

    async def update_branch(self, name: str, new: str, expected_old: str | None) -> None:
        """Set a branch that is at `expected_old` (None: does not exist).

        Raises SweeperError if it is elsewhere or worked on in a worktree, ConfigError for a bad name.
        """
        await to_thread.run_sync(self._refs.move_branch, name, new, expected_old)
