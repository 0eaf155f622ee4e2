"""Looks for a secret, in every spelling, wherever it could be while a sweep runs and afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sweeper.redact import forms
from tests.waiting import PATIENCE


class Watcher(threading.Thread):
    """Reads environments and command lines of all processes but one, and what an engine says of its containers."""

    def __init__(self, secret: str, spared: int, *, engine: bool) -> None:
        super().__init__(daemon=True)
        self.found: list[str] = []
        self.looks = 0
        self.inspected = 0
        self._forms = forms(secret.encode())
        self._spared = spared
        self._engine = engine
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            self._processes()
            if self._engine:
                self._containers()
            self.looks += 1
            time.sleep(0.2)

    def end(self) -> list[str]:
        self._over.set()
        self.join(PATIENCE)
        return self.found

    def _processes(self) -> None:
        own = _read(Path(f"/proc/{self._spared}/cmdline"))
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) in (self._spared, os.getpid()):
                continue
            line = _read(entry / "cmdline")
            if line == own:
                continue  # between fork and exec a child shows what its parent was started with
            for name, data in (("cmdline", line), ("environ", _read(entry / "environ"))):
                if holds(data, self._forms):
                    self.found.append(f"{name} of {line[:200]!r}")

    def _containers(self) -> None:
        listed = subprocess.run(["docker", "ps", "-aq"], capture_output=True, text=True, check=False).stdout.split()
        if listed:
            said = subprocess.run(["docker", "inspect", *listed], capture_output=True, check=False).stdout
            self.inspected += said.count(b'"Id"')
            if holds(said, self._forms):
                self.found.append("docker inspect")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def holds(data: bytes, spellings: Sequence[bytes]) -> bool:
    packed = b"".join(data.split())
    return any(form in data or form in packed for form in spellings)


def files_with(secret: str, *folders: Path) -> Iterator[str]:
    """Files below `folders` that hold the secret."""
    spellings = forms(secret.encode())
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and holds(_read(path), spellings):
                yield str(path)


def objects_with(secret: str, repository: Path) -> Iterator[str]:
    """Git objects of every kind, also those that no ref holds any more."""
    spellings = forms(secret.encode())
    command = ["git", "cat-file", "--batch", "--batch-all-objects"]
    said = subprocess.run(command, cwd=repository, capture_output=True, check=True).stdout
    if holds(said, spellings):
        yield "a git object"


def seen_by_model(secret: str, bodies: Sequence[object]) -> int:
    """Request bodies with the secret: what an agent found in its sandbox and told its model."""
    spellings = forms(secret.encode())
    return sum(holds(json.dumps(body).encode(), spellings) for body in bodies)
