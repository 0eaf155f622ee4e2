"""Who has which sandboxes on this machine: a folder per owner with a file per live sandbox, below a store.

The owner's lock file is held open for life, so that a folder whose lock is free belongs to a dead process, and what
it left (control groups) can be removed by anybody.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sweeper.errors import SandboxFailed
from sweeper.records import Owner
from sweeper.sandbox.contract import Handle, Spec

LOCK, GROUPS = "lock", "groups"
SUFFIX = ".json"


class Register:
    """Its methods block shortly: small files on the store's disk."""

    def __init__(self, root: Path, owner: Owner) -> None:
        self._root = root
        self._owner = owner
        self._folder = root / owner.id
        self._lock: int | None = None

    def open(self, groups: list[str]) -> None:
        """Enter this owner, with the control groups that it has made."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._lock is None:
            self._lock = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (self._folder / GROUPS).write_text("\n".join(groups))

    def reserve(self, spec: Spec) -> None:
        """Enter a sandbox that is about to start. Raises SandboxFailed while another one has its name."""
        try:
            self._write(spec, -1, "x")
        except FileExistsError as problem:
            what = f"a sandbox named {spec.name} is running already"
            raise SandboxFailed(what, hint="wait for it, or reap it", may_have_run=True) from problem

    def enter(self, spec: Spec, pid: int) -> None:
        """It lives; `pid` is its first process."""
        self._write(spec, pid, "w")

    def _write(self, spec: Spec, pid: int, mode: str) -> None:
        labels = {
            "name": str(spec.name),
            "run": spec.name.run,
            "unit": spec.name.unit,
            "attempt": spec.name.attempt,
            "role": str(spec.name.role),
            "index": spec.name.index,
            "fire": spec.fire,
            "deadline": spec.deadline,
            "owner": dataclasses.asdict(self._owner),
            "pid": pid,
            "born": born(pid),
        }
        with (self._folder / (str(spec.name) + SUFFIX)).open(mode) as file:
            file.write(json.dumps(labels))  # to a file, json encodes ten times as slowly

    def leave(self, spec: Spec) -> None:
        (self._folder / (str(spec.name) + SUFFIX)).unlink(missing_ok=True)

    def handles(self, owner: str | None) -> list[Handle]:
        """Every entered sandbox, of one owner or of all; `ref` is its file."""
        pattern = f"{owner}/*{SUFFIX}" if owner is not None else f"*/*{SUFFIX}"
        found = []
        for path in sorted(self._root.glob(pattern)):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                found.append(_handle(path, json.loads(path.read_text())))
        return found

    def abandoned(self) -> Iterator[tuple[Path, list[str]]]:
        """Folders of dead owners, with their control groups. The lock is held while each is looked at."""
        for folder in self._root.iterdir() if self._root.is_dir() else ():
            if folder == self._folder:
                continue
            try:
                lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                text = (folder / GROUPS).read_text() if (folder / GROUPS).exists() else ""
                yield folder, text.splitlines()
            except BlockingIOError:
                continue
            finally:
                os.close(lock)

    def forget(self, folder: Path) -> None:
        """Remove a dead owner's folder, unless a sandbox of its is still entered."""
        if not list(folder.glob(f"*{SUFFIX}")):
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        if self._lock is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _handle(path: Path, labels: dict[str, Any]) -> Handle:
    return Handle(
        name=labels["name"],
        run=labels["run"],
        unit=labels["unit"],
        attempt=labels["attempt"],
        role=labels["role"],
        owner=Owner(**labels["owner"]),
        deadline=labels["deadline"],
        running=alive(labels["pid"], labels["born"]),
        index=labels["index"],
        ref=(path, labels["pid"], labels["born"]),
    )


def born(pid: int) -> int:
    """When a process was started, in clock ticks since boot; -1 if it is gone. With the pid it names one process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rsplit(b")", 1)[1].split()[19])
    except (OSError, ValueError, IndexError):
        return -1


def alive(pid: int, when: int) -> bool:
    return when >= 0 and born(pid) == when
