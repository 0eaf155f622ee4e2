"""The embedded backend on Linux: bubblewrap, no daemon, no root.

One holder per coordinator owns a user and a mount namespace; each sandbox gets a tmpfs of its own in there, as large
as its disk limit: the overlay's upper directory, HOME and /tmp lie on it (and count as memory too where a
control group holds that limit). When the coordinator dies, however, its
holder, its sandboxes and everything they wrote are gone.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from sweeper.errors import SweeperError
from sweeper.records import Owner
from sweeper.sandbox import authorities, probing
from sweeper.sandbox.bubblewrap import cgroup, program, setup, tools
from sweeper.sandbox.bubblewrap.confinement import Confinement, Prepared
from sweeper.sandbox.bubblewrap.process import PATIENCE
from sweeper.sandbox.bubblewrap.register import Register, alive
from sweeper.sandbox.contract import Facts, Handle, Layer, Probe, Ran, Snapshot, Spec, Toolchain, Tree, machine_failed
from sweeper.sandbox.layer import Base, read_layer
from sweeper.sandbox.store import Store

T = TypeVar("T")
KEPT_TREES, KEPT_TOOLCHAINS = 32, 16
WATCHED = "a watchdog holds the memory limit and an affinity the CPU limit: no control group can be made here"
UNFILTERED = "no system call is refused to sandboxes: there is no seccomp filter for this kind of machine"


class Bubblewrap:
    """`store`: the folder of trees and toolchains, shared by processes. `slots`: sandboxes at once; more wait in `run`.

    `ca_certificates`: authorities that networked set-up commands trust besides the machine's own. `groups=False` never
    makes control groups: a watchdog holds the memory limit then, as it does wherever none can be made. `bwrap`: the
    program to use.
    """

    name = "bubblewrap"

    def __init__(
        self,
        store: Path,
        owner: Owner,
        *,
        slots: int,
        ca_certificates: Path | None = None,
        groups: bool = True,
        bwrap: Path | None = None,
    ) -> None:
        self._store = Store(store)
        self._owner = owner
        self._slots = slots
        self._certificates = ca_certificates
        self._ca: str | None = None
        self._register = Register(store / "owners", owner)
        self._confinement = Confinement(self._store, self._register, owner.id, slots, groups=groups, bwrap=bwrap)
        self._swept = False
        self._limiter: anyio.CapacityLimiter | None = None

    async def probe(self) -> Probe:
        """Run a miniature unit with the production flags; a refusal comes with its cause and the way out."""
        version = path = ""
        try:
            found = await anyio.to_thread.run_sync(self._confinement.find)
            version, path = found.version, found.path
            snapshot = await self.prepare(probing.MiniatureTree(), Toolchain(tools=("sh",)))
            wrong = await probing.miniature(snapshot, self.run, self._owner.id)
        except SweeperError as problem:
            hint = problem.hint or probing.explain_namespaces(path, str(problem))
            return Probe(self.name, False, version, why=str(problem), hint=hint)
        if wrong:
            return Probe(self.name, False, version, why=wrong, hint="Use an engine: --sandbox docker.")
        grouped = self._confinement.grouped
        enforced = {
            "memory": "cgroup" if grouped else "watchdog",
            "pids": "cgroup" if grouped else "rlimit",
            "cpus": "cgroup" if grouped else "affinity",
            "disk": "tmpfs",
            "output": "watchdog",
        }
        filtered = self._confinement.filtered
        notes = (*(() if grouped else (WATCHED,)), *(() if filtered else (UNFILTERED,)))
        return Probe(self.name, True, version, enforced=enforced, notes=notes)

    async def prepare(self, tree: Tree, toolchain: Toolchain) -> Snapshot:
        """The tree in the store, the tools found, the setup run once. Raises CheckBroken for a missing tool."""
        await anyio.to_thread.run_sync(self._start)
        lower = str(await self._store.tree(tree))
        base = await anyio.to_thread.run_sync(Base, tree.listing)
        optional = bool(toolchain.setup)  # a tool may come by the setup: missing is what neither has
        found = await anyio.to_thread.run_sync(partial(tools.find, toolchain.tools, optional=optional))
        if not toolchain.setup:
            found.require()
            prepared = await anyio.to_thread.run_sync(self._prepared, (lower,), found, base, toolchain, None)
            return Snapshot(tree.commit, tree.listing, prepared)
        missing = tuple(found.missing)
        await anyio.to_thread.run_sync(partial(found.add, setup.names(toolchain), optional=True))
        bare = await anyio.to_thread.run_sync(self._prepared, (lower,), found, base, toolchain, None)
        snapshot = Snapshot(tree.commit, tree.listing, bare)

        key = setup.key(toolchain, found)

        async def build(target: Path) -> None:
            install = partial(setup.install, toolchain, snapshot, key, target)
            await self._in_thread(lambda stop: install(partial(self._set_up, stop)))

        entry = await self._store.entry("toolchains", key, build)
        setup.check(toolchain, missing, entry)
        prepared = await anyio.to_thread.run_sync(self._prepared, (lower,), found, base, toolchain, entry)
        return Snapshot(tree.commit, tree.listing, prepared)

    def _start(self) -> None:
        """The first time: what dead coordinators left, and entries that nobody used for long."""
        self._confinement.start()
        if self._swept:
            return
        if trusted := authorities.bundle(self._certificates, os.environ):
            self._ca = str(self._store.file(trusted, ".pem"))
        self._swept = True
        self._sweep()
        self._store.prune("trees", KEPT_TREES)
        self._store.prune("toolchains", KEPT_TOOLCHAINS)

    def _prepared(
        self, lowers: tuple[str, ...], found: tools.Tools, base: Base, toolchain: Toolchain, entry: Path | None
    ) -> Prepared:
        namespace = self._confinement.start()
        mounts = [(namespace.stage(place), place) for place in found.mounts]
        path = list(found.path)
        env = {}
        if entry is not None:
            lowers = (*lowers, str(entry / "kept"))
            mounts.append((str(entry / "toolchain"), program.TOOLCHAIN))
            path = [*setup.folders(toolchain), *path]
            env = setup.environment(entry)
        root = self._confinement.root(found.mounts, found.links, self._ca)
        fixed = program.environment(path, self._ca) | env
        return Prepared(lowers, root, tuple(mounts), tuple(fixed.items()), base)

    def _set_up(self, stop: int, spec: Spec, harvest: Callable[[int], None]) -> Facts:
        return self._confinement.hold(spec, stop, harvest, writable=tuple(setup.PARTS.items()))[0]

    async def run(self, spec: Spec) -> Ran:
        """Start, watch, end, read, clean. Cancellation kills the sandbox, cleans up and is raised again."""

        def live(stop: int) -> Ran:
            return Ran(*self._confinement.hold(spec, stop, partial(_layer, spec)))

        return await self._in_thread(live)

    async def _in_thread(self, work: Callable[[int], T]) -> T:
        """`work` in a thread of a free slot; it gets a descriptor that is readable once this task is cancelled."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._slots)
        stop = os.eventfd(0, os.EFD_CLOEXEC)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_tell_cancellation, stop)
                result = await anyio.to_thread.run_sync(partial(_outcome, work, stop), limiter=self._limiter)
                group.cancel_scope.cancel()
        finally:
            os.close(stop)
        await anyio.lowlevel.checkpoint()
        if isinstance(result, Exception):
            raise result
        return result

    async def list(self, owner: str | None = None) -> Sequence[Handle]:
        return await anyio.to_thread.run_sync(self._register.handles, owner)

    async def salvage(self, handle: Handle, snapshot: Snapshot, wanted: Callable[[bytes], bool]) -> Layer | None:
        """None, always: what a sandbox wrote lies in memory that goes with its coordinator. Removes the handle."""
        await self.reap([handle])
        return None

    async def reap(self, handles: Sequence[Handle]) -> int:
        """End and forget these sandboxes, and remove what coordinators left that are provably dead."""
        return await anyio.to_thread.run_sync(self._reap, handles)

    def _reap(self, handles: Sequence[Handle]) -> int:
        reaped = 0
        for handle in handles:
            path, pid, born = handle.ref
            with contextlib.suppress(OSError):
                pidfd = os.pidfd_open(pid)
                try:
                    if alive(pid, born):
                        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                        select.select([pidfd], [], [], PATIENCE)
                finally:
                    os.close(pidfd)
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
                reaped += 1
        self._sweep()
        return reaped

    def _sweep(self) -> None:
        """The control groups of dead owners; their folder too, once no handle of theirs is left."""
        for folder, groups in self._register.abandoned():
            if all(cgroup.remove(Path(group)) for group in groups):
                self._register.forget(folder)

    async def aclose(self) -> None:
        """End the holder and with it every sandbox; give back what the store and the control groups hold."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close)

    def _close(self) -> None:
        self._confinement.close()
        self._register.close()
        self._store.close()


async def _tell_cancellation(stop: int) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        os.eventfd_write(stop, 1)


def _outcome(work: Callable[[int], T], stop: int) -> T | Exception:
    """An exception as a value: a task group would wrap it."""
    try:
        return work(stop)
    except OSError as problem:
        return machine_failed(problem)
    except Exception as problem:
        return problem


def _layer(spec: Spec, slot: int) -> Layer:
    if not spec.read_layer:
        return Layer()
    base: Base = spec.snapshot.handle.base
    upper = os.open("upper", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=slot)
    try:
        return read_layer(upper, base.patched(spec.changes) if spec.changes else base, spec.caps, spec.wanted)
    finally:
        os.close(upper)
