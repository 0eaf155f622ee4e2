"""A writable layer, read from outside after its sandbox is over: an overlay's upper directory -> `Layer`.

Nothing in it is trusted. Only regular files are opened, by descriptor, never through a link, up to a cap; a whiteout
or an opaque directory is expanded to the paths of the base that it hides. The caller guarantees that nobody writes
any more: every process of the sandbox has ended and its mounts are gone.
"""

from __future__ import annotations

import bisect
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sweeper.records import BaseEntry, Change, Listing
from sweeper.sandbox.contract import Entry, EntryKind, Layer, LayerCaps

LINK, SUBMODULE = 0o120000, 0o160000
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
CHUNK = 1 << 20
# Code points that HFS+ ignores in names, and what NTFS makes of ".git".
IGNORABLE = tuple(
    chr(c).encode() for c in (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


def refused(name: bytes) -> bool:
    """Whether a name must not get into a tree: `.git` in any file system's spelling, backslash, control characters.

    What the base holds already under such a name may be changed.
    """
    if b"\\" in name or any(c < 32 or c == 127 for c in name):
        return True
    folded = name
    if b"\xe2" in folded or b"\xef" in folded:
        for code in IGNORABLE:
            folded = folded.replace(code, b"")
    folded = folded.split(b":")[0].rstrip(b" .").lower()
    return folded in (b".git", b"git~1")


class Base:
    """The tree that a layer is compared with: a commit's listing with changes laid over it. Immutable.

    Its paths are sorted once, so that what lies under a directory is found without a scan.
    """

    def __init__(self, listing: Listing) -> None:
        self._listing = listing
        self._order = sorted(listing)
        self._patch: dict[bytes, BaseEntry | None] = {}
        self._added: list[bytes] = []
        self._beside: Listing = {}
        self._digest = "sha256" if listing and len(next(iter(listing.values())).oid) == 64 else "sha1"

    def patched(self, changes: Iterable[Change]) -> Base:
        """This base with the changes on top."""
        new = Base.__new__(Base)
        new._listing, new._order, new._digest = self._listing, self._order, self._digest
        new._patch, new._beside = dict(self._patch), self._beside
        for change in changes:
            path = os.fsencode(change.path)
            data = change.data
            new._patch[path] = None if data is None else BaseEntry(change.mode, self.oid(data))
        new._added = sorted(p for p, entry in new._patch.items() if entry is not None and p not in self._listing)
        return new

    def beside(self, entries: Listing) -> Base:
        """This base in a folder that holds more than the commit: what equals an entry was not written by a sandbox.

        That one of them is gone is not told, since it was nothing of the commit's.
        """
        new = self.patched(())
        new._beside = entries
        return new

    def get(self, path: bytes) -> BaseEntry | None:
        if path in self._patch:
            return self._patch[path]
        return self._listing.get(path) or self._beside.get(path)

    def holds(self, path: bytes) -> bool:
        """Whether this path is there, as a file or as a folder."""
        return self.get(path) is not None or next(self.under(path), None) is not None

    def under(self, folder: bytes) -> Iterator[bytes]:
        """Paths below a folder, b"" for all of them; the folder itself is not one."""
        prefix = folder + b"/" if folder else b""
        for order in (self._order, self._added):
            for i in range(bisect.bisect_left(order, prefix), len(order)):
                path = order[i]
                if not path.startswith(prefix):
                    break
                if self.get(path) is not None:
                    yield path

    def hasher(self, size: int) -> hashlib._Hash:
        return hashlib.new(self._digest, b"blob %d\0" % size, usedforsecurity=False)

    def oid(self, data: bytes) -> str:
        """The id that git gives a blob of this content."""
        hasher = self.hasher(len(data))
        hasher.update(data)
        return hasher.hexdigest()


def read_layer(upper: int, base: Base, caps: LayerCaps, wanted: Callable[[bytes], bool]) -> Layer:
    """What lies in the directory `upper` (a descriptor), compared with `base`; sorted by path.

    Content that equals the base's is dropped, whatever its mode or time. A `.git` at the top is dropped: it is the
    snapshot's own. Raises OSError only when `upper` itself cannot be read.
    """
    reader = _Reader(base, caps, wanted)
    reader.read(upper)
    return Layer(tuple(sorted(reader.entries.values(), key=lambda entry: entry.path)), reader.truncated)


@dataclass(slots=True)
class _Folder:
    fd: int
    path: bytes
    opaque: bool  # hides what the base has below it


class _Reader:
    def __init__(self, base: Base, caps: LayerCaps, wanted: Callable[[bytes], bool]) -> None:
        self.base, self.caps, self.wanted = base, caps, wanted
        self.entries: dict[bytes, Entry] = {}
        self.truncated = False
        self.seen = 0
        self.bytes = 0

    def add(self, path: bytes, kind: EntryKind, size: int = 0) -> None:
        if len(self.entries) >= self.caps.entries:
            self.truncated = True
            return
        self.entries[path] = Entry(path, kind, size)

    def read(self, upper: int) -> None:
        stack = [_Folder(os.open(".", FLAGS | os.O_DIRECTORY, dir_fd=upper), b"", False)]
        try:
            while stack and not self.truncated:
                folder = stack.pop()
                try:
                    self.folder(folder, stack)
                finally:
                    os.close(folder.fd)
        finally:
            for folder in stack:
                os.close(folder.fd)
        if self.truncated:
            self.entries[b""] = Entry(b"", EntryKind.TOO_MANY, self.seen)

    def folder(self, folder: _Folder, stack: list[_Folder]) -> None:
        present = set()
        with os.scandir(folder.fd) as listed:
            for each in listed:
                self.seen += 1
                if self.seen > self.caps.entries:
                    self.truncated = True
                    return
                name = os.fsencode(each.name)
                if not folder.path and name == b".git":
                    continue
                present.add(name)
                info = os.stat(each.name, dir_fd=folder.fd, follow_symlinks=False)
                self.one(folder, name, info, stack)
        if folder.opaque:
            skip = len(folder.path) + 1 if folder.path else 0
            for path in self.base.under(folder.path):
                if path[skip:].split(b"/", 1)[0] not in present:
                    self.add(path, EntryKind.DELETED)

    def one(self, folder: _Folder, name: bytes, info: os.stat_result, stack: list[_Folder]) -> None:
        path = folder.path + b"/" + name if folder.path else name
        mode, known = info.st_mode, self.base.get(path)
        if stat.S_ISCHR(mode) and info.st_rdev == 0:  # a whiteout, of a file or of a whole directory
            if known is not None:
                self.add(path, EntryKind.DELETED)
            self.hide(path)
            return
        if not stat.S_ISDIR(mode):
            self.hide(path)
        elif known is not None and known.mode != SUBMODULE:
            self.add(path, EntryKind.DELETED)
        if refused(name) and not self.base.holds(path):
            self.add(path, EntryKind.REFUSED_NAME, info.st_size)
        elif len(path) > self.caps.path_bytes or path.count(b"/") >= self.caps.depth:
            self.add(path[: self.caps.path_bytes], EntryKind.TOO_DEEP)
        elif stat.S_ISDIR(mode):
            self.enter(folder, name, path, info, stack)
        elif stat.S_ISLNK(mode):
            self.link(folder, name, path, info, known)
        elif stat.S_ISREG(mode):
            self.file(folder, name, path, info, known)
        else:
            self.add(path, EntryKind.SPECIAL)

    def hide(self, path: bytes) -> None:
        for hidden in self.base.under(path):
            self.add(hidden, EntryKind.DELETED)

    def enter(self, parent: _Folder, name: bytes, path: bytes, info: os.stat_result, stack: list[_Folder]) -> None:
        try:
            fd = open_at(name, parent.fd, info.st_mode, os.O_DIRECTORY)
        except OSError:
            self.add(path, EntryKind.UNREADABLE)
            return
        if _mark(fd, "redirect"):
            os.close(fd)
            self.add(path, EntryKind.ODD)
            return
        known = self.base.get(path)
        opaque = parent.opaque or (known is not None and known.mode != SUBMODULE) or _mark(fd, "opaque")
        stack.append(_Folder(fd, path, opaque))

    def link(self, folder: _Folder, name: bytes, path: bytes, info: os.stat_result, known: BaseEntry | None) -> None:
        if known is not None and known.mode == LINK:
            target = os.readlink(name, dir_fd=folder.fd)
            if self.base.oid(target) == known.oid:
                return
        self.add(path, EntryKind.SYMLINK, info.st_size)

    def file(self, folder: _Folder, name: bytes, path: bytes, info: os.stat_result, known: BaseEntry | None) -> None:
        size = info.st_size
        keep = self.wanted(path)
        fits = size <= self.caps.file_bytes and self.bytes + size <= self.caps.total_bytes
        # A file of the base that was only touched is a full copy in the layer: known by its hash, however large.
        same = known is not None and known.mode not in (LINK, SUBMODULE) and size <= self.caps.total_bytes
        if not same and not (keep and fits):
            self.add(path, EntryKind.TOO_BIG if keep else EntryKind.FILE, size)
            return
        try:
            fd = open_at(name, folder.fd, info.st_mode)
        except OSError:
            self.add(path, EntryKind.UNREADABLE, size)
            return
        try:
            entry = self.content(fd, path, info, known if same else None, keep=keep and fits)
        except OSError:
            entry = Entry(path, EntryKind.UNREADABLE, size)
        finally:
            os.close(fd)
        if entry is None:
            return
        if entry.data is None and entry.kind is EntryKind.FILE and keep:
            entry = Entry(path, EntryKind.TOO_BIG, size)
        self.bytes += len(entry.data or b"")
        self.entries[path] = entry

    def content(
        self, fd: int, path: bytes, info: os.stat_result, known: BaseEntry | None, *, keep: bool
    ) -> Entry | None:
        """The file's entry, None if its content is the base's. Bounded by the size seen first, even if it grew."""
        now = os.fstat(fd)
        if (now.st_ino, now.st_dev, now.st_size) != (info.st_ino, info.st_dev, info.st_size) or _mark(fd, "metacopy"):
            return Entry(path, EntryKind.ODD)
        hasher = self.base.hasher(now.st_size)
        kept: list[bytes] = []
        got = 0
        while got <= now.st_size and (chunk := os.read(fd, CHUNK)):
            got += len(chunk)
            hasher.update(chunk)
            if keep:
                kept.append(chunk)
        if got != now.st_size:
            return Entry(path, EntryKind.ODD, got)
        if known is not None and hasher.hexdigest() == known.oid:
            return None
        return Entry(path, EntryKind.FILE, got, b"".join(kept) if keep else None, bool(info.st_mode & 0o111))


def open_at(name: bytes, folder: int, mode: int, extra: int = 0) -> int:
    """Open without following a link; an object of ours that is closed to us is made readable first."""
    needed = stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR
    if mode & needed != needed:
        pinned = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{pinned}", stat.S_IMODE(mode) | needed)
        finally:
            os.close(pinned)
    return os.open(name, FLAGS | extra, dir_fd=folder)


def _mark(fd: int, name: str) -> bool:
    """Whether overlayfs (mounted with `userxattr`) left this mark."""
    try:
        os.getxattr(fd, f"user.overlay.{name}")
    except OSError:
        return False
    return True
