"""What all sandboxes of one coordinator share on bubblewrap, and the life of one in it.

The holder, the control groups, and a number of places: a sandbox takes one, and gives it back after its cleaning.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from sweeper.errors import SandboxFailed
from sweeper.sandbox.bubblewrap import cgroup, program, seccomp
from sweeper.sandbox.bubblewrap.namespace import Namespace
from sweeper.sandbox.bubblewrap.process import End, Process
from sweeper.sandbox.bubblewrap.register import Register
from sweeper.sandbox.bubblewrap.watchdog import Watchdog
from sweeper.sandbox.contract import Facts, Limits, Spec
from sweeper.sandbox.layer import Base
from sweeper.sandbox.output import Output
from sweeper.sandbox.seed import plan
from sweeper.sandbox.store import Store, sandbox_ids

KILLED = int(signal.SIGKILL)
SIGNALLED = 128
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a snapshot is here: `lowers` from the bottom up, a read-only root, mounts (source, place), environment."""

    lowers: tuple[str, ...]
    root: str
    mounts: tuple[tuple[str, str], ...]
    env: tuple[tuple[str, str], ...]
    base: Base = field(repr=False)


@dataclass(slots=True)
class Place:
    """What one running sandbox uses: a number, a control group, a tmpfs (its path in the holder, a descriptor)."""

    number: int
    group: cgroup.Group | None
    name: str = ""
    path: str = ""
    fd: int = -1


