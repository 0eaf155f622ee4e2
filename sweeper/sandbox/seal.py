"""The seal of a store's entry: by it is seen that somebody, a cleaner of caches perhaps, changed what was built."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
from pathlib import Path

SIZE = 64  # bytes


def seal(folder: Path) -> bytes:
    """A digest of what lies in a folder, by name, mode, size and time; no file is opened."""
    rows: list[tuple[bytes, int, int, int]] = []
    top = os.fsencode(folder)
    pending = [top]
    while pending:
        with contextlib.suppress(PermissionError), os.scandir(pending.pop()) as listed:  # a set-up may shut a folder
            for each in listed:
                info = each.stat(follow_symlinks=False)
                is_folder = stat.S_ISDIR(info.st_mode)
                what = (0, 0) if is_folder else (info.st_size, info.st_mtime_ns)
                rows.append((each.path[len(top) :], info.st_mode, *what))
                if is_folder:
                    pending.append(each.path)
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest().encode()


def is_whole(lock: int, path: Path) -> bool:
    """Whether an entry is as it was built: by the seal in its lock file; one whose seal got lost is not trusted."""
    return os.pread(lock, SIZE, 0) == seal(path)


def take_alone(lock: int) -> bool:
    """Turn a shared lock into the only one; False, and no lock is held any more, where somebody else has one."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(lock, fcntl.LOCK_UN)
        return False
    return True
