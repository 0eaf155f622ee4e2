"""Who is alive: the owner of this process, its lock file, the proof that another is dead, and the renewal thread.

On one host a held lock file proves life and a free one death, whatever clocks and leases say. Only where no lock
file tells, the process id with its start time does, and only where that cannot either, the lease.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import LedgerFailed, SweeperError
from sweeper.ledger.filesystem import shared_type
from sweeper.records import Owner

PROC = Path("/proc")
# Seconds: the resolution of a process's start time.
CLOCK_TICK = 1 / os.sysconf("SC_CLK_TCK")


def make_owner() -> Owner:
    """This process. `started` is in seconds since boot (a step of the clock does not touch it), 0 where the system
    does not tell; `boot` names the kernel's boot and the process-id namespace: process ids mean nothing outside."""
    return Owner(uuid.uuid4().hex, socket.gethostname(), os.getpid(), started_at(os.getpid()) or 0.0, boot_id())


def boot_id() -> str:
    try:
        kernel = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{kernel}:{(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def started_at(pid: int) -> float | None:
    """When a process started, in seconds since boot; None if there is no such process (or it only awaits burial)."""
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The program's name may hold anything, blanks and brackets too: the fields after its last bracket count.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19]) * CLOCK_TICK


def since_boot() -> float:
    """Seconds since boot, suspended time included; never steps, and equal for every process of this kernel."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class OwnerLock:
    """The locked file of one living owner; the kernel frees it however the process ends."""

    def __init__(self, folder: Path, owner: str) -> None:
        """Raises LedgerFailed if the file cannot be made."""
        self.path = lock_path(folder, owner)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._fd = self._acquire()
        except OSError as error:
            raise LedgerFailed(
                f"cannot lock {self.path}: {error.strerror}",
                hint="free the place or its permissions, or put the state elsewhere with $SWEEPER_STATE",
            ) from error

    def _acquire(self) -> int:
        while True:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
            # Someone who tidies may have removed the file between its making and its locking.
            if os.fstat(fd).st_nlink:
                return fd
            os.close(fd)

    def release(self, *, remove: bool) -> None:
        if remove:
            self.path.unlink(missing_ok=True)
        os.close(self._fd)


def lock_path(folder: Path, owner: str) -> Path:
    return folder / f"{owner}.lock"


def lock_held(path: Path) -> bool | None:
    """None: there is no such file, or it is another user's and tells us nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return None
    try:
        # Shared, so that two who look at once do not take each other for the owner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


@dataclass(frozen=True, slots=True)
class Standing:
    """An owner as the ledger has it: `expires` by the ledger's clock, `beat` in seconds since its boot."""

    owner: Owner
    lease: float
    expires: float
    beat: float
    dead: bool


def proven_alive(owner: Owner, folder: Path) -> bool | None:
    """What this host proves of an owner's process; None where it can't tell. `folder`: of the owners' lock files."""
    held = lock_held(lock_path(folder, owner.id))
    if held:
        return True
    if held is False and (_same_kernel(owner) or not shared_type(folder)):
        return False
    if _same_kernel(owner) and owner.boot == boot_id() and owner.started:
        started = started_at(owner.pid)
        return started is not None and abs(started - owner.started) <= CLOCK_TICK / 2
    return None


def is_dead(standing: Standing, folder: Path, now: float, *, shared_clock: bool) -> bool:
    """Whether this owner can do nothing any more. `now`: by the ledger's clock, which is the database's if shared."""
    if standing.dead:
        return True
    alive = proven_alive(standing.owner, folder)
    if alive is not None:
        return not alive
    if _same_kernel(standing.owner) and not shared_clock:
        return since_boot() > standing.beat + standing.lease
    return now > standing.expires


def _same_kernel(owner: Owner) -> bool:
    here = boot_id()
    return bool(here) and owner.boot.partition(":")[0] == here.partition(":")[0]


class Renewal:
    """Renews a lease at a third of its life, from a thread that does nothing else.

    A renewal that fails is no loss: the lease holds until the local deadline, counted from when the last accepted
    renewal was sent. One that is refused (the ledger has us dead) is the loss itself.
    """

    def __init__(
        self, lease: float, sent: float, renew: Callable[[], Future[bool]], clock: Callable[[], float] = since_boot
    ) -> None:
        """`sent`: `clock()` of just before the owner was registered. A clock that stands still while the machine is
        suspended is right where nobody but this machine could have taken over meanwhile."""
        self._lease = lease
        self._renew = renew
        self._clock = clock
        self._deadline = sent + lease
        self._refused = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._main, name="ledger-lease", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> bool:
        return self._refused or self.left < 0

    @property
    def left(self) -> float:
        """Seconds until the local deadline."""
        return self._deadline - self._clock()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _main(self) -> None:
        pause = self._lease / 3
        while not self._stop.wait(pause):
            sent = self._clock()
            try:
                accepted = self._renew().result()
            except SweeperError:
                pause = self._lease / 10
                continue
            if not accepted:
                self._refused = True
                return
            self._deadline = sent + self._lease
            pause = self._lease / 3