class Confinement:
    """Its methods block and may be called from any thread."""

    def __init__(
        self, store: Store, register: Register, owner: str, slots: int, *, groups: bool, bwrap: Path | None
    ) -> None:
        self._store, self._register, self._owner = store, register, owner
        self._slots = slots
        self._want_groups = groups
        self._bwrap = bwrap
        self._lock = threading.Lock()
        self._namespace: Namespace | None = None
        self._program = ""
        self._rules = b""
        self._groups: cgroup.Groups | None = None
        self._places: queue.SimpleQueue[Place] = queue.SimpleQueue()
        self._made = 0
        self._cleaner = ThreadPoolExecutor(2, thread_name_prefix="sandbox-cleaner")
        self._roots: dict[tuple[str, ...], str] = {}

    def find(self) -> program.Program:
        """The bwrap to use. Raises NoSandbox."""
        if self._bwrap is None:
            return program.find_program()
        return program.Program(str(self._bwrap), program.version_of(str(self._bwrap)))

    def start(self) -> Namespace:
        """The holder, started by the first one who needs it. Raises SandboxFailed or NoSandbox."""
        with self._lock:
            if self._namespace is None:
                self._namespace = self._started()
            return self._namespace

    def _started(self) -> Namespace:
        found = self.find()
        self._store.ready()
        namespace = Namespace(self._store.root / "mnt")
        folder = namespace.stage(found.folder) if found.folder else ""
        self._program = os.path.join(folder, found.inside) if folder else found.path
        if self._want_groups:
            with contextlib.suppress(OSError):
                self._groups = cgroup.Groups(self._owner)
        if sys.maxsize > 1 << 32:  # a 32-bit system on such a kernel would be a foreign one
            self._rules = seccomp.build(os.uname().machine, watched=not self.grouped)
        self._register.open(self._groups.folders if self._groups is not None else [])
        return namespace

    @property
    def grouped(self) -> bool:
        """Whether control groups hold the limits; known after `start`."""
        return self._groups is not None

    @property
    def filtered(self) -> bool:
        """Whether sandboxes have a seccomp filter; known after `start`."""
        return bool(self._rules)

    def root(self, mounts: Sequence[str], links: Mapping[str, str], ca: str | None) -> str:
        """A read-only root with places for these mounts, built once."""
        namespace = self.start()
        with self._lock:
            key = (*mounts, *links)
            if key not in self._roots:
                bundle = namespace.stage(ca) if ca is not None else None
                parts = program.skeleton(*sandbox_ids(), mounts, links, bundle)
                answer, _ = namespace.ask({"do": "root", "name": str(len(self._roots)), **parts})
                self._roots[key] = answer["path"]
            return self._roots[key]

    def hold(
        self,
        spec: Spec,
        stop: int,
        harvest: Callable[[int], T],
        *,
        writable: Sequence[tuple[str, str]] = (),
    ) -> tuple[Facts, T]:
        """One sandbox from start to end. `harvest` gets the descriptor of its tmpfs when it is provably over.

        `stop`: readable ends it. `writable`: folders of the tmpfs and where they are inside. Raises SandboxFailed.
        """
        namespace = self.start()
        self._register.reserve(spec)
        try:
            place = self._take()
        except SandboxFailed:
            self._register.leave(spec)
            raise
        try:
            argv = self._made_ready(namespace, spec, place, writable)
            return self._watched(namespace, spec, stop, place, argv), harvest(place.fd)
        finally:
            self._register.leave(spec)
            try:
                self._cleaner.submit(self._clean, namespace, place)
            except RuntimeError:  # closed meanwhile
                self._clean(namespace, place)

    def _take(self) -> Place:
        """A place that is free, or another one as long as there may be more: slots may outnumber what ever runs."""
        with self._lock:
            # Two more than slots: a place is cleaned in the background, and nobody should wait for that.
            if self._places.empty() and self._made < self._slots + 2:
                try:
                    group = self._groups.group(self._made) if self._groups is not None else None
                except OSError as problem:
                    raise SandboxFailed(f"no further control group can be made: {problem}", retryable=True) from problem
                self._made += 1
                return Place(self._made - 1, group)
        return self._places.get()

    def _made_ready(
        self, namespace: Namespace, spec: Spec, place: Place, writable: Sequence[tuple[str, str]]
    ) -> list[str]:
        """A fresh tmpfs with the changes and inputs laid into it; the command line of bwrap."""
        prepared: Prepared = spec.snapshot.handle
        changes, body = plan(spec.changes, prepared.base)
        inputs = []
        for name, data in spec.inputs.items():
            inputs.append((name, "file", 0o444, len(body), len(data)))
            body += data
        place.name = f"{place.number}-{time.monotonic_ns()}"
        ask = {"do": "slot", "name": place.name, "size": spec.limits.disk, "inputs": inputs, "changes": changes}
        answer, (place.fd,) = namespace.ask(ask, body)
        place.path = answer["path"]
        if place.group is not None:
            try:
                place.group.limit(spec.limits)
            except OSError as problem:
                raise SandboxFailed(
                    f"the limits {spec.limits} could not be set: {problem}", retryable=True
                ) from problem
        lowers = (*prepared.lowers, f"{place.path}/changes") if changes else prepared.lowers
        binds = [(f"{place.path}/{folder}", where) for folder, where in writable]
        door = self._reachable(namespace, spec.door) if spec.door is not None else ""
        return program.command_line(
            self._program,
            prepared.root,
            place.path,
            lowers,
            prepared.mounts,
            prepared.env,
            spec,
            writable=binds,
            door=door,
            filtered=self.filtered,
        )

    def _reachable(self, namespace: Namespace, door: Path) -> str:
        """A door comes and goes with its attempt, the folder of all doors is staged once."""
        with self._lock:
            return os.path.join(namespace.stage(str(door.parent)), door.name)

    def _watched(self, namespace: Namespace, spec: Spec, stop: int, place: Place, argv: list[str]) -> Facts:
        with (
            contextlib.closing(
                Output(spec.stdout, spec.stderr, spec.limits.output, spec.clocks, time.monotonic(), spec.secrets)
            ) as output,
            contextlib.closing(Process(namespace, argv, spec.stdin, self._rules)) as process,
        ):
            self._register.enter(spec, process.pid)
            watchdog = Watchdog(process.pid, spec.limits.memory) if place.group is None else None
            process.release(spec.limits, place.group, self._cpus(spec.limits, place))
            end = process.watch(output, stop, partial(_full, place.fd), watchdog)
            oom = end.oom or (place.group is not None and place.group.oom())
            if end.code is None and not end.stopped and not oom:
                # What bwrap says before it reports an exit is its own failure, never a result of the command.
                raise process.failure("the sandbox ended before its command did", may_have_run=not process.said)
        return _facts(end, oom=oom, truncated=output.truncated)

    def _cpus(self, limits: Limits, place: Place) -> set[int]:
        """The processors to stay on where no group holds the limit; none means any."""
        ours = sorted(os.sched_getaffinity(0))
        count = max(1, round(limits.cpus))
        if place.group is not None or count >= len(ours):
            return set()
        return {ours[(place.number * count + i) % len(ours)] for i in range(count)}

    def _clean(self, namespace: Namespace, place: Place) -> None:
        """Unmount, then let go of the last descriptor: the kernel frees the files in this thread, not in the holder."""
        try:
            if place.fd >= 0:
                with contextlib.suppress(SandboxFailed):
                    namespace.ask({"do": "free", "name": place.name})
                os.close(place.fd)
                place.fd = -1
        finally:
            self._places.put(place)

    def close(self) -> None:
        """End the holder and with it every sandbox (idempotent)."""
        self._cleaner.shutdown(wait=True)
        if self._namespace is not None:
            self._namespace.close()
        if self._groups is not None:
            self._groups.close()


def _full(slot: int) -> bool:
    state = os.fstatvfs(slot)
    return state.f_bfree == 0 or state.f_ffree == 0


def _facts(end: End, *, oom: bool, truncated: bool) -> Facts:
    """128 + n is signal n: bwrap reports both alike, as a shell does."""
    code: int | None = end.code
    number: int | None = None
    if end.stopped or code is None:
        code, number = None, KILLED
    elif code > SIGNALLED and code - SIGNALLED in signal.valid_signals():
        number = code - SIGNALLED
        code = None
    return Facts(
        exit_code=code,
        signal=number,
        oom=oom,
        clock=end.clock,
        output_truncated=truncated,
        disk_full=end.disk_full,
        seconds=end.seconds,
    )
