"""Folders on the coordinator's disk that engine-mounted overlays write to: one work directory per slot, fresh uppers.

The kernel leaves a root-owned folder of mode 000 in an overlay's work directory, which an ordinary user cannot remove:
so a slot keeps its work directory for life, and `leftovers` names what is for a root helper to clean at the end.
As root a slot lies on an ext4 image of the disk limit's size, so that the limit is a file system's own.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sweeper.errors import SandboxFailed
from sweeper.sandbox.holder import Item, lay
from sweeper.sandbox.space import free_bytes, give_size, remove, unmount, written_bytes

NEARLY_FULL = 64 << 10
IMAGE = "disk.img"


@dataclass(slots=True)
class Slot:
    """One overlay's place. `disk`: bytes; `sized`: the file system itself holds the limit."""

    folder: Path
    disk: int
    sized: bool
    uppers: int = 0
    upper: Path = field(default_factory=Path)
    free_before: int = 0

    @property
    def space(self) -> Path:
        return self.folder / "space"

    @property
    def work(self) -> Path:
        return self.space / "work"

    @property
    def inputs(self) -> Path:
        return self.folder / "inputs"

    @property
    def changes(self) -> Path:
        return self.folder / "changes"


class Slots:
    """All slots of one owner, below `root`/<owner>. Its methods block: call them in a thread.

    A lock file held open says that the owner lives; whoever can take it may remove the folder.
    """

    def __init__(self, root: Path, owner: str, uid: int, gid: int) -> None:
        if forbidden := [sign for sign in ",:\\" if sign in str(root)]:
            raise SandboxFailed(
                f"the state folder {root} has {forbidden[0]!r} in its path, which an overlay cannot name",
                hint="set SWEEPER_STATE to a path without it",
            )
        self.root = root
        self.folder = root / owner
        self._uid, self._gid = uid, gid
        self._count = 0
        self._free: list[Slot] = []
        self._lock: int | None = None
        self._sizable: bool | None = None if os.geteuid() == 0 else False

    @property
    def sizable(self) -> bool:
        """Whether slots are file systems of their own size; known after the first `take`."""
        return bool(self._sizable)

    def take(self, disk: int) -> Slot:
        """A slot with a fresh, empty upper directory that belongs to the sandbox's user."""
        self.hold()
        fitting = [free for free in self._free if free.disk == disk or not free.sized]
        slot = next(iter(fitting or self._free), None)
        if slot is None:
            slot = self._new(disk)
        else:
            self._free.remove(slot)
            if slot.sized and slot.disk != disk:
                self._make_again(slot, disk)
        slot.disk = disk
        slot.uppers += 1
        slot.upper = slot.space / f"upper-{slot.uppers}"
        self._own(slot.upper)
        slot.free_before = free_bytes(slot.space)
        return slot

    def give_back(self, slot: Slot) -> None:
        """Delete what its sandbox wrote and got, and keep the slot for the next one."""
        remove(slot.upper)
        remove(slot.inputs)
        remove(slot.changes)
        self._free.append(slot)

    def lay_inputs(self, slot: Slot, inputs: Mapping[str, bytes]) -> None:
        slot.inputs.mkdir()
        for name, data in inputs.items():
            path = slot.inputs / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o444)
        for folder, _, _ in os.walk(slot.inputs):
            os.chmod(folder, 0o755)

    def lay_changes(self, slot: Slot, items: Iterable[Item], body: bytes) -> None:
        """A lower layer of its own, so that the upper directory holds only what the command wrote."""
        self._own(slot.changes)
        root = os.open(slot.changes, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            lay(root, items, body)
            if os.geteuid() == 0:
                for _, folders, files, fd in os.fwalk(".", dir_fd=root, follow_symlinks=False):
                    for name in (*folders, *files):
                        os.chown(name, self._uid, self._gid, dir_fd=fd, follow_symlinks=False)
        finally:
            os.close(root)

    def close(self) -> Path | None:
        """Remove every slot; the folder that only root can empty, if one is left. Gives up the lock."""
        self._free.clear()
        left = clear_with_lock(self.folder)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        return left

    def dead(self) -> set[str]:
        """Owners with a folder here whose lock is free: their process has ended."""
        return {folder.name for folder in self._others() if self._clear(folder, look_only=True) is not None}

    def clear_dead(self, owners: Container[str]) -> list[Path]:
        """Remove the folders of these owners, as far as they are dead; those that only root can empty."""
        cleared = [self._clear(folder) for folder in self._others() if folder.name in owners]
        return [folder for folder in cleared if folder is not None and folder.exists()]

    def _others(self) -> list[Path]:
        if not self.root.is_dir():
            return []
        return [folder for folder in self.root.iterdir() if folder.is_dir() and folder != self.folder]

    def _clear(self, folder: Path, *, look_only: bool = False) -> Path | None:
        """Clear a folder with its lock held; None if its owner lives."""
        lock = os.open(lock_file(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not look_only:
                clear_with_lock(folder)
        except BlockingIOError:
            return None
        finally:
            os.close(lock)
        return folder

    def hold(self) -> None:
        """Show that this owner lives, from here to `close`."""
        if self._lock is None:
            self.root.mkdir(parents=True, exist_ok=True)
            lock = os.open(lock_file(self.folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._lock = lock
            self.folder.mkdir(exist_ok=True)

    def _new(self, disk: int) -> Slot:
        self._count += 1
        slot = Slot(self.folder / str(self._count), disk, sized=False)
        slot.space.mkdir(parents=True)
        if self._sizable is not False:
            self._sizable = slot.sized = give_size(slot.folder / IMAGE, slot.space, disk)
        self._own(slot.work)
        return slot

    def _make_again(self, slot: Slot, disk: int) -> None:
        """The same slot with a file system of another size."""
        unmount(slot.space)
        slot.disk = disk
        slot.sized = give_size(slot.folder / IMAGE, slot.space, disk)
        if not slot.sized:
            remove(slot.work)
        self._own(slot.work)

    def _own(self, folder: Path) -> None:
        folder.mkdir()
        os.chmod(folder, 0o755)
        if os.geteuid() == 0:
            os.chown(folder, self._uid, self._gid)


def disk_state(slot: Slot) -> tuple[bool, bool]:
    """(over the limit now, the file system is full). Over never happens on a sized slot."""
    if slot.sized:
        # What a file system cannot give to one write of usual size counts as full, and so does a lack of inodes.
        state = os.statvfs(slot.space)
        return False, state.f_bavail * state.f_frsize < min(1 << 20, slot.disk // 16) or state.f_favail == 0
    written, complete = written_bytes(slot.upper, slot.disk)
    if not complete:
        written = max(written, slot.free_before - free_bytes(slot.space))
    return written > slot.disk, written > slot.disk - NEARLY_FULL


def lock_file(folder: Path) -> Path:
    """Beside the folder, so that it is held before the folder appears."""
    return folder.with_name(f"{folder.name}.lock")


def clear_with_lock(folder: Path) -> Path | None:
    """As `clear`, and the folder's lock file with it."""
    left = clear(folder)
    if left is None:
        lock_file(folder).unlink(missing_ok=True)
    return left


def clear(owner_folder: Path) -> Path | None:
    """Unmount and remove all slots of one owner; the folder itself if only root can finish."""
    if not owner_folder.is_dir():
        return None
    for slot in owner_folder.iterdir():
        unmount(slot / "space")
    if remove(owner_folder):
        return None
    shutil.rmtree(owner_folder, ignore_errors=True)
    return owner_folder if owner_folder.exists() else None
