"""The engine's images that are kept between runs: how large they are, when they were used; and their removal.

Who uses an image holds an entry of the store that is named by it, as for every other thing that is kept: nothing in
use is ever removed. An image without such an entry may be another user's, whose store is not ours: it goes only when
everything is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio.to_thread

from sweeper.sandbox.docker.container import NAMESPACE
from sweeper.sandbox.docker.engine import Conflict, Engine, Missing
from sweeper.sandbox.stock import Kept
from sweeper.sandbox.store import Store

IMAGES = "images"
OURS = "sweeper/"
LASTING = "sweeper/empty:"


async def hold(store: Store, image: str) -> None:
    """Note that this process uses an image, until its store is closed."""
    await store.entry(IMAGES, _key(image), _nothing)


async def _nothing(folder: Path) -> None:
    """An image's entry is the lock beside it."""


def _key(image: str) -> str:
    return image.removeprefix("sha256:").replace("/", "-").replace(":", "-")[:64]


async def images(engine: Engine, store: Store) -> list[Kept]:
    """The engine's images that are ours: toolchains, what a set-up made of them, trees."""
    known = {key: (used, in_use) for key, used, in_use in await anyio.to_thread.run_sync(store.entries, IMAGES)}
    found = []
    for image in await _ours(engine):
        used, in_use = known.get(_key(str(image["Id"])), (0.0, False))
        for name in _names(image):
            found.append(Kept("image", name, int(image["Size"]), used, in_use, str(image["Id"])))
    return found


async def prune_images(engine: Engine, store: Store, older_than: float, *, everything: bool) -> list[Kept]:
    """Remove images likewise; with `everything` also those of which no use is known. An engine keeps what runs."""
    removed = []
    # Newest first: an image goes before those that it was made from.
    for each in await images(engine, store):
        if each.in_use or (each.used and time.time() - each.used < older_than) or not (each.used or everything):
            continue
        if not each.used:
            if await _remove(engine, each):
                removed.append(each)
            continue
        with store.taken(IMAGES, _key(each.place)) as free:
            if free and await _remove(engine, each):
                removed.append(each)
    left = {_key(str(image["Id"])) for image in await _ours(engine)}
    for key, _, _ in await anyio.to_thread.run_sync(store.entries, IMAGES):
        with store.taken(IMAGES, key) as free:
            if free and key not in left:
                await anyio.to_thread.run_sync(store.drop, IMAGES, key)
    return removed


async def _ours(engine: Engine) -> Sequence[dict[str, Any]]:
    every = await engine.call("list images", engine.control.images)
    return sorted((image for image in every if _names(image)), key=lambda image: -int(image["Created"]))


def _names(image: dict[str, Any]) -> list[str]:
    """Its names that are ours; its id if it has lost them all."""
    tags = [tag for tag in image.get("RepoTags") or () if tag != "<none>:<none>"]
    if not tags:
        return [str(image["Id"])] if f"{NAMESPACE}.toolchain" in (image.get("Labels") or {}) else []
    return [tag for tag in tags if tag.startswith(OURS) and not tag.startswith(LASTING)]


async def _remove(engine: Engine, image: Kept) -> bool:
    with suppress(Missing, Conflict):
        await engine.call("remove an image", lambda: engine.control.remove_image(image.name))
        return True
    return False
