"""Git's object store through children that stay: no process is started per object, and git does the writing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader, BufferedWriter
from itertools import count, islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from sweeper.errors import GitFailed
from sweeper.records import BaseEntry
from sweeper.repo.run import Child, Git, exactly, line

TREE = 0o040000
LINK = 0o120000
GITLINK = 0o160000

AT_ONCE = 50  # requests in one go: their lines together stay below PIPE
STEP = 1 << 16


class Info(NamedTuple):
    oid: str
    type: str
    size: int


class Objects:
    """Reads and writes objects; safe to use from several threads. `scratch`: a private folder of this process."""

    def __init__(self, git: Git, scratch: Path, oid_bytes: int) -> None:
        self._scratch, self._oid_bytes, self._serial = scratch, oid_bytes, count()
        self._files: SimpleQueue[BufferedWriter] = SimpleQueue()  # for git to read an object from, free to be used
        self._reader = Child(git, "cat-file", "--batch-command", cwd=scratch)
        writer = ("hash-object", "-w", "--no-filters", "--stdin-paths", "-t")
        self._writers = {kind: Child(git, *writer, kind, cwd=scratch) for kind in ("blob", "commit", "tree")}

    def close(self) -> None:
        for child in (self._reader, *self._writers.values()):
            child.close()
        with contextlib.suppress(Empty):
            while True:
                self._files.get_nowait().close()

    def read(self, oid: str, kind: str) -> bytes:
        """One whole object. Raises GitFailed if it is missing or of another type."""

        def answer(stream: BufferedReader) -> tuple[Info | None, bytes]:
            info = header(stream)
            return info, body(stream, info.size, info.size) if info else b""

        info, data = self._reader.ask(b"contents %s\n" % oid.encode(), answer)
        if info is None or info.type != kind:
            raise GitFailed(f"object {oid} is {info.type if info else 'missing'}, a {kind} was expected", hint=MISSING)
        return data

    def blobs(self, oids: Sequence[str], limit: int, *, cut: bool = False) -> Iterator[tuple[str, bytes | None]]:
        """(oid, content) in order. Above `limit` bytes: None, or with `cut` the first `limit` bytes.

        Raises GitFailed if one is missing.
        """
        rest = iter(oids)
        while some := list(islice(rest, AT_ONCE)):
            infos = self._infos(some)
            contents = self._bodies([info.oid for info in infos if cut or info.size <= limit], limit)
            for oid in some:
                yield oid, contents.get(oid)

    def sizes(self, oids: Sequence[str]) -> list[int]:
        """The sizes of blobs in bytes, in order. Raises GitFailed if one is missing."""
        rest = iter(oids)
        sizes: list[int] = []
        while some := list(islice(rest, AT_ONCE)):
            sizes += [info.size for info in self._infos(some)]
        return sizes

    def _infos(self, oids: Sequence[str]) -> list[Info]:
        ask = b"".join(b"info %s\n" % oid.encode() for oid in oids)
        infos = []
        for oid, info in zip(oids, self._reader.ask(ask, lambda out: [header(out) for _ in oids]), strict=True):
            if info is None or info.type != "blob":
                raise GitFailed(f"blob {oid} is {info.type if info else 'missing'}", hint=MISSING)
            infos.append(info)
        return infos

    def _bodies(self, oids: Sequence[str], limit: int) -> dict[str, bytes]:
        ask = b"".join(b"contents %s\n" % oid.encode() for oid in oids)
        return self._reader.ask(ask, lambda out: {oid: found(out, limit) for oid in oids})

    def write(self, kind: str, contents: Sequence[bytes]) -> list[str]:
        """Write objects of one kind, byte for byte; their ids in order."""
        oids: list[str] = []
        rest = iter(contents)
        while some := list(islice(rest, AT_ONCE)):
            oids += self._write(kind, some)
        return oids

    def _write(self, kind: str, contents: Sequence[bytes]) -> list[str]:
        files: list[BufferedWriter] = []
        try:
            for data in contents:
                files.append(self._file())
                files[-1].write(data)
                files[-1].flush()
            ask = b"".join(b"%s\n" % os.path.basename(os.fsencode(file.name)) for file in files)
            return self._writers[kind].ask(ask, lambda stream: [line(stream).decode() for _ in files])
        finally:
            for file in files:
                self._give_back(file)

    def _file(self) -> BufferedWriter:
        """An empty file: making one costs more than all that is written into it."""
        try:
            return self._files.get_nowait()
        except Empty:
            return (self._scratch / f"object-{next(self._serial)}").open("wb")

    def _give_back(self, file: BufferedWriter) -> None:
        with contextlib.suppress(OSError):  # what could not be written is still in its buffer
            file.seek(0)
            file.truncate()
            if self._files.qsize() < AT_ONCE:
                self._files.put(file)
                return
        os.unlink(file.name)
        with contextlib.suppress(OSError):
            file.close()

    def tree(self, oid: str) -> dict[bytes, BaseEntry]:
        """One tree object: name -> entry, subtrees included."""
        data, entries, at = self.read(oid, "tree"), {}, 0
        while at < len(data):
            end = data.index(b"\0", at)
            mode, name = data[at:end].split(b" ", 1)
            at = end + 1 + self._oid_bytes
            entries[name] = BaseEntry(int(mode, 8), data[end + 1 : at].hex())
        return entries

    def write_tree(self, entries: Mapping[bytes, BaseEntry]) -> str:
        """Write one tree object. Its entries are not looked up: they come from trees that git has and from blobs that
        it just wrote, and a look-up each costs more than all the rest in a large folder (as it does in `git mktree`).
        """
        # git's order: a directory sorts as if its name ended in a slash
        ordered = sorted(entries.items(), key=lambda row: row[0] + b"/" if row[1].mode == TREE else row[0])
        data = b"".join(b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.oid)) for name, entry in ordered)
        return self.write("tree", [data])[0]


MISSING = (
    "`git fetch --refetch --no-filter` brings what a partial clone left out (nothing is fetched unasked); "
    "`git fsck` names what is damaged"
)


def header(stream: BufferedReader) -> Info | None:
    words = line(stream).decode("utf-8", "surrogateescape").rsplit(" ", 2)
    if len(words) != 3 or not words[2].isdigit():
        return None  # "NAME missing", "NAME ambiguous"
    return Info(words[0], words[1], int(words[2]))


def body(stream: BufferedReader, size: int, limit: int) -> bytes:
    """The content after its header, at most `limit` bytes of it; the rest is read past."""
    data = exactly(stream, min(size, limit))
    left = size - len(data)
    while left:
        left -= len(exactly(stream, min(left, STEP)))
    exactly(stream, 1)
    return data


def found(stream: BufferedReader, limit: int) -> bytes:
    info = header(stream)
    if info is None:
        raise EOFError
    return body(stream, info.size, limit)
