"""What the base commit's own .gitignore and .gitattributes say of paths; never those that a sandbox wrote.

Git answers in a scratch folder that holds nothing but these files, as they are in the commit.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from io import BufferedReader
from pathlib import Path

from sweeper.records import Listing
from sweeper.repo.objects import LINK, Objects
from sweeper.repo.run import PIPE, Child, Git, word

FILES = (b".gitignore", b".gitattributes")
KEPT = 4  # commits: a run works on the base and a round's merge
LIMIT = 4 << 20  # bytes of one such file
IGNORE = ("check-ignore", "--no-index", "-z", "--verbose", "--non-matching", "--stdin")
ATTRIBUTES = ("check-attr", "-z", "--stdin")


class Rules:
    """`git_dir`: a bare directory of ours, without settings or index; `scratch`: a private folder."""

    def __init__(self, git_dir: Path, scratch: Path, objects: Objects) -> None:
        self._git_dir, self._scratch, self._objects = git_dir, scratch, objects
        self._lock = threading.Lock()
        self._judges: dict[str, _Judge] = {}

    def ignored(self, commit: str, listing: Listing, paths: Sequence[bytes]) -> set[bytes]:
        """Which of the paths are git-ignored, be they tracked or not."""
        if not paths:
            return set()
        with self._lock:
            rows = self._judge(commit, listing).ask(IGNORE, 4, paths)
        # Of the pattern that decides: its file, line and text (all empty without one), then the path.
        return {path for path, row in zip(paths, rows, strict=True) if row[2] and not row[2].startswith(b"!")}

    def attributes(
        self, commit: str, listing: Listing, paths: Sequence[bytes], names: tuple[str, ...]
    ) -> Mapping[bytes, Mapping[str, str]]:
        """path -> attribute -> "set", "unset" or its value; unspecified ones are absent."""
        if not paths:
            return {}
        with self._lock:
            rows = self._judge(commit, listing).ask((*ATTRIBUTES, *names), 3 * len(names), paths)
        found: dict[bytes, dict[str, str]] = {}
        for path, row in zip(paths, rows, strict=True):
            for name, value in zip(names, row[2::3], strict=True):
                if value != b"unspecified":
                    found.setdefault(path, {})[name] = value.decode("utf-8", "replace")
        return found

    def close(self) -> None:
        with self._lock:
            for judge in self._judges.values():
                judge.close()
            self._judges.clear()

    def _judge(self, commit: str, listing: Listing) -> _Judge:
        """The one for a commit, made at the first question."""
        if (judge := self._judges.get(commit)) is None:
            while len(self._judges) >= KEPT:
                self._judges.pop(next(iter(self._judges))).close()
            folder = self._scratch / commit
            self._fill(folder, listing)
            judge = self._judges[commit] = _Judge(self._git_dir, folder)
        return judge

    def _fill(self, folder: Path, listing: Listing) -> None:
        folder.mkdir()
        root = os.fsencode(folder)
        # Git does not follow a .gitignore that is a link, so it is as good as absent.
        files = [
            (path, entry.oid)
            for path, entry in listing.items()
            if path.rsplit(b"/", 1)[-1] in FILES and entry.mode != LINK
        ]
        blobs = dict(self._objects.blobs(sorted({oid for _, oid in files}), LIMIT))
        for path, oid in files:
            place = os.path.join(root, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(blobs[oid] or b"")


class _Judge:
    """Git in one commit's scratch folder: a child that stays for each kind of question."""

    def __init__(self, git_dir: Path, folder: Path) -> None:
        self._git, self._folder = Git(git_dir, folder), folder
        self._children: dict[tuple[str, ...], Child] = {}

    def ask(self, question: tuple[str, ...], words: int, paths: Sequence[bytes]) -> list[list[bytes]]:
        """For each path the words of the answer, in order."""
        child = self._children.setdefault(question, Child(self._git, *question, cwd=self._folder))
        answers: list[list[bytes]] = []
        at = 0
        while at < len(paths):
            # Git reads a pathspec here, and a name like ":x" is one with magic; "./:x" is not.
            request = b"./%s\0" % paths[at]
            end = at + 1
            while end < len(paths) and len(request) + len(paths[end]) < PIPE:
                request += b"./%s\0" % paths[end]
                end += 1
            answers += child.ask(request, partial(rows, end - at, words))
            at = end
        return answers

    def close(self) -> None:
        for child in self._children.values():
            child.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def rows(count: int, words: int, stream: BufferedReader) -> list[list[bytes]]:
    return [[word(stream) for _ in range(words)] for _ in range(count)]
