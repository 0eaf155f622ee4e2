"""The workspace where the engine has a disk of its own: an image with the tree in it, read back as an archive.

Slower than an overlay in both directions, and equal in what it tells. The root file system cannot be read-only here,
because the workspace is a part of it; the command is nobody's owner there and has no capabilities.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

import anyio
import docker.errors

from sweeper.errors import SandboxFailed
from sweeper.records import Listing
from sweeper.sandbox.accounts import accounts
from sweeper.sandbox.contract import INPUTS, WORK, Layer, LayerCaps, Spec, Toolchain, Tree
from sweeper.sandbox.docker.archive import left_beside, read_archive
from sweeper.sandbox.docker.container import Ref, inner_deadline, owner_labels
from sweeper.sandbox.docker.creating import remove
from sweeper.sandbox.docker.doorway import Doorway, doorway
from sweeper.sandbox.docker.engine import BROKEN, Engine, Missing
from sweeper.sandbox.docker.images import Images, packed
from sweeper.sandbox.docker.setup import SetUp
from sweeper.sandbox.docker.slots import NEARLY_FULL
from sweeper.sandbox.docker.workspace import Prepared
from sweeper.sandbox.holder import Item
from sweeper.sandbox.layer import Base
from sweeper.sandbox.seed import plan
from sweeper.sandbox.space import folder_bytes
from sweeper.sandbox.store import Store

# A file's inode and change time are new in every image: git must not take all files for changed because of that.
TRUST_LESS = b"\n[core]\n\tcheckStat = minimal\n\ttrustctime = false\n"
SLACK = 256 << 20
GONE = "sweeper-gone"
# What the changes delete cannot be said in an archive; the command's own first step removes it.
REMOVE_FIRST = f'cd {WORK} && xargs -0 rm -rf -- < /{GONE} && cd "$1" && shift && exec "$@"'


@dataclass(slots=True)
class Place:
    """`gone`: paths that the spec's changes delete. `container` is known once it is created. `door`: its way to us."""

    disk: int
    files: tuple[Item, ...] = ()
    body: bytes = b""
    gone: tuple[str, ...] = ()
    container: str = ""
    door: Doorway | None = None


