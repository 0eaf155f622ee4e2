"""Whether a path lies where several machines may see it, so that memory maps and local locks prove nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")

SHARED = re.compile(
    r"nfs\d*|cifs|smb\d*|smbfs|9p|virtiofs|vboxsf|prl_fs|fakeowner|fuse\..+|fuse|ceph|afs|gpfs|lustre|beegfs|glusterfs"
)


def shared_type(path: Path) -> str:
    """The type of `path`'s file system if it is a network or host-shared one, else "" (also where there is no way
    to know: only Linux tells)."""
    try:
        mounts = MOUNTINFO.read_bytes()
    except OSError:
        return ""
    found = type_of(os.path.realpath(path), mounts)
    return found if SHARED.fullmatch(found) else ""


def type_of(path: str, mountinfo: bytes) -> str:
    """The file system type of the mount that holds `path`; of several on one mount point the last is on top."""
    wanted = os.fsencode(path).rstrip(b"/") + b"/"
    best, found = -1, ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(b" - ")
        fields = left.split(b" ")
        if len(fields) < 5 or not right:
            continue
        point = re.sub(rb"\\(\d{3})", lambda octal: bytes([int(octal[1], 8)]), fields[4]).rstrip(b"/") + b"/"
        if wanted.startswith(point) and len(point) >= best:
            best, found = len(point), os.fsdecode(right.split(b" ", 1)[0])
    return found
