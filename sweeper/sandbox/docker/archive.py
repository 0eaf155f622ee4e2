"""A whole workspace as an engine's archive stream -> `Layer`: every file is hashed against the base.

The same answers as reading an overlay's upper directory (`layer`), for an engine whose disk this machine cannot see.
It costs the whole tree's bytes instead of the changed ones, in constant memory.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from sweeper.records import BaseEntry
from sweeper.sandbox.contract import Entry, EntryKind, Layer, LayerCaps
from sweeper.sandbox.layer import CHUNK, LINK, SUBMODULE, Base, refused

FILE = 0o100644


class Chunks(io.RawIOBase):
    """An iterator of bytes as a file to read, and how much of it was read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks: Iterator[bytes] = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def read_archive(
    chunks: Iterable[bytes], base: Base, caps: LayerCaps, wanted: Callable[[bytes], bool], budget: int
) -> Layer:
    """`chunks`: a tar of the workspace's folder, that folder being the first component of every name.

    `budget`: bytes of content beyond which the stream is given up and the layer is `truncated`.
    """
    reader = _Reader(base, caps, wanted, budget)
    with tarfile.open(fileobj=io.BufferedReader(Chunks(chunks), CHUNK), mode="r|", tarinfo=tarfile.TarInfo) as archive:
        reader.read(archive)
    return Layer(tuple(sorted(reader.entries.values(), key=lambda entry: entry.path)), reader.truncated)


def left_beside(chunks: Iterable[bytes], base: Base) -> tuple[dict[bytes, BaseEntry], int]:
    """What a workspace holds besides the commit's own files, and how many bytes that is. `chunks` as for a layer."""
    found: dict[bytes, BaseEntry] = {}
    size = 0
    with tarfile.open(fileobj=io.BufferedReader(Chunks(chunks), CHUNK), mode="r|", tarinfo=tarfile.TarInfo) as archive:
        for member in archive:
            archive.members = []  # type: ignore[attr-defined]  # as below
            path = _path(member)
            if not path or path == b".git" or path.startswith(b".git/") or base.get(path) is not None:
                continue
            if member.issym():
                found[path] = BaseEntry(LINK, base.oid(os.fsencode(member.linkname)))
            elif member.islnk() and (first := found.get(os.fsencode(member.linkname).split(b"/", 1)[-1])):
                found[path] = first
            elif member.isreg() and (content := archive.extractfile(member)) is not None:
                hasher = base.hasher(member.size)
                while chunk := content.read(CHUNK):
                    hasher.update(chunk)
                found[path] = BaseEntry(FILE, hasher.hexdigest())
                size += member.size
    return found, size


def _path(member: tarfile.TarInfo) -> bytes:
    """Below the workspace's folder, which is the first component of every name; b"" for that folder."""
    return os.fsencode(member.name).rstrip(b"/").partition(b"/")[2]


class _Reader:
    def __init__(self, base: Base, caps: LayerCaps, wanted: Callable[[bytes], bool], budget: int) -> None:
        self.base, self.caps, self.wanted, self.budget = base, caps, wanted, budget
        self.entries: dict[bytes, Entry] = {}
        self.present: set[bytes] = set()  # files and links of the base that are still of a file's or link's kind
        self.truncated = False
        self.bytes = 0

    def add(self, entry: Entry) -> None:
        if len(self.entries) >= self.caps.entries:
            self.truncated = True
        else:
            self.entries[entry.path] = entry

    def read(self, archive: tarfile.TarFile) -> None:
        for member in archive:
            path = _path(member)
            if path and path != b".git" and not path.startswith(b".git/"):
                self.one(archive, member, path)
            # The members of an archive that was read are of no more use, and there may be a million.
            archive.members = []  # type: ignore[attr-defined]  # not in the stubs
            if self.truncated:
                self.entries[b""] = Entry(b"", EntryKind.TOO_MANY, len(self.entries))
                return
        for path in self.base.under(b""):
            entry = self.base.get(path)
            if entry is not None and entry.mode != SUBMODULE and path not in self.present and path not in self.entries:
                self.add(Entry(path, EntryKind.DELETED))

    def one(self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: bytes) -> None:
        known = self.base.get(path)
        if member.isreg() and member.size > self.budget:
            self.add(Entry(path[: self.caps.path_bytes], EntryKind.TOO_BIG, member.size))
            self.truncated = True
            return
        self.budget -= member.size if member.isreg() else 0
        if known is None and (odd := self.odd_name(path)) is not None:
            self.add(odd)
        elif member.isdir():
            return
        elif member.issym():
            self.link(member, path, known)
        elif member.islnk():
            self.hard_link(member, path, known)
        elif member.isreg():
            content = archive.extractfile(member)
            assert content is not None
            self.file(content, member, path, known)
        else:
            self.add(Entry(path, EntryKind.SPECIAL))

    def odd_name(self, path: bytes) -> Entry | None:
        """A refused name is reported once, for the highest component that has it."""
        parts = path.split(b"/")
        for i, part in enumerate(parts):
            if refused(part):
                return Entry(b"/".join(parts[: i + 1]), EntryKind.REFUSED_NAME)
        if len(path) > self.caps.path_bytes or len(parts) > self.caps.depth:
            parts = parts[: self.caps.depth + 1]
            return Entry(b"/".join(parts)[: self.caps.path_bytes], EntryKind.TOO_DEEP)
        return None

    def link(self, member: tarfile.TarInfo, path: bytes, known: BaseEntry | None) -> None:
        target = os.fsencode(member.linkname)
        if known is not None and known.mode == LINK and self.base.oid(target) == known.oid:
            self.present.add(path)
        else:
            self.add(Entry(path, EntryKind.SYMLINK, len(target)))

    def hard_link(self, member: tarfile.TarInfo, path: bytes, known: BaseEntry | None) -> None:
        """Another name of a file that came before: changed like that one, if its content is at hand."""
        target = os.fsencode(member.linkname).split(b"/", 1)[-1]
        first = self.entries.get(target)
        if first is not None and first.kind is EntryKind.FILE and (first.data is not None or not self.wanted(path)):
            self.add(Entry(path, EntryKind.FILE, first.size, first.data, first.executable))
        elif first is None and known is not None and (entry := self.base.get(target)) and entry.oid == known.oid:
            self.present.add(path)
        else:
            self.add(Entry(path, EntryKind.ODD))

    def file(self, content: IO[bytes], member: tarfile.TarInfo, path: bytes, known: BaseEntry | None) -> None:
        size = member.size
        keep = self.wanted(path)
        fits = size <= self.caps.file_bytes and self.bytes + size <= self.caps.total_bytes
        comparable = known is not None and known.mode not in (LINK, SUBMODULE)
        if not comparable and not (keep and fits):
            self.add(Entry(path, EntryKind.TOO_BIG if keep else EntryKind.FILE, size))
            return
        hasher = self.base.hasher(size)
        kept: list[bytes] = []
        while chunk := content.read(CHUNK):
            hasher.update(chunk)
            if keep and fits:
                kept.append(chunk)
        if comparable and known is not None and hasher.hexdigest() == known.oid:
            self.present.add(path)
        elif keep and not fits:
            self.add(Entry(path, EntryKind.TOO_BIG, size))
        else:
            data = b"".join(kept) if keep else None
            self.bytes += len(data or b"")
            self.add(Entry(path, EntryKind.FILE, size, data, bool(member.mode & 0o111)))