class TreeImages:
    """The tree in the image belongs to the sandbox's user, whom `set_up.manner` names."""

    name = "image"
    read_only = False

    def __init__(self, engine: Engine, images: Images, store: Store, set_up: SetUp) -> None:
        self._engine = engine
        self._images = images
        self._store = store
        self._set_up = set_up
        self._owner = set_up.owner
        self._uid, self._gid = (int(part) for part in set_up.manner.user.split(":"))
        self._building = anyio.Lock()
        self._left: dict[str, tuple[Listing, int]] = {}

    async def prepare(self, tree: Tree, image: str, toolchain: Toolchain) -> Prepared:
        folder = await self._store.tree(tree)
        async with self._building:
            if toolchain.setup:
                image = await self._with_setup(toolchain, folder, image, tree)
            digest = hashlib.sha256(f"{image} {tree.commit} {self._uid}:{self._gid} {WORK}".encode()).hexdigest()
            tag = f"sweeper/tree:{digest[:32]}"
            found = await self._images.find(tag) or await self._build(folder, image, tag)
            size = await anyio.to_thread.run_sync(folder_bytes, folder)
            prepared = Prepared(found, Base(tree.listing), size=size)
            return await self._knowing_what_is_left(prepared) if toolchain.setup else prepared

    async def _knowing_what_is_left(self, prepared: Prepared) -> Prepared:
        """With the files that the set-up left: no sandbox wrote them, although they are not the commit's."""
        if prepared.image not in self._left:
            engine = self._engine
            body = {"Image": prepared.image, "Cmd": ["none"], "Labels": owner_labels(self._owner)}
            made = await engine.call("create a container", engine.control.create_container_from_config, body)
            container = str(made["Id"])

            def look() -> tuple[Listing, int]:
                chunks, _ = engine.streams.get_archive(container, WORK, chunk_size=1 << 20)
                with contextlib.closing(chunks):
                    return left_beside(chunks, prepared.base)

            try:
                self._left[prepared.image] = await engine.call("read what the set-up left", look)
            finally:
                with anyio.CancelScope(shield=True):
                    await remove(engine, container)
        left, size = self._left[prepared.image]
        return replace(prepared, left=left, size=prepared.size + size)

    async def _with_setup(self, toolchain: Toolchain, folder: Path, image: str, tree: Tree) -> str:
        """The image after the toolchain's commands, without the commit's own files: it serves other commits too."""
        tag = self._set_up.tag(toolchain, image, self.name)
        if found := await self._images.find(tag):
            return found
        scratch = f"sweeper/tree:{secrets.token_hex(16)}"
        with_tree = await self._build(folder, image, scratch)
        try:
            await self._set_up.run(toolchain, with_tree, tag, [], drop=tree.listing)
        finally:
            with anyio.CancelScope(shield=True):
                await self._images.untag(scratch)
        return await self._images.find(tag) or tag

    async def _build(self, folder: Path, image: str, tag: str) -> str:
        engine = self._engine
        body = {"Image": image, "Cmd": ["none"], "Labels": owner_labels(self._owner), "NetworkDisabled": True}
        made = await engine.call("create a container", engine.control.create_container_from_config, body)
        container = str(made["Id"])
        try:
            await engine.call("copy the tree to the engine", lambda: self._send_tree(container, folder))
            repository, version = tag.split(":")
            await engine.call(
                "keep the tree as an image", lambda: engine.streams.commit(container, repository, version)
            )
        finally:
            with anyio.CancelScope(shield=True):
                await remove(engine, container)
        found = await self._images.find(tag)
        if found is None:
            raise SandboxFailed(f"the engine made {tag} and does not have it", retryable=True)
        return found

    def _send_tree(self, container: str, folder: Path) -> None:
        with tempfile.TemporaryFile(dir=self._store.root) as file:
            pack_tree(file, folder, WORK.lstrip("/"), self._uid, self._gid)
            file.seek(0)
            self._engine.streams.put_archive(container, "/", file)

    async def open(self, spec: Spec) -> Place:
        prepared: Prepared = spec.snapshot.handle
        items, body = plan(spec.changes, prepared.base)
        gone = tuple(path for path, kind, *_ in items if kind == "gone")
        place = Place(spec.limits.disk, tuple(item for item in items if item[1] == "file"), body, gone)
        if spec.door is not None:
            seconds = inner_deadline(spec, time.time())
            manner = self._set_up.manner
            place.door = await doorway(
                self._engine, self._owner, manner, prepared.image, prepared.path, spec.door, seconds
            )
        return place

    def upper(self, place: Place) -> str:
        return ""

    def mounts(self, place: Place, spec: Spec, marks: Mapping[str, str]) -> list[dict[str, Any]]:
        return [place.door.mount] if place.door is not None else []

    def first(self, place: Place, cwd: str) -> list[str]:
        return ["sh", "-c", REMOVE_FIRST, "sh", cwd] if place.gone else []

    async def fill(self, place: Place, container: str, spec: Spec) -> None:
        place.container = container
        known = {path[1:]: text.encode() for path, text in accounts(self._uid, self._gid).items()}
        parts = [packed(known, mode=0o444)]
        if spec.inputs:
            inputs = {f"{INPUTS[1:]}/{name}": data for name, data in spec.inputs.items()}
            parts.append(packed(inputs, mode=0o444))
        if place.files:
            parts.append(self._packed_files(place))
        if place.gone:
            parts.append(packed({GONE: b"\0".join(map(os.fsencode, place.gone))}, mode=0o444))
        for part in parts:
            put = partial(self._engine.streams.put_archive, container, "/", part.getvalue())
            await self._engine.call("copy files to the sandbox", put)

    def _packed_files(self, place: Place) -> io.BytesIO:
        """The changed files with the folders that they need, all of the sandbox's user."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
            folders: set[PurePosixPath] = set()
            for path, _, mode, offset, size in place.files:
                for parent in reversed(PurePosixPath(path).parents[:-1]):
                    if parent not in folders:
                        folders.add(parent)
                        archive.addfile(self._info(f"{WORK[1:]}/{parent}", tarfile.DIRTYPE, 0o755))
                info = self._info(f"{WORK[1:]}/{path}", tarfile.REGTYPE, mode)
                info.size = size
                archive.addfile(info, io.BytesIO(place.body[offset : offset + size]))
        return buffer

    def _info(self, name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.uid, info.gid = kind, mode, self._uid, self._gid
        return info

    def disk(self, place: Place) -> tuple[bool, bool]:
        if place.door is not None and place.door.broken:
            raise SandboxFailed("a sandbox lost its way to the gateway", retryable=True, may_have_run=True)
        control = self._engine.control
        try:
            found = control.containers(all=True, size=True, filters={"id": [place.container]})
        except (docker.errors.DockerException, *BROKEN):
            return False, False  # the next look, or the command's end, tells
        written = int(found[0].get("SizeRw", 0)) if found else 0
        return written > place.disk, written > place.disk - NEARLY_FULL

    def largest_file(self, place: Place) -> int | None:
        return place.disk

    async def layer(
        self, ref: Ref, prepared: Prepared, base: Base, caps: LayerCaps, wanted: Callable[[bytes], bool]
    ) -> Layer | None:
        budget = prepared.size + caps.total_bytes + SLACK
        base = base.beside(prepared.left)

        def read() -> Layer:
            chunks, _ = self._engine.streams.get_archive(ref.container, WORK, chunk_size=1 << 20)
            with contextlib.closing(chunks):
                return read_archive(chunks, base, caps, wanted, budget)

        try:
            return await self._engine.call("read what the sandbox wrote", read)
        except Missing:
            return None

    async def close(self, place: Place, *, free: bool) -> None:
        if place.door is not None:
            await place.door.close()

    async def forget(self, ref: Ref) -> None:
        return


def pack_tree(file: IO[bytes], folder: Path, name: str, uid: int, gid: int) -> None:
    """A tar of the tree as `name`, owned by the sandbox's user, its index trusted by size and time alone."""

    def owned(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid, info.gid, info.uname, info.gname = uid, gid, "", ""
        return info

    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.add(folder, name, filter=owned)
        config = folder / ".git/config"
        if config.is_file():  # a later member of the same name replaces an earlier one
            data = config.read_bytes() + TRUST_LESS
            info = owned(tarfile.TarInfo(f"{name}/.git/config"))
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
