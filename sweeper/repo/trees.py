"""Trees as values: look up, compare and edit them, touching only the directories on the way to a changed path."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

from sweeper.errors import GitFailed
from sweeper.records import BaseEntry
from sweeper.repo.objects import TREE, Objects

EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
KEPT = 30_000  # entries of tree objects remembered, some 300 bytes each: those on the way to a round's paths


class Delta(NamedTuple):
    """One path's entry in two trees; None where it does not exist."""

    old: BaseEntry | None
    new: BaseEntry | None


class Overlap(GitFailed):
    """Edits that do not fit a tree: a file where a directory is needed, or the other way round."""


class Trees:
    """`empty`: the id of the empty tree, which can be read even where it was never written."""

    def __init__(self, objects: Objects, empty: str) -> None:
        self._objects, self._empty = objects, empty
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, Mapping[bytes, BaseEntry]] = OrderedDict()
        self._held = 0

    def entries(self, oid: str) -> Mapping[bytes, BaseEntry]:
        """One directory: name -> entry. Not to be changed: it is shared."""
        with self._lock:
            if (known := self._seen.get(oid)) is not None:
                self._seen.move_to_end(oid)
                return known
        found = {} if oid == self._empty else self._objects.tree(oid)
        with self._lock:
            if oid not in self._seen:
                self._seen[oid] = found
                self._held += len(found)
            while self._held > KEPT and len(self._seen) > 1:
                self._held -= len(self._seen.popitem(last=False)[1])
        return found

    def entry(self, tree: str, path: bytes) -> BaseEntry | None:
        """What a path is in a tree: a file, link, gitlink or directory; None if nothing is there."""
        *folders, name = path.split(b"/")
        for folder in folders:
            step = self.entries(tree).get(folder)
            if step is None or step.mode != TREE:
                return None
            tree = step.oid
        return self.entries(tree).get(name)

    def compare(self, old: str, new: str) -> dict[bytes, Delta]:
        """Every file, link and gitlink that differs, by path; directories are looked into, renames unknown."""
        changed: dict[bytes, Delta] = {}
        pending = [(b"", old, new)]
        while pending:
            prefix, left, right = pending.pop()
            if left == right:
                continue
            before, after = self.entries(left), self.entries(right)
            for name in before.keys() | after.keys():
                a, b, path = before.get(name), after.get(name), prefix + name
                if a is b or (a and b and a.oid == b.oid and a.mode == b.mode):
                    continue
                folders = [x.oid if x and x.mode == TREE else self._empty for x in (a, b)]
                pending.append((path + b"/", folders[0], folders[1]))
                a, b = (x if x and x.mode != TREE else None for x in (a, b))
                if a or b:
                    changed[path] = Delta(a, b)
        return changed

    def edit(self, tree: str, edits: Mapping[bytes, BaseEntry | None]) -> str:
        """The tree with these paths set, or removed (None); a directory left empty disappears.

        Raises Overlap if a path would lie below a file that is not removed by the same edits, or would replace
        a directory that is not emptied by them.
        """
        here: dict[bytes, BaseEntry | None] = {}
        below: dict[bytes, dict[bytes, BaseEntry | None]] = {}
        for path, entry in edits.items():
            name, _, rest = path.partition(b"/")
            if rest:
                below.setdefault(name, {})[rest] = entry
            else:
                here[name] = entry
        entries = dict(self.entries(tree))
        for name, entry in here.items():
            if entry is None and name in entries and entries[name].mode != TREE:
                del entries[name]
        for name, inner in below.items():
            self._descend(entries, name, inner)
        for name, entry in here.items():
            if entry is not None:
                if name in entries and entries[name].mode == TREE:
                    raise Overlap(f"{shown(name)} would replace a directory that still has files")
                entries[name] = entry
        return self._objects.write_tree(entries)

    def _descend(self, entries: dict[bytes, BaseEntry], name: bytes, inner: Mapping[bytes, BaseEntry | None]) -> None:
        now = entries.get(name)
        if now is not None and now.mode != TREE:
            if any(inner.values()):
                raise Overlap(f"{shown(name)} is no directory, and a file would lie below it")
            return  # nothing to remove below a file
        child = self.edit(now.oid if now else self._empty, inner)
        if child != self._empty:
            entries[name] = BaseEntry(TREE, child)
        elif now is not None:
            del entries[name]


def shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
