"""Real repositories for tests, made with git itself and nothing of ours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main")


@dataclass(frozen=True, slots=True)
class Project:
    """A repository with a work tree; `git` runs git in it as a user would."""

    top: Path

    def git(self, *args: str, stdin: bytes = b"") -> bytes:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(
            ["git", *WHO, *args], cwd=self.top, input=stdin, capture_output=True, check=True, env=env
        ).stdout

    def text(self, *args: str) -> str:
        return self.git(*args).decode().strip()

    def write(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def commit(self, files: Mapping[str, bytes] | None = None, message: str = "change") -> str:
        """Write files and commit everything; the new commit's id."""
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.head

    @property
    def head(self) -> str:
        return self.text("rev-parse", "HEAD")

    def names(self, commit: str) -> list[bytes]:
        return self.git("ls-tree", "-r", "-z", "--name-only", commit).split(b"\0")[:-1]

    def oids(self, commit: str) -> dict[bytes, bytes]:
        rows = (row.split(b"\t", 1) for row in self.git("ls-tree", "-r", "-z", commit).split(b"\0")[:-1])
        return {path: head.split(b" ")[2] for head, path in rows}

    def raw(self, old: str, new: str) -> dict[bytes, bytes]:
        """git's own word on what differs: path -> "old mode, new mode, old id, new id, status"."""
        words = self.git("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split(b"\0")[:-1]
        return dict(zip(words[1::2], words[0::2], strict=True))

    def show(self, commit: str, path: str) -> bytes:
        return self.git("cat-file", "blob", f"{commit}:{path}")


def project(top: Path, files: Mapping[str, bytes] | None = None) -> Project:
    """A new repository whose first commit has these files."""
    top.mkdir(parents=True)
    made = Project(top)
    made.git("init", "--quiet")
    made.commit({"a.py": b"a\n"} if files is None else files, "base")
    return made
