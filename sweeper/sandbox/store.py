"""Where prepared trees and toolchains are kept: built once per key, shared by every backend and process of a machine.

An entry is a folder that never changes after it appeared; its lock file holds a seal by which it is seen if somebody,
a cleaner of caches perhaps, changed it all the same. Whoever uses it holds a shared lock on its lock file until
`close`, so that pruning, in whatever process, never removes one in use: it must take that lock alone first.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import random
import re
import shutil
import stat
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread

from sweeper.errors import SandboxFailed
from sweeper.sandbox.contract import SANDBOX_UID, Tree
from sweeper.sandbox.seal import is_whole, seal, take_alone
from sweeper.sandbox.space import on_host

KEY = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,127}")
POLL = 0.05
DAY = 86400.0
LOOKS = 40  # at a changed entry that somebody else holds, POLL or more between two


def sandbox_ids() -> tuple[int, int]:
    """The real uid and gid of every sandbox of this process."""
    return (SANDBOX_UID, SANDBOX_UID) if os.geteuid() == 0 else (os.geteuid(), os.getegid())


def default_root() -> Path:
    """The machine's cache folder for root, the user's own otherwise."""
    if os.geteuid() == 0:
        return Path("/var/cache/sweeper")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sweeper"


class Store:
    """Entries below `root`, each `root`/<kind>/<key>. `close` gives up every use.

    Raises SandboxFailed where the folder cannot be made, or where the sandbox's user cannot get to it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._held: dict[tuple[str, str], int] = {}

    async def tree(self, tree: Tree) -> Path:
        """The commit's tree as a folder that belongs to the sandbox's user; used from now on by this process."""
        return await self.entry("trees", tree.commit, tree.write_to)

    async def entry(self, kind: str, key: str, build: Callable[[Path], Awaitable[None]]) -> Path:
        """The entry, built first if it is not there: `build` fills the empty folder that it gets.

        It appears whole or not at all. A second caller, in this or another process, waits for the first one's.
        """
        if not KEY.fullmatch(key):
            raise SandboxFailed(f"{key!r} cannot name a folder of the store {self.root}")
        folder = self.root / kind
        await anyio.to_thread.run_sync(self._make, folder)
        path = folder / key
        if (kind, key) in self._held:
            return path
        lock = await self._sound(folder / f"{key}.lock", path)
        try:
            if not _there(path):
                await self._build(path, build, lock)
            os.utime(lock)
            fcntl.flock(lock, fcntl.LOCK_SH)
        except BaseException:
            os.close(lock)
            raise
        if (kind, key) in self._held:  # another task of this process was as fast
            os.close(lock)
        else:
            self._held[kind, key] = lock
        return path

    async def _sound(self, lock_file: Path, path: Path) -> int:
        """A descriptor of the lock file, shared if the entry is there and whole, alone if it is to be built.

        Raises SandboxFailed if the entry is not what was built, and somebody goes on using it.
        """
        for _ in range(LOOKS):
            lock = await self._locked(lock_file, path)
            try:
                if not _there(path) or await anyio.to_thread.run_sync(is_whole, lock, path):
                    return lock
                if take_alone(lock) and _is_at(lock, lock_file):
                    await anyio.to_thread.run_sync(remove_tree, path)
                    return lock
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)
            await anyio.sleep(random.uniform(POLL, 2 * POLL))  # whoever looks at it as well is not in step with us
        raise SandboxFailed(
            f"the cache entry {path} was changed, and another process uses it",
            hint="wait until that one has ended and run again: the entry is made anew then",
        )

    async def _locked(self, lock_file: Path, path: Path) -> int:
        """A descriptor of the lock file: shared if the entry is there, alone if it is to be built."""
        while (lock := _try_lock(lock_file, path)) is None:  # noqa: ASYNC110  # another process holds it
            await anyio.sleep(POLL)
        return lock

    async def _build(self, path: Path, build: Callable[[Path], Awaitable[None]], lock: int) -> None:
        new = path.with_name(f".{path.name}.new")
        await anyio.to_thread.run_sync(remove_tree, new)  # of a builder that was killed
        new.mkdir(mode=0o755)
        try:
            await build(new)
            await anyio.to_thread.run_sync(_finish, new, path, lock)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(remove_tree, new)
            raise

    def ready(self) -> None:
        """Make the store's folder and prove that the sandbox's user gets to it. Blocks shortly."""
        self._make(self.root)

    def _make(self, folder: Path) -> None:
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if os.geteuid() == 0:
                for place in missing:  # a strict umask would shut the sandbox's user out of what we make
                    place.chmod(stat.S_IMODE(place.stat().st_mode) | stat.S_IXGRP | stat.S_IXOTH)
        except OSError as problem:
            raise SandboxFailed(
                f"the cache folder {folder} cannot be made: {problem.strerror}",
                hint="set XDG_CACHE_HOME to a folder that you can write to",
            ) from problem
        if os.geteuid() == 0:
            for place in (folder, *folder.parents):
                if not place.stat().st_mode & stat.S_IXOTH:
                    raise SandboxFailed(
                        f"the sandbox's user cannot enter {place}, where the cache folder {self.root} lies",
                        hint=f"chmod o+x {place}, or use a cache folder outside it",
                    )

    def file(self, data: bytes, suffix: str) -> Path:
        """A small file that sandboxes may read, and nobody else, named by its content. Blocks."""
        path = self.root / "files" / (hashlib.sha256(data).hexdigest()[:32] + suffix)
        self._make(path.parent)
        if not path.exists() or path.stat().st_mode & 0o007:
            new = path.with_name(f".{path.name}.{os.getpid()}")
            new.touch(0o600)
            new.write_bytes(data)
            if os.geteuid() == 0:  # sandboxes have a user and a group of their own
                os.chown(new, 0, sandbox_ids()[1])
                new.chmod(0o640)
            new.rename(path)
        return path

    def prune(self, kind: str, keep: int, older_than: float = 7 * DAY) -> int:
        """Remove entries of a kind that nobody uses, beyond the `keep` used last and not used for `older_than` seconds.

        Returns how many were removed. Blocks: call it in a thread.
        """
        locks = sorted((self.root / kind).glob("*.lock"), key=_used, reverse=True)
        removed = 0
        for lock_file in locks[keep:]:
            if time.time() - _used(lock_file) < older_than:
                continue
            with alone(lock_file) as free:
                if free:
                    self.drop(kind, lock_file.stem)
                    removed += 1
        return removed

    def entries(self, kind: str) -> list[tuple[str, float, bool]]:
        """(key, when it was used last, whether somebody uses it now) of every entry of a kind, newest use first."""
        found = []
        for lock_file in sorted((self.root / kind).glob("*.lock"), key=_used, reverse=True):
            used = _used(lock_file)
            with alone(lock_file) as free:
                if lock_file.with_suffix("").exists():
                    found.append((lock_file.stem, used, not free))
        return found

    @contextlib.contextmanager
    def taken(self, kind: str, key: str) -> Iterator[bool]:
        """Hold an entry alone, so that nobody can begin to use it; False if somebody uses it, or it is gone."""
        with alone(self.root / kind / f"{key}.lock") as free:
            yield free

    def drop(self, kind: str, key: str) -> None:
        """Remove an entry that is `taken`. Blocks."""
        remove_tree(self.root / kind / key)
        (self.root / kind / f"{key}.lock").unlink(missing_ok=True)

    def close(self) -> None:
        for lock in self._held.values():
            os.close(lock)
        self._held.clear()


