"""Memory, process and CPU limits by control groups, one group per slot, where this process may make them.

Version 1 (a hierarchy per controller) and version 2 (one tree, delegated to us or ours as root) answer alike.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from sweeper.sandbox.contract import Limits

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "pids", "cpu")
PERIOD = 100_000  # microseconds
PREFIX = "sweeper-"
TRIES = 20


@dataclass(slots=True)
class Group:
    """One slot's group: a folder per controller on version 1, the same folder thrice on version 2."""

    folders: dict[str, Path]
    unified: bool
    kills: int = 0

    def limit(self, limits: Limits) -> None:
        """Set the limits and start counting anew."""
        memory, pids, cpu = (self.folders[name] for name in CONTROLLERS)
        quota = max(1000, int(limits.cpus * PERIOD))
        if self.unified:
            _write(memory / "memory.max", limits.memory)
            _try(memory / "memory.swap.max", 0)
            _try(memory / "memory.oom.group", 0)
            _write(cpu / "cpu.max", f"{quota} {PERIOD}")
        else:
            # The pair can only be moved in the order that keeps memory below memory and swap together.
            _try(memory / "memory.memsw.limit_in_bytes", -1)
            _write(memory / "memory.limit_in_bytes", limits.memory)
            _try(memory / "memory.memsw.limit_in_bytes", limits.memory)
            _write(cpu / "cpu.cfs_period_us", PERIOD)
            _write(cpu / "cpu.cfs_quota_us", quota)
        _write(pids / "pids.max", limits.pids)
        self.kills = self._killed()

    def add(self, pid: int) -> None:
        for folder in set(self.folders.values()):
            _write(folder / "cgroup.procs", pid)

    def oom(self) -> bool:
        """Whether the kernel killed a process for memory since `limit`."""
        return self._killed() > self.kills

    def _killed(self) -> int:
        name = "memory.events" if self.unified else "memory.oom_control"
        with contextlib.suppress(OSError, ValueError):
            for line in (self.folders["memory"] / name).read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill":
                    return int(value)
        return 0


class Groups:
    """The groups of one owner. Raises OSError from the constructor where none can be made."""

    def __init__(self, owner: str, root: Path = ROOT) -> None:
        self.name = PREFIX + owner
        self.unified, self._tops = _tops(root)
        try:
            for top in set(self._tops.values()):
                (top / self.name).mkdir(exist_ok=True)
                if self.unified:
                    _write(top / self.name / "cgroup.subtree_control", " ".join(f"+{c}" for c in CONTROLLERS))
            self._prove()
        except OSError:
            self.close()
            raise

    def group(self, slot: int) -> Group:
        folders = {}
        for controller, top in self._tops.items():
            folders[controller] = top / self.name / str(slot)
            folders[controller].mkdir(exist_ok=True)
        return Group(folders, self.unified)

    @property
    def folders(self) -> list[str]:
        """What `remove` takes when this process did not live to close."""
        return sorted(str(top / self.name) for top in set(self._tops.values()))

    def close(self) -> None:
        """Remove the groups; the kernel may take a moment to let go of the last process."""
        for _ in range(TRIES):
            if all(remove(Path(folder)) for folder in self.folders):
                return
            time.sleep(0.05)

    def _prove(self) -> None:
        """A group that can be limited and that a process can be moved into, tried out."""
        group = self.group(0)
        group.limit(Limits())
        child = subprocess.Popen(["sleep", "5"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            group.add(child.pid)
        finally:
            child.kill()
            child.wait()


def remove(folder: Path) -> bool:
    """Remove an owner's group with its slots; False if one still holds processes."""
    with contextlib.suppress(OSError):
        for slot in folder.iterdir():
            if slot.is_dir():
                with contextlib.suppress(OSError):
                    slot.rmdir()
        folder.rmdir()
    return not folder.exists()


def _tops(root: Path) -> tuple[bool, dict[str, Path]]:
    """Whether the tree is unified, and where each controller's groups can be made. Raises OSError."""
    own = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        own.update(dict.fromkeys(names.split(","), path))
    if (root / "cgroup.controllers").exists():
        return True, dict.fromkeys(CONTROLLERS, _unified_top(root, own.get("", "/")))
    tops = {}
    for controller in CONTROLLERS:
        hierarchy = root / controller
        here = hierarchy / own.get(controller, "/").lstrip("/")
        tops[controller] = here if here.is_dir() else hierarchy
        if not os.access(tops[controller] / "cgroup.procs", os.W_OK):
            raise PermissionError(f"{tops[controller]} is not writable")
    return False, tops


def _unified_top(root: Path, own: str) -> Path:
    """The highest group that we may write to, have the controllers in, and that holds no process itself."""
    here = root / own.lstrip("/")
    for top in [root, *reversed(here.relative_to(root).parents), here]:
        place = root / top
        if not os.access(place, os.W_OK) or not os.access(place / "cgroup.procs", os.W_OK):
            continue
        with contextlib.suppress(OSError):
            control = place / "cgroup.subtree_control"
            if not set(CONTROLLERS) <= set(control.read_text().split()):
                _write(control, " ".join(f"+{c}" for c in CONTROLLERS))
            return place
    raise PermissionError(f"no group of {root} is delegated to us")


def _write(path: Path, value: object) -> None:
    # Without O_CREAT: a name that the kernel does not know is an error, not a new file.
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, str(value).encode())
    finally:
        os.close(fd)


def _try(path: Path, value: object) -> None:
    with contextlib.suppress(OSError):
        _write(path, value)
