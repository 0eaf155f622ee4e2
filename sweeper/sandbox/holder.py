"""The holder: a small process that owns the user and mount namespace of one coordinator's bubblewrap sandboxes.

Started as a program (`python -I holder.py MOUNTPOINT UID GID`, a stream socket on file descriptor 0); standard library
only. In its mount namespace it keeps, under MOUNTPOINT, the read-only roots of sandboxes and a sized tmpfs per
sandbox; it starts bwrap as its own child. When the socket closes (the coordinator is gone, however) it ends its
descendants and exits: every mount vanishes with the namespace. Should it be killed itself, bwrap dies with its parent.

A message is `HEADER` (two lengths), a JSON object and a body of raw bytes; descriptors travel beside the header.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

HEADER = struct.Struct("!II")
MAX_FDS = 16
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
KEYCTL_JOIN_SESSION_KEYRING = 1
KEYCTL = {"x86_64": 250, "aarch64": 219}  # the system call's number
SLOT_FOLDERS = ("upper", "work", "home", "tmp", "shm", "inputs", "changes", "toolchain", "kept")
INODES = 400_000
LAST_WORD = 4.0  # seconds for the kernel to end what was killed
# The coordinator's end is the holder's, after its sandboxes; the kernel reaps bwrap.
IGNORED = (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Item = tuple[str, str, int, int, int]  # path, "file" | "link" | "gone", mode, offset and size in the body


def send(sock: socket.socket, message: dict[str, Any], body: bytes = b"", fds: Sequence[int] = ()) -> None:
    text = json.dumps(message).encode("ascii")
    header = HEADER.pack(len(text), len(body))
    if fds:
        socket.send_fds(sock, [header], fds)
    else:
        sock.sendall(header)
    sock.sendall(text)
    if body:
        sock.sendall(body)


def receive(sock: socket.socket) -> tuple[dict[str, Any], bytes, list[int]] | None:
    """The next message, or None when the other side is gone."""
    header, fds, _, _ = socket.recv_fds(sock, HEADER.size, MAX_FDS)
    for fd in fds:
        os.set_inheritable(fd, False)
    while header and len(header) < HEADER.size:
        more = sock.recv(HEADER.size - len(header))
        header = header + more if more else b""
    if not header:
        return None
    text_size, body_size = HEADER.unpack(header)
    text, body = _exactly(sock, text_size), _exactly(sock, body_size)
    if text is None or body is None:
        return None
    return json.loads(text), body, fds


def _exactly(sock: socket.socket, size: int) -> bytes | None:
    data = bytearray(size)
    view, got = memoryview(data), 0
    while got < size:
        count = sock.recv_into(view[got:])
        if not count:
            return None
        got += count
    return bytes(data)


def lay(root: int, items: Iterable[Item], body: bytes) -> None:
    """Write files and whiteouts below the directory `root` (a descriptor), which is empty and seen by nobody yet.

    A whiteout is a character device 0:0: an ordinary user may make one since Linux 5.8.
    """
    for path, kind, mode, offset, size in items:
        name = os.fsencode(path)
        parent = b""
        for part in name.split(b"/")[:-1]:
            parent = parent + b"/" + part if parent else part
            try:
                os.mkdir(parent, 0o755, dir_fd=root)
            except FileExistsError:
                pass
        if kind == "gone":
            os.mknod(name, stat.S_IFCHR | 0o600, os.makedev(0, 0), dir_fd=root)
            continue
        if kind == "link":
            os.symlink(body[offset : offset + size], name, dir_fd=root)
            continue
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=root)
        with os.fdopen(fd, "wb") as file:
            file.write(memoryview(body)[offset : offset + size])
            os.fchmod(fd, mode)


_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    encoded = kind.encode() if kind else None
    done = _libc.mount(os.fsencode(source), os.fsencode(target), encoded, ctypes.c_ulong(flags), options.encode())
    _checked(done, f"mount {source} on {target}")


def unmount(target: str) -> None:
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH), f"unmount {target}")


def enter(uid: int, gid: int) -> None:
    """Become `uid` for good and take a user and a mount namespace in which it has every capability."""
    if os.geteuid() == 0 and uid != 0:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        _checked(_libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")
    leave_keyring()
    _checked(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare a user and a mount namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    mount("none", "/", None, MS_REC | MS_PRIVATE)


def leave_keyring() -> None:
    """Take an empty session keyring: the coordinator's would be every sandbox's."""
    number = KEYCTL.get(os.uname().machine) if sys.maxsize > 1 << 32 else None
    if number is None:
        return
    _libc.syscall.restype = ctypes.c_long
    if _libc.syscall(ctypes.c_long(number), ctypes.c_long(KEYCTL_JOIN_SESSION_KEYRING), None) < 0:
        code = ctypes.get_errno()
        # A kernel without keys, or a container that refuses the call to everything in it.
        if code not in (errno.ENOSYS, errno.EPERM):
            raise OSError(code, f"join a session keyring: {os.strerror(code)}")


class Holder:
    def __init__(self, mountpoint: str) -> None:
        self.top = mountpoint
        mount("tmpfs", mountpoint, "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=0755")
        for folder in ("roots", "slots", "staged"):
            os.mkdir(f"{mountpoint}/{folder}")

    def slot(self, message: dict[str, Any], body: bytes, fds: list[int]) -> tuple[dict[str, Any], list[int]]:
        """A fresh tmpfs of `size` bytes with the folders of a sandbox; its descriptor goes back."""
        path = f"{self.top}/slots/{message['name']}"
        os.mkdir(path)
        options = f"size={message['size']},nr_inodes={INODES},mode=0755"
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options)
        root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for folder in SLOT_FOLDERS:
            os.mkdir(folder, 0o755, dir_fd=root)
        os.chmod("tmp", 0o1777, dir_fd=root)
        os.chmod("shm", 0o1777, dir_fd=root)
        for folder in ("inputs", "changes", "toolchain", "kept"):
            inside = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
            try:
                lay(inside, message.get(folder, ()), body)
            finally:
                os.close(inside)
        return {"path": path}, [root]

    def free(self, message: dict[str, Any], body: bytes, fds: list[int]) -> tuple[dict[str, Any], list[int]]:
        path = f"{self.top}/slots/{message['name']}"
        unmount(path)
        os.rmdir(path)
        return {}, []

    def root(self, message: dict[str, Any], body: bytes, fds: list[int]) -> tuple[dict[str, Any], list[int]]:
        """A root for sandboxes: folders, small files, links, and host paths mounted into it."""
        top = f"{self.top}/roots/{message['name']}"
        os.mkdir(top)
        for folder in message["folders"]:
            os.makedirs(top + folder, exist_ok=True)
        for path, text in message["files"].items():
            _make(top + path, folder=False)
            with open(top + path, "w") as file:
                file.write(text)
        for path, target in message["links"].items():
            os.makedirs(os.path.dirname(top + path), exist_ok=True)
            os.symlink(target, top + path)
        for source, path in message["binds"]:
            _make(top + path, folder=os.path.isdir(source))
            mount(source, top + path, None, MS_BIND | MS_REC)
        return {"path": top}, []

    def place(self, message: dict[str, Any], body: bytes, fds: list[int]) -> tuple[dict[str, Any], list[int]]:
        """An empty folder or file that a path of the host will be mounted on from outside."""
        path = f"{self.top}/staged/{message['name']}"
        _make(path, folder=message["folder"])
        return {"path": path}, []

    def spawn(self, message: dict[str, Any], body: bytes, fds: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Start bwrap; its standard streams are the first three descriptors, the others keep their place: 3, 4, ..."""
        argv = [os.fsencode(part) for part in message["argv"]]
        moves = [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(fds)]
        pid = os.posix_spawn(argv[0], argv, {}, file_actions=moves, setsigmask=(), setsigdef=IGNORED)
        return {"pid": pid}, []

    def limit(self, message: dict[str, Any], body: bytes, fds: list[int]) -> tuple[dict[str, Any], list[int]]:
        """Processes of a sandbox that waits at its gate, and no core dumps; a dead one is the asker's to notice."""
        with contextlib.suppress(ProcessLookupError):
            for which, most in ((resource.RLIMIT_NPROC, message["pids"]), (resource.RLIMIT_CORE, 0)):
                resource.prlimit(message["pid"], which, (most, most))
        return {}, []


