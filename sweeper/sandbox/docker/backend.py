"""The docker backend: one container is one sandbox's whole life.

A container is removed only if its labels prove that it is ours, and a living owner's only by that owner.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from sweeper.errors import CheckBroken, SandboxFailed, SweeperError
from sweeper.records import Owner
from sweeper.sandbox.contract import WORK, Handle, Layer, LayerCaps, Probe, Ran, Snapshot, Spec, Toolchain, Tree
from sweeper.sandbox.docker.container import NAMESPACE, Ref, handle, read_only_bind
from sweeper.sandbox.docker.endpoint import find_endpoint
from sweeper.sandbox.docker.engine import Engine
from sweeper.sandbox.docker.errand import errand
from sweeper.sandbox.docker.hygiene import sweep_as_root, tidy
from sweeper.sandbox.docker.life import end, live
from sweeper.sandbox.docker.opening import Opened, connected, opened_engine
from sweeper.sandbox.docker.running import kill, wait
from sweeper.sandbox.docker.stock import hold
from sweeper.sandbox.docker.workspace import Prepared
from sweeper.sandbox.layer import Base
from sweeper.sandbox.probing import MiniatureTree, miniature
from sweeper.sandbox.store import Store

UNKNOWN_SIZE = 4 << 30
NEEDED = ("sh", "timeout", "rm", "xargs")
INEXACT = "use `--sandbox bubblewrap`, or report this with the output of `docker info` and `uname -r`"


async def answers() -> bool:
    """Whether this user's docker engine answers, for `--sandbox auto`. Quick; says nothing about why not."""
    try:
        engine = Engine(find_endpoint(os.environ, Path.home()), slots=1, timeout=5.0)
        with anyio.fail_after(10):
            await engine.connect()
    except (SandboxFailed, TimeoutError):
        return False
    engine.close()
    return True


