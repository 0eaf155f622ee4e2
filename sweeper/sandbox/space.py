"""Disk space of sandboxes on the coordinator's own disk: file systems of a size, looks at what was written, deletion.

Everything here blocks.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sweeper.errors import SandboxFailed

PACKAGES = {"umount": "util-linux", "nsenter": "util-linux"}
MOUNT_TABLE = Path("/proc/self/mountinfo")


def give_size(image: Path, space: Path, size: int) -> bool:
    """Mount an ext4 image of so many bytes on `space`. False where this machine has no loop devices or tools."""
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
    mount = ["mount", "-o", "loop,nosuid,nodev,noatime", str(image), str(space)]
    try:
        image.unlink(missing_ok=True)  # the one of before may still be in use
        with image.open("wb") as file:
            file.truncate(max(size, 1 << 20))
        for command in (make, mount):
            subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        image.unlink(missing_ok=True)
        return False
    return True


def on_host(*command: str, check: bool = False, pass_fds: Sequence[int] = ()) -> subprocess.CompletedProcess[str]:
    """Run a program of this machine. Raises SandboxFailed if it is missing, CalledProcessError with `check`."""
    try:
        return subprocess.run(
            command, check=check, capture_output=True, text=True, stdin=subprocess.DEVNULL, pass_fds=pass_fds
        )
    except FileNotFoundError as problem:
        package = PACKAGES.get(command[0], "coreutils")
        hint = f"install {package}, or complete PATH"
        raise SandboxFailed(f"{command[0]} was not found on PATH; sandboxes need it", hint=hint) from problem


def unmount(space: Path) -> None:
    """Lazily: the engine may still be letting go of it, and its loop device goes with the last user."""
    if os.path.ismount(space):
        on_host("umount", "-l", str(space))


def free_bytes(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


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
    for command in (("rm", "-rf", "--"), ("chmod", "-R", "u+rwX", "--")):
        on_host(*command, str(path))
        if not os.path.lexists(path):
            return True
    on_host("rm", "-rf", "--", str(path))
    return not os.path.lexists(path)


def folder_bytes(folder: Path) -> int:
    """The sizes of the files below a folder, links not followed."""
    total = 0
    for _, _, files, fd in os.fwalk(folder, follow_symlinks=False):
        total += sum(os.stat(name, dir_fd=fd, follow_symlinks=False).st_size for name in files)
    return total
