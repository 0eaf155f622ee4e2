"""Opens what a user names as a file, and nothing that only looks like one."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from sweeper.errors import ConfigError

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def opened(path: str | Path) -> BinaryIO:
    """A regular file, to read. Raises OSError as `open` does, and ConfigError for anything else at once.

    A pipe may have nobody at its other end, and a device no end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind == stat.S_IFREG:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise ConfigError(f"{path}: it is {KINDS.get(kind, 'no file')}", hint="give a regular file")