class Docker:
    """Sandboxes on this user's docker engine. `store`: the folder of prepared trees and of what sandboxes write."""

    name = "docker"

    def __init__(
        self,
        store: Path,
        owner: Owner,
        *,
        slots: int,
        ca_certificates: Path | None = None,
        runtime: str = "",
        engine: Engine | None = None,
        shared_paths: bool | None = None,
    ) -> None:
        """`engine` and `shared_paths` replace what is found by looking: the engine, and whether it sees our disk."""
        self._owner = owner
        self._parallel = slots
        self._runtime = runtime
        self._certificates = ca_certificates
        self._given_engine = engine
        self._shared_paths = shared_paths
        self._store = Store(store)
        self._opening = anyio.Lock()
        self._opened: Opened | None = None
        self._trying = anyio.Lock()
        self._tried: set[str] = set()
        self._tools_found: set[tuple[str, tuple[str, ...]]] = set()
        self._last_image = ""
        self._limiter = anyio.CapacityLimiter(slots)

    async def _open(self) -> Opened:
        async with self._opening:
            if self._opened is None:
                self._opened = await opened_engine(
                    self._given_engine or await connected(self._parallel),
                    self._owner,
                    self._store,
                    self._certificates,
                    self._runtime,
                    self._shared_paths,
                )
            return self._opened

    async def probe(self) -> Probe:
        """Look at the engine; run the miniature unit if the default toolchain's image is there already.

        `prepare` runs it for every image before anything else runs in it.
        """
        version = ""
        try:
            opened = await self._open()
            version = opened.found.version
            notes = [] if opened.found.shared else [f"snapshots are images of the engine: {opened.found.why_not}"]
            if await self.has_image(Toolchain()):
                await self.prepare(MiniatureTree(), Toolchain())
            else:
                notes.append("the toolchain image is built when it is first needed")
        except SweeperError as problem:
            return Probe(self.name, ok=False, version=version, why=str(problem), hint=problem.hint)
        hard = opened.found.shared and opened.slots.sizable
        enforced = {"memory": "engine", "pids": "engine", "cpus": "engine", "output": "watchdog"}
        enforced["disk"] = "file system" if hard else "watchdog"
        return Probe(self.name, ok=True, version=version, enforced=enforced, notes=tuple(notes))

    async def has_image(self, toolchain: Toolchain) -> bool:
        """Whether the engine has the toolchain's image, so that no build and no pull would come first."""
        opened = await self._open()
        return await opened.images.there(toolchain) is not None

    async def prepare(self, tree: Tree, toolchain: Toolchain) -> Snapshot:
        opened = await self._open()
        image = await opened.images.settle(toolchain)
        await self._try_image(opened, image)
        prepared = await opened.workspaces.prepare(tree, image, toolchain)
        prepared = replace(prepared, path=await opened.images.path(prepared.image, toolchain))
        for used in (image, prepared.image):
            await hold(self._store, used)
        await self._look_for_tools(opened, prepared, toolchain)
        if not self._last_image:
            self._last_image = prepared.image
            await self.tidy()
        return Snapshot(tree.commit, tree.listing, prepared)

    async def _try_image(self, opened: Opened, image: str) -> None:
        """The miniature unit in this image, once. Raises SandboxFailed (final) if its capture is not exact."""
        async with self._trying:
            if image in self._tried:
                return
            await opened.images.refuse_hiding(image)
            if await missing_tools(opened, self._owner, image, NEEDED):
                raise SandboxFailed(
                    f"the image {image} lacks one of {', '.join(NEEDED)}",
                    hint="use an image with a shell and the core utilities (coreutils or busybox)",
                )
            tree = MiniatureTree()
            prepared = await opened.workspaces.prepare(tree, image, Toolchain())
            wrong = await miniature(Snapshot(tree.commit, tree.listing, prepared), self.run, self._owner.id)
            if wrong:
                raise SandboxFailed(f"docker does not hold or capture a sandbox exactly: {wrong}", hint=INEXACT)
            self._tried.add(image)

    async def _look_for_tools(self, opened: Opened, prepared: Prepared, toolchain: Toolchain) -> None:
        """Raises CheckBroken for the first tool that is neither in the image nor in what the setup left."""
        names = tuple(name for name in toolchain.tools if "/" not in name or name.startswith("/"))
        image = prepared.image
        if not names or (image, names) in self._tools_found:
            return
        mounts = [read_only_bind(str(prepared.kept), WORK)] if prepared.kept else []
        if missing := await missing_tools(opened, self._owner, image, names, path=prepared.path, mounts=mounts):
            raise CheckBroken(
                f"the tool {missing[0]!r} is not in the toolchain {toolchain.image or toolchain.name!r}"
                + (" nor installed by `setup`" if toolchain.setup else ""),
                hint=f'add this line to the sweep in sweeper.toml if pip provides it:  setup = ["pip install '
                f'{missing[0]}"]\nwithout one:  --setup "pip install {missing[0]}"\n'
                'or name an image that has it:  image = "..."',
            )
        self._tools_found.add((image, names))

    async def run(self, spec: Spec) -> Ran:
        opened = await self._open()
        async with self._limiter:
            return await live(opened, self._owner, spec)

    async def list(self, owner: str | None = None) -> Sequence[Handle]:
        opened = await self._open()
        engine = opened.engine
        mark = f"{NAMESPACE}.owner" + (f"={owner}" if owner is not None else "")
        found = await engine.call(
            "list sandboxes", lambda: engine.control.containers(all=True, filters={"label": [mark]})
        )
        handles = [handle(each) for each in found]
        return [each for each in handles if each is not None]

    async def salvage(self, handle: Handle, snapshot: Snapshot, wanted: Callable[[bytes], bool]) -> Layer | None:
        opened = await self._open()
        ref: Ref = handle.ref
        # The owner that prepared the snapshot is dead: its tree is known by the listing alone.
        prepared: Prepared = snapshot.handle or Prepared("", Base(snapshot.listing), size=UNKNOWN_SIZE)
        if await kill(opened.engine, ref.container):
            await wait(opened.engine, ref.container)
        layer = await opened.workspaces.layer(ref, prepared, prepared.base, LayerCaps(), wanted)
        await self.reap([handle])
        return layer

    async def reap(self, handles: Sequence[Handle]) -> int:
        opened = await self._open()
        for each in handles:
            ref: Ref = each.ref
            await end(opened.engine, ref.container)
            await opened.workspaces.forget(ref)
        await self.tidy()
        return len(handles)

    async def tidy(self) -> None:
        """Remove what dead coordinators left besides sandboxes."""
        opened = await self._open()
        left = await tidy(opened.engine, opened.slots)
        if left and self._last_image:
            await sweep_as_root(opened.engine, self._owner, self._last_image, left)

    async def aclose(self) -> None:
        opened, self._opened = self._opened, None
        self._store.close()
        if opened is None:
            return
        with anyio.CancelScope(shield=True):
            left = await opened.engine.work(opened.slots.close)
            if left is not None and self._last_image:
                with contextlib.suppress(SandboxFailed):  # the next coordinator's `tidy` finds it
                    await sweep_as_root(opened.engine, self._owner, self._last_image, [left])
        opened.engine.close()


async def missing_tools(
    opened: Opened,
    owner: Owner,
    image: str,
    names: tuple[str, ...],
    *,
    path: str = "",
    mounts: Sequence[dict[str, Any]] = (),
) -> list[str]:
    """Which of these programs an image does not have on its PATH, or on `path`."""
    look_for = 'PATH="${1:-$PATH}"; shift; for name; do command -v "$name" > /dev/null || echo "$name"; done'
    argv = ["sh", "-c", look_for, "sh", path, *names]
    code, said = await errand(opened.engine, owner, image, argv, mounts=list(mounts))
    return said.split() if code == 0 else list(names)
