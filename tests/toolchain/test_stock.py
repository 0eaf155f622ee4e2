"""What is kept, and its removal: never what somebody uses, nor what may be another user's."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import ImageNotFound

from sweeper.sandbox.docker import stock
from sweeper.sandbox.docker.engine import Engine
from sweeper.sandbox.docker.opening import connected
from sweeper.sandbox.stock import Kept, prune_stored, stored
from sweeper.sandbox.store import Store

pytestmark = pytest.mark.anyio
DAY = 86400.0


async def fill(folder: Path) -> None:
    (folder / "file").write_bytes(b"x" * 1000)


def age(store: Store, kind: str, key: str, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(store.root / kind / f"{key}.lock", (then, then))


async def test_what_nobody_uses_goes_once_it_is_old(store: Path) -> None:
    root = store / secrets.token_hex(4)
    user, other = Store(root), Store(root)
    for kind, key in (("trees", "used"), ("trees", "old"), ("setups", "old"), ("toolchains", "new")):
        await (user if key == "used" else other).entry(kind, key, fill)
        age(user, kind, key, 1.0 if key == "new" else 30.0)
    other.close()
    kept = {(each.kind, each.name): each for each in stored(other)}
    assert {name: each.in_use for name, each in kept.items()} == {
        ("tree", "used"): True,
        ("tree", "old"): False,
        ("setup", "old"): False,
        ("setup", "new"): False,
    }
    assert all(each.size == 1000 for each in kept.values())
    assert time.time() - kept["tree", "old"].used > 29 * DAY
    removed = prune_stored(other, 7 * DAY)
    assert {(each.kind, each.name) for each in removed} == {("tree", "old"), ("setup", "old")}
    assert {each.name for each in stored(other)} == {"used", "new"}
    assert (root / "trees/used/file").exists()
    assert {each.name for each in prune_stored(other, 0)} == {"new"}
    user.close()
    assert {each.name for each in prune_stored(other, 0)} == {"used"}
    assert not list(root.rglob("*.lock"))


@pytest.fixture
def image(docker_engine: docker.DockerClient, base_image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A toolchain image of this test's own, the only one that is seen: others use this engine as well."""
    tag = f"sweeper/setup:test-{secrets.token_hex(8)}"
    container = docker_engine.containers.create(base_image, ["none"], labels={"io.sweeper.toolchain": "test"})
    container.commit(*tag.split(":"))
    container.remove()
    every = stock._ours

    async def only_this_tests(engine: Engine) -> list[dict[str, Any]]:
        return [each for each in await every(engine) if tag in (each["RepoTags"] or ())]

    monkeypatch.setattr(stock, "_ours", only_this_tests)
    yield tag
    with contextlib.suppress(ImageNotFound):
        docker_engine.images.remove(tag)


async def test_an_image_goes_only_if_its_use_is_known_and_over(image: str, store: Path) -> None:
    root = store / secrets.token_hex(4)
    user, other = Store(root), Store(root)
    engine = await connected(1)
    try:

        async def found() -> Kept:
            (one,) = [each for each in await stock.images(engine, other) if each.name == image]
            return one

        unknown = await found()
        assert unknown.used == 0.0
        assert unknown.size > 1 << 20
        assert await stock.prune_images(engine, other, 0, everything=False) == []
        await stock.hold(user, unknown.place)
        age(user, stock.IMAGES, unknown.place.removeprefix("sha256:"), 30.0)
        assert (await found()).in_use
        assert await stock.prune_images(engine, other, 0, everything=False) == []
        user.close()
        assert await stock.prune_images(engine, other, 60 * DAY, everything=False) == []
        assert [each.name for each in await stock.prune_images(engine, other, 7 * DAY, everything=False)] == [image]
        assert image not in {each.name for each in await stock.images(engine, other)}
        assert other.entries(stock.IMAGES) == []
    finally:
        engine.close()


async def test_with_everything_an_image_of_unknown_use_goes_too(image: str, store: Path) -> None:
    engine = await connected(1)
    try:
        mine = Store(store / secrets.token_hex(4))
        assert await stock.prune_images(engine, mine, 7 * DAY, everything=False) == []
        assert [each.name for each in await stock.prune_images(engine, mine, 7 * DAY, everything=True)] == [image]
        assert await stock.images(engine, mine) == []
    finally:
        engine.close()


async def test_an_engine_keeps_an_image_that_a_container_needs(
    docker_engine: docker.DockerClient, image: str, store: Path
) -> None:
    root = store / secrets.token_hex(4)
    user = Store(root)
    engine = await connected(1)
    container = docker_engine.containers.create(image, ["none"])
    try:
        (one,) = [each for each in await stock.images(engine, user) if each.name == image]
        await stock.hold(user, one.place)
        user.close()
        assert await stock.prune_images(engine, user, 0, everything=False) == []
        assert docker_engine.images.get(image).id == one.place
    finally:
        container.remove()
        engine.close()
