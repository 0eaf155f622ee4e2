"""The workspace where the engine sees the coordinator's disk: an overlay on the store's tree, read from its upper."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio

from sweeper.errors import SandboxFailed
from sweeper.sandbox.accounts import accounts
from sweeper.sandbox.contract import DOOR, INPUTS, Layer, LayerCaps, Spec, Toolchain, Tree
from sweeper.sandbox.docker.container import Ref, overlay, read_only_bind
from sweeper.sandbox.docker.engine import Engine
from sweeper.sandbox.docker.images import Images
from sweeper.sandbox.docker.setup import SetUp, keep_untracked
from sweeper.sandbox.docker.slots import Slot, Slots, disk_state
from sweeper.sandbox.docker.workspace import Prepared
from sweeper.sandbox.layer import Base, read_layer
from sweeper.sandbox.seed import plan
from sweeper.sandbox.space import mounted, remove
from sweeper.sandbox.store import Store

UNMOUNT_PATIENCE = 10.0
SETUP_DISK = 16 << 30


class Overlays:
    """The fast way. Exact, at the cost of the changed bytes."""

    name = "overlay"
    read_only = True

    def __init__(self, engine: Engine, images: Images, slots: Slots, store: Store, set_up: SetUp) -> None:
        self._engine = engine
        self._images = images
        self._set_up = set_up
        self._slots = slots
        self._store = store
        self._taking = anyio.Lock()
        self._accounts = accounts(*(int(part) for part in set_up.manner.user.split(":")))
        self._known: dict[str, Path] = {}

    async def prepare(self, tree: Tree, image: str, toolchain: Toolchain) -> Prepared:
        folder = await self._store.tree(tree)
        if not toolchain.setup:
            return Prepared(image, Base(tree.listing), (folder,))
        tag = self._set_up.tag(toolchain, image, self.name)

        async def build(target: Path) -> None:
            async with self._taking:
                slot: Slot = await self._engine.work(lambda: self._slots.take(SETUP_DISK))
            try:
                mount = overlay(str(folder), str(slot.upper), str(slot.work), {})
                await self._set_up.run(toolchain, image, tag, [mount])
                await self._engine.work(lambda: keep_untracked(slot.upper, target, tree.listing))
            finally:
                with anyio.CancelScope(shield=True):
                    await self.close(slot, free=True)

        key = tag.rpartition(":")[2]
        kept = await self._store.entry("setups", key, build)
        found = await self._images.find(tag)
        if found is None:  # somebody removed the image: make it again beside the folder that is in use
            with tempfile.TemporaryDirectory(dir=self._store.root) as again:
                await build(Path(again))
            found = await self._images.find(tag) or tag
        return Prepared(found, Base(tree.listing), (kept, folder), kept=kept)

    async def open(self, spec: Spec) -> Slot:
        """A slot with the spec's changes and inputs in it."""
        async with self._taking:
            slot: Slot = await self._engine.work(lambda: self._slots.take(spec.limits.disk))
        try:
            await self._engine.work(lambda: self._lay(slot, spec))
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.close(slot, free=True)
            raise
        return slot

    def _lay(self, slot: Slot, spec: Spec) -> None:
        self._known = {inside: self._store.file(text.encode(), ".accounts") for inside, text in self._accounts.items()}
        if spec.changes:
            prepared: Prepared = spec.snapshot.handle
            items, body = plan(spec.changes, prepared.base)
            self._slots.lay_changes(slot, items, body)
        if spec.inputs:
            self._slots.lay_inputs(slot, spec.inputs)

    def upper(self, slot: Slot) -> str:
        return str(slot.upper)

    def mounts(self, slot: Slot, spec: Spec, marks: Mapping[str, str]) -> list[dict[str, Any]]:
        prepared: Prepared = spec.snapshot.handle
        lowers = [slot.changes, *prepared.lowers] if spec.changes else prepared.lowers
        found = [overlay(":".join(map(str, lowers)), str(slot.upper), str(slot.work), marks)]
        found += [read_only_bind(str(file), inside) for inside, file in self._known.items()]
        if spec.inputs:
            found.append(read_only_bind(str(slot.inputs), INPUTS))
        if spec.door is not None:
            found.append(read_only_bind(str(spec.door), DOOR))
        return found

    def first(self, slot: Slot, cwd: str) -> list[str]:
        return []

    async def fill(self, slot: Slot, container: str, spec: Spec) -> None:
        return

    def disk(self, slot: Slot) -> tuple[bool, bool]:
        return disk_state(slot)

    def largest_file(self, slot: Slot) -> int | None:
        return None if slot.sized else slot.disk

    async def layer(
        self, ref: Ref, prepared: Prepared, base: Base, caps: LayerCaps, wanted: Callable[[bytes], bool]
    ) -> Layer | None:
        upper = Path(ref.upper)

        def read() -> Layer | None:
            if not upper.is_relative_to(self._slots.root) or not upper.is_dir():
                return None
            await_unmount(upper)
            fd = os.open(upper, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                return read_layer(fd, base, caps, wanted)
            finally:
                os.close(fd)

        return await self._engine.work(read)

    async def close(self, slot: Slot, *, free: bool) -> None:
        """Delete what was written. `free`: no container holds the slot, so another may have it."""
        if free:
            await self._engine.work(lambda: self._slots.give_back(slot))

    async def forget(self, ref: Ref) -> None:
        """Delete the upper directory of a removed sandbox, whoever owned it."""
        upper = Path(ref.upper)
        if ref.upper and upper.is_relative_to(self._slots.root):
            await self._engine.work(lambda: remove(upper))


def await_unmount(upper: Path) -> None:
    """Nothing may be read before nobody can write; an engine has unmounted when it says that a container is over."""
    patience = time.monotonic() + UNMOUNT_PATIENCE
    while mounted(upper):
        if time.monotonic() > patience:
            raise SandboxFailed(
                f"the engine keeps {upper} mounted after its sandbox ended", retryable=True, may_have_run=True
            )
        time.sleep(0.01)