def _try_lock(lock_file: Path, path: Path) -> int | None:
    there = _there(path)
    lock = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, (fcntl.LOCK_SH if there else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        # Pruning may have removed entry and file in between, or the builder may just have finished.
        if _is_at(lock, lock_file) and _there(path) == there:
            return lock
    os.close(lock)
    return None


def _there(path: Path) -> bool:
    return path.exists()


def _used(lock_file: Path) -> float:
    try:
        return lock_file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


@contextlib.contextmanager
def alone(lock_file: Path) -> Iterator[bool]:
    """Hold the lock alone; False if somebody uses the entry or it is gone."""
    try:
        lock = os.open(lock_file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield _is_at(lock, lock_file)
    except BlockingIOError:
        yield False
    finally:
        os.close(lock)


def _is_at(lock: int, lock_file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), os.stat(lock_file))
    except FileNotFoundError:
        return False


def _finish(new: Path, path: Path, lock: int) -> None:
    """Give the folder to the sandbox's user, seal it, have it on the disk, and let it appear."""
    uid, gid = sandbox_ids()
    if os.geteuid() == 0:
        os.chown(new, uid, gid)
        for folder, folders, files, fd in os.fwalk(new, follow_symlinks=False):
            del folder
            for name in (*folders, *files):
                os.chown(name, uid, gid, dir_fd=fd, follow_symlinks=False)
    os.chmod(new, 0o755)
    os.pwrite(lock, seal(new), 0)
    # Without this a power cut can leave whole names with empty files, which would be taken for the commit.
    on_host("sync", "-f", str(new))
    os.rename(new, path)


def remove_tree(path: Path) -> None:
    """Remove a folder of ours, whatever modes it has got."""
    if not os.path.lexists(path):
        return
    for folder, _, _, fd in os.fwalk(path, follow_symlinks=False, onerror=None):
        del folder
        os.fchmod(fd, 0o755)
    shutil.rmtree(path)
