"""Folders on the coordinator's disk that engine-mounted overlays write to: one work directory per slot, fresh uppers.

The kernel leaves a root-owned folder of mode 000 in an overlay's work directory, which an ordinary user cannot remove:
so a slot keeps its work directory for life, and `leftovers` names what is for a root helper to clean at the end.
As root a slot lies on an ext4 image of the disk limit's size, so that the limit is a file system's own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import subprocess
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sweeper.errors import SandboxFailed
from sweeper.sandbox.holder import Item, lay

NEARLY_FULL = 64 << 10
MOUNT_TABLE = Path("/proc/self/mountinfo")


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
        self._hold_lock()
        slot = next((free for free in self._free if free.disk == disk or not free.sized), None)
        if slot is not None:
            self._free.remove(slot)
        else:
            slot = self._new(disk)
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
        left = clear(self.folder)
        if self._lock is not None:
            if left is None:
                self._lock_file(self.folder).unlink(missing_ok=True)
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
        lock_file = self._lock_file(folder)
        lock = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not look_only and clear(folder) is None:
                lock_file.unlink(missing_ok=True)
        except BlockingIOError:
            return None
        finally:
            os.close(lock)
        return folder

    def _lock_file(self, folder: Path) -> Path:
        """Beside the folder, so that it is held before the folder appears."""
        return folder.with_name(f"{folder.name}.lock")

    def _hold_lock(self) -> None:
        if self._lock is None:
            self.root.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._lock_file(self.folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._lock = lock
            self.folder.mkdir(exist_ok=True)

    def _new(self, disk: int) -> Slot:
        self._count += 1
        slot = Slot(self.folder / str(self._count), disk, sized=False)
        slot.space.mkdir(parents=True)
        if self._sizable is not False:
            self._sizable = slot.sized = give_size(slot)
        self._own(slot.work)
        return slot

    def _own(self, folder: Path) -> None:
        folder.mkdir()
        os.chmod(folder, 0o755)
        if os.geteuid() == 0:
            os.chown(folder, self._uid, self._gid)


def give_size(slot: Slot) -> bool:
    """Mount an ext4 image of the slot's size on its space. False where this machine has no loop devices or tools."""
    image = slot.folder / "disk.img"
    # The journal would cost space and time; nothing on a slot outlives its coordinator.
    make = [
        "mkfs.ext4",
        "-q",
        "-F",
        "-O",
        "^has_journal",
        "-i",
        "4096",
        "-E",
        "lazy_itable_init=1,nodiscard",
        "-m",
        "0",
        str(image),
    ]
    mount = ["mount", "-o", "loop,nosuid,nodev,noatime,discard", str(image), str(slot.space)]
    try:
        with image.open("wb") as file:
            file.truncate(max(slot.disk, 1 << 20))
        for command in (make, mount):
            subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        image.unlink(missing_ok=True)
        return False
    return True


def free_bytes(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


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


def written_bytes(upper: Path, enough: int) -> tuple[int, bool]:
    """Allocated bytes below a directory that is being written to, and whether all of it could be seen."""
    total, complete = 0, True
    stack = [upper]
    while stack and total <= enough:
        try:
            with os.scandir(stack.pop()) as entries:
                for entry in entries:
                    state = entry.stat(follow_symlinks=False)
                    total += state.st_blocks * 512
                    if stat.S_ISDIR(state.st_mode):
                        stack.append(Path(entry.path))
        except FileNotFoundError:
            continue
        except OSError:
            complete = False
    return total, complete


def mounted(upper: Path) -> bool:
    """Whether an overlay still writes to this upper directory."""
    with contextlib.suppress(FileNotFoundError):  # no such table off Linux, where the engine is a machine of its own
        return f"upperdir={upper}," in MOUNT_TABLE.read_text(errors="replace")
    return False


def remove(path: Path) -> bool:
    """Delete a folder of any depth and any modes; False if something in it belongs to root."""
    if not os.path.lexists(path):
        return True
    for command in (["rm", "-rf", "--", str(path)], ["chmod", "-R", "u+rwX", "--", str(path)]):
        subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL)
        if not os.path.lexists(path):
            return True
    subprocess.run(["rm", "-rf", "--", str(path)], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    return not os.path.lexists(path)


def clear(owner_folder: Path) -> Path | None:
    """Unmount and remove all slots of one owner; the folder itself if only root can finish."""
    if not owner_folder.is_dir():
        return None
    for slot in owner_folder.iterdir():
        if os.path.ismount(slot / "space"):
            subprocess.run(["umount", str(slot / "space")], check=False, capture_output=True, stdin=subprocess.DEVNULL)
    if remove(owner_folder):
        return None
    shutil.rmtree(owner_folder, ignore_errors=True)
    return owner_folder if owner_folder.exists() else None
