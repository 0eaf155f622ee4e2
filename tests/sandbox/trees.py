"""A tree without a repository behind it, for the suite: files, links and modes as they are told."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sweeper.records import BaseEntry, Listing

FILE, PROGRAM, LINK, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o160000
IDENTITY = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class PlainTree:
    """`files`: path -> content (a link's content is its target); `modes`: what is not 100644; `git`: with a `.git`."""

    def __init__(
        self, files: Mapping[str, bytes], *, modes: Mapping[str, int] | None = None, git: bool = False
    ) -> None:
        self._files = dict(files)
        self._modes = dict(modes or {})
        self._git = git
        self._listing = {
            os.fsencode(path): BaseEntry(self._modes.get(path, FILE), blob_id(data)) for path, data in files.items()
        }

    @property
    def commit(self) -> str:
        text = repr((sorted(self._files.items()), sorted(self._modes.items()), self._git))
        return hashlib.sha1(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()

    @property
    def listing(self) -> Listing:
        return self._listing

    async def write_to(self, directory: Path) -> None:
        for path, data in self._files.items():
            place, mode = directory / path, self._modes.get(path, FILE)
            place.parent.mkdir(parents=True, exist_ok=True)
            if mode == LINK:
                place.symlink_to(os.fsdecode(data))
            elif mode == SUBMODULE:
                place.mkdir()
            else:
                place.write_bytes(data)
                place.chmod(mode & 0o777)
        if self._git:
            _commit(directory)


def _commit(directory: Path) -> None:
    for command in (["init", "-q", "-b", "main"], ["add", "-A", "-f"], ["commit", "-q", "-m", "base"]):
        subprocess.run(["git", *command], cwd=directory, env={**os.environ, **IDENTITY}, check=True)
