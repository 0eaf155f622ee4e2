"""Changes into trees and commits: edit, read back and compare, replay onto another commit, merge. All blocking."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sweeper.errors import GitFailed
from sweeper.records import BaseEntry, Change
from sweeper.repo.commits import OURS, Commit, Identity, encode, parse, signed
from sweeper.repo.objects import TREE, Objects
from sweeper.repo.run import Git
from sweeper.repo.trees import Delta, Overlap, Trees

KEPT = 16  # commits that are remembered: every attempt of a round asks for its base
# No tree that names one of these is read, exported or written.
BAD_NAME = re.compile(rb"(?:^|/)(?:\.git|\.\.?|)(?:/|$)|\0", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two changes of the same lines, or of a path and of what it lies in. `paths`: sorted, never empty."""

    paths: tuple[str, ...]


class Writer:
    def __init__(self, git: Git, objects: Objects, trees: Trees, empty: str) -> None:
        self._git, self._objects, self._trees, self._empty = git, objects, trees, empty
        self._commit = lru_cache(KEPT)(lambda oid: parse(objects.read(oid, "commit")))

    def commit(self, oid: str) -> Commit:
        return self._commit(oid)

    def between(self, old: str, new: str) -> dict[bytes, Delta]:
        return self._trees.compare(self.commit(old).tree, self.commit(new).tree)

    def deltas(self, commit: Commit) -> dict[bytes, Delta]:
        """What a commit changes against its first parent."""
        return self._trees.compare(self.commit(commit.parents[0]).tree if commit.parents else self._empty, commit.tree)

    def contents(self, deltas: Mapping[bytes, Delta]) -> list[Change]:
        """Deltas with their new contents, by path."""
        ordered = sorted(deltas.items())
        oids = [delta.new.oid for _, delta in ordered if delta.new]
        contents = iter(self._objects.blobs(oids, 1 << 40))
        return [
            Change(os.fsdecode(path), next(contents)[1], new.mode)
            if new
            else Change(os.fsdecode(path), None, old.mode if old else 0)
            for path, (old, new) in ordered
        ]

    def change(self, base: str, changes: Sequence[Change], message: str, when: float) -> str:
        """The commit of changes on a base, "" if they change nothing; the tree is compared with the intent."""
        intent: dict[bytes, BaseEntry | None] = {}
        for change in changes:
            path = os.fsencode(change.path)
            if BAD_NAME.search(path) or path in intent:
                raise GitFailed(f"{path!r} is no path to commit, or is given twice")
            if change.data is not None and change.mode not in (0o100644, 0o100755):
                raise GitFailed(f"{path!r} would get mode {change.mode:o}; only regular files are written")
            intent[path] = None
        oids = iter(self._objects.write("blob", [change.data for change in changes if change.data is not None]))
        for path, change in zip(list(intent), changes, strict=True):
            if change.data is not None:
                intent[path] = BaseEntry(change.mode, next(oids))
        old = self.commit(base).tree
        intent = {path: entry for path, entry in intent.items() if self._file(old, path) != entry}
        if not intent:
            return ""
        new = self._trees.edit(old, intent)
        written = {path: delta.new for path, delta in self._trees.compare(old, new).items()}
        if written != intent:
            odd = sorted(path for path in written.keys() | intent.keys() if written.get(path) != intent.get(path))
            raise GitFailed(f"the tree that git wrote is not the intended one, at {odd[:5]!r}")
        return self.write(Commit(new, (base,), int(when), message), OURS)

    def write(self, commit: Commit, who: Identity) -> str:
        (oid,) = self._objects.write("commit", [encode(commit, who)])
        return oid

    def replay(self, commit: str, onto: str) -> str | Conflict:
        """The tree of `onto` with what `commit` changed against its parent.

        Where `onto` still has the parent's entries they are exchanged; only a change of something that has changed
        there as well is merged line by line.
        """
        mine, theirs = self.commit(commit), self.commit(onto).tree
        parent = self.commit(mine.parents[0]).tree if mine.parents else self._empty
        edits: dict[bytes, BaseEntry | None] = {}
        for path, delta in self._trees.compare(parent, mine.tree).items():
            now = self._trees.entry(theirs, path)
            if now == delta.new:
                continue
            if now != delta.old:
                return self._merge_by_lines(parent, theirs, mine.tree)
            edits[path] = delta.new
        try:
            return self._trees.edit(theirs, edits) if edits else theirs
        except Overlap:
            return self._merge_by_lines(parent, theirs, mine.tree)

    def _merge_by_lines(self, base: str, ours: str, theirs: str) -> str | Conflict:
        """The merge of two trees over a third.

        By commits that have no other history: git would look for the fork of the real ones, which is further back
        where several changes lie on each other, and the earlier ones would come along.
        """
        fork = self.write(Commit(base, (), 0, ""), OURS)
        return self.merge(*(self.write(Commit(tree, (fork,), 0, ""), OURS) for tree in (ours, theirs)))

    def merge(self, ours: str, theirs: str) -> str | Conflict:
        """The merged tree of two commits, as `git merge-tree` says, without rename detection or drivers."""
        words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
        code, out = self._git.answer(*words, codes=(0, 1))
        tree, *paths = out.split(b"\0")
        if code == 0:
            return tree.decode().strip()
        # A file where the other side has a directory is shown under a name of its own, "path~commit".
        own = tuple(f"~{commit}".encode() for commit in (ours, theirs))
        names = {path.removesuffix(own[0]).removesuffix(own[1]) for path in paths if path}
        return Conflict(tuple(sorted(os.fsdecode(name) for name in names)))

    def sign(self, git: Git, base: str, tip: str, who: Identity) -> str:
        """The line of commits from `base` (excluded) to `tip`, written again with signatures; the new tip.

        What was merged into the line stays as it is.
        """
        commits = [commit for _, commit in self.line(tip, base)]
        if commits and commits[-1].parents[:1] != (base,):
            raise GitFailed(f"{tip} does not follow {base} in one line: nothing to sign")
        at = base
        for commit in reversed(commits):
            at = signed(git, commit._replace(parents=(at, *commit.parents[1:])), who)
        return at

    def line(self, tip: str, base: str) -> Iterator[tuple[str, Commit]]:
        """The commits from `tip` back to `base` (excluded), or to where history begins; always the first parent's."""
        at = tip
        while at != base:
            commit = self.commit(at)
            yield at, commit
            if not commit.parents:
                return
            at = commit.parents[0]

    def _file(self, tree: str, path: bytes) -> BaseEntry | None:
        entry = self._trees.entry(tree, path)
        return entry if entry is None or entry.mode != TREE else None
