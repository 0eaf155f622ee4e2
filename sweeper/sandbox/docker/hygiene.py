"""What dead coordinators left on an engine besides their sandboxes: helpers, volumes, folders of slots.

A dead owner that still has sandboxes is left alone: whoever decides that it is dead salvages those first.
"""

from __future__ import annotations

from pathlib import Path

from sweeper.records import Owner
from sweeper.sandbox.docker.container import NAMESPACE, handle
from sweeper.sandbox.docker.creating import remove
from sweeper.sandbox.docker.engine import Engine
from sweeper.sandbox.docker.errand import errand
from sweeper.sandbox.docker.slots import Slots, clear_with_lock

MARK = f"{NAMESPACE}.owner"
PLACE = "/slots"


async def tidy(engine: Engine, slots: Slots) -> list[Path]:
    """Remove what dead owners without sandboxes left; the folders that only `sweep_as_root` can empty."""
    control = engine.control
    found = await engine.call("list containers", lambda: control.containers(all=True, filters={"label": [MARK]}))
    sandboxes = {each["Labels"][MARK] for each in found if handle(each) is not None}
    before = await engine.work(slots.dead)
    dead = before - sandboxes
    for each in found:
        if each["Labels"][MARK] in dead:
            await remove(engine, str(each["Id"]))
    for owner in dead:
        await drop_volumes(engine, owner)
    return await engine.work(lambda: slots.clear_dead(dead))


async def drop_volumes(engine: Engine, owner: str) -> None:
    """Volumes of containers that somebody else removed."""
    filters = {"dangling": True, "label": [f"{MARK}={owner}"]}
    found = await engine.call("list volumes", lambda: engine.control.volumes(filters=filters))
    for volume in found.get("Volumes") or ():
        name = str(volume["Name"])
        await engine.call("remove a volume", lambda name=name: engine.control.remove_volume(name))  # type: ignore[misc]


async def sweep_as_root(engine: Engine, owner: Owner, image: str, folders: list[Path]) -> None:
    """Empty folders in which the kernel left what belongs to root, through one container for all of them."""
    mounts = [
        {"Type": "bind", "Source": str(folder), "Target": f"{PLACE}/{number}"} for number, folder in enumerate(folders)
    ]
    argv = ["sh", "-c", f"rm -rf {PLACE}/*/*"]
    await errand(engine, owner, image, argv, mounts=mounts, root=True)
    await engine.work(lambda: [clear_with_lock(folder) for folder in folders])