def _make(path: str, *, folder: bool) -> None:
    os.makedirs(path if folder else os.path.dirname(path), exist_ok=True)
    if not os.path.lexists(path):
        with open(path, "w"):
            pass


def serve(sock: socket.socket, holder: Holder) -> None:
    ways: dict[str, Callable[[dict[str, Any], bytes, list[int]], tuple[dict[str, Any], list[int]]]] = {
        "slot": holder.slot,
        "free": holder.free,
        "root": holder.root,
        "place": holder.place,
        "spawn": holder.spawn,
        "limit": holder.limit,
    }
    while (got := receive(sock)) is not None:
        message, body, fds = got
        out: list[int] = []
        try:
            answer, out = ways[message["do"]](message, body, fds)
        except OSError as problem:
            answer = {"error": str(problem), "errno": problem.errno or 0}
        send(sock, answer, fds=out)
        for fd in (*fds, *out):
            os.close(fd)


def end_descendants() -> None:
    """Kill what was started here until nothing is left of it, or LAST_WORD is over.

    A bwrap that has not yet asked to die with its parent never hears of its end, and takes the end of its gate for
    the word to go on. What it leaves is ours to kill too: `main` made this process the parent of orphans.
    """
    deadline = time.monotonic() + LAST_WORD
    while time.monotonic() < deadline:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            if not (found := file.read().split()):
                return
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.002)


def main(mountpoint: str, uid: int, gid: int) -> int:
    # Descriptors of a message must lie above the places that a child gets them on.
    sock = socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, MAX_FDS))
    for place in range(3, MAX_FDS):
        os.dup2(0, place, inheritable=False)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.umask(0o022)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        enter(uid, gid)
        holder = Holder(mountpoint)
    except OSError as problem:
        send(sock, {"error": str(problem), "errno": problem.errno or 0})
        return 1
    send(sock, {})
    with contextlib.suppress(ConnectionError):  # gone between a question and its answer
        serve(sock, holder)
    end_descendants()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
