"""What an engine can do, found out once: its limits, its users, and whether it sees this machine's disk."""

from __future__ import annotations

import io
import os
import secrets
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeper.errors import NoSandbox, SandboxFailed
from sweeper.records import Owner
from sweeper.sandbox.contract import WORK
from sweeper.sandbox.docker.container import NAMESPACE, Manner, overlay, owner_labels
from sweeper.sandbox.docker.creating import remove
from sweeper.sandbox.docker.endpoint import find_endpoint
from sweeper.sandbox.docker.engine import Engine, Missing
from sweeper.sandbox.docker.images import Images
from sweeper.sandbox.docker.overlay import Overlays
from sweeper.sandbox.docker.setup import SetUp
from sweeper.sandbox.docker.slots import Slots
from sweeper.sandbox.docker.treeimage import TreeImages
from sweeper.sandbox.docker.workspace import Workspaces
from sweeper.sandbox.space import remove as remove_folder
from sweeper.sandbox.store import Store, sandbox_ids

EMPTY_IMAGE = "sweeper/empty:1"
NONCE = "nonce"
PROBE_DISK = 16 << 20
LIMITS = {"MemoryLimit": "memory", "CpuCfsQuota": "cpus", "PidsLimit": "pids"}


@dataclass(frozen=True, slots=True)
class Found:
    """An engine that can hold sandboxes. `shared`: it sees this machine's disk; `why_not` if it does not."""

    version: str
    manner: Manner
    shared: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """What stands once the engine has answered."""

    engine: Engine
    found: Found
    images: Images
    slots: Slots
    workspaces: Workspaces


async def opened_engine(
    engine: Engine, owner: Owner, store: Store, certificates: Path | None, runtime: str, shared: bool | None
) -> Opened:
    """Raises SandboxFailed or NoSandbox; see `look`."""
    await engine.connect()
    slots = Slots(store.root / "docker", owner.id, *sandbox_ids())
    await engine.work(slots.hold)  # before there is anything that a death would leave behind
    found = await look(engine, owner, slots, runtime, shared)
    images = Images(engine, certificates)
    set_up = SetUp(engine, images, owner, found.manner, certificates)
    workspaces: Workspaces = (
        Overlays(engine, images, slots, store, set_up) if found.shared else TreeImages(engine, images, store, set_up)
    )
    return Opened(engine, found, images, slots, workspaces)


async def connected(slots: int) -> Engine:
    """This user's engine, answering. Raises SandboxFailed (final) with what was tried."""
    engine = Engine(find_endpoint(os.environ, Path.home()), slots=slots)
    await engine.connect()
    return engine


async def look(engine: Engine, owner: Owner, slots: Slots, runtime: str, shared: bool | None) -> Found:
    """Raises NoSandbox if this engine cannot hold a sandbox's limits. `shared` skips the look at the disk."""
    info = await engine.info()
    if info.get("OSType", "linux") != "linux":
        raise NoSandbox(
            f"the docker engine at {engine.endpoint.url} runs {info['OSType']} containers",
            hint="switch it to Linux containers",
        )
    if missing := [limit for key, limit in LIMITS.items() if not info.get(key)]:
        raise NoSandbox(
            f"the docker engine at {engine.endpoint.url} cannot limit {', '.join(missing)}",
            hint="delegate the cgroup controllers cpu, memory and pids to it (for a rootless engine: systemd's "
            "`Delegate=cpu cpuset io memory pids`), or use `--sandbox bubblewrap`",
        )
    if runtime and runtime not in info.get("Runtimes", {}):
        known = ", ".join(sorted(info.get("Runtimes", {})))
        raise NoSandbox(f"the docker engine has no runtime {runtime!r}", hint=f"it has: {known}")
    options = " ".join(info.get("SecurityOptions") or [])
    # A rootless engine's root is the user who runs it, the only one that may write to this user's folders.
    uid, gid = (0, 0) if "name=rootless" in options else sandbox_ids()
    manner = Manner(f"{uid}:{gid}", runtime, host_user_namespace="name=userns" in options)
    version = str(info.get("ServerVersion", ""))
    if shared is not None:
        return Found(version, manner, shared, "" if shared else "not asked for")
    why_not = await disk_unseen(engine, owner, slots)
    return Found(version, manner, not why_not, why_not)


async def disk_unseen(engine: Engine, owner: Owner, slots: Slots) -> str:
    """Write a nonce and read it back through an overlay of the engine's: "" if that works, else why it does not.

    The container is only created, so any image will do: one without files.
    """
    image = await empty_image(engine)
    slot = await engine.work(lambda: slots.take(PROBE_DISK))
    nonce = secrets.token_bytes(16)
    slot.changes.mkdir()
    (slot.changes / NONCE).write_bytes(nonce)
    marks = owner_labels(owner)
    body = {
        "Image": image,
        "Cmd": ["none"],
        "Labels": marks,
        "NetworkDisabled": True,
        "HostConfig": {"Mounts": [overlay(str(slot.changes), str(slot.upper), str(slot.work), marks)]},
    }
    container = ""
    try:
        made = await engine.call("create a container", engine.control.create_container_from_config, body)
        container = str(made["Id"])
        got = await engine.call("read from a container", lambda: read_file(engine, container, f"{WORK}/{NONCE}"))
        return "" if got == nonce else "the engine sees another disk than this machine's"
    except (SandboxFailed, KeyError, tarfile.TarError) as problem:
        return f"the engine cannot mount this machine's folders: {problem}"
    finally:
        if container:
            await remove(engine, container)
        await engine.work(lambda: slots.give_back(slot))
        remove_folder(slot.changes)


def read_file(engine: Engine, container: str, path: str) -> bytes:
    stream, _ = engine.streams.get_archive(container, path)
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
        file = archive.extractfile(archive.next() or tarfile.TarInfo())
        return file.read() if file else b""


async def empty_image(engine: Engine) -> str:
    """An image without files, for containers that never run."""
    try:
        found: Mapping[str, Any] = await engine.call("look for an image", engine.control.inspect_image, EMPTY_IMAGE)
    except Missing:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w"):
            pass
        repository, tag = EMPTY_IMAGE.split(":")
        data = buffer.getvalue()
        changes = [f"LABEL {NAMESPACE}.toolchain=empty"]
        await engine.call(
            "import an image",
            lambda: engine.streams.import_image_from_data(data, repository=repository, tag=tag, changes=changes),
        )
        found = await engine.call("look for an image", engine.control.inspect_image, EMPTY_IMAGE)
    return str(found["Id"])
