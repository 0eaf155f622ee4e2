"""Create a container under its deterministic name, so that a create whose answer was lost is found, not repeated."""

from __future__ import annotations

from typing import Any

import anyio

from sweeper.errors import SandboxFailed
from sweeper.sandbox.docker.container import NAMESPACE
from sweeper.sandbox.docker.engine import Conflict, Engine, EngineRestarted, Missing

PATIENCE = 120.0
TRIES = 3


async def create(engine: Engine, body: dict[str, Any], name: str, patience: float = PATIENCE) -> str:
    """The new container's id. Raises SandboxFailed; never touches a container that is not ours.

    `patience`: seconds to wait for a container whose create call got no answer.
    """
    marks = body["Labels"]
    for _ in range(TRIES):
        try:
            made = await engine.once("create the sandbox", engine.control.create_container_from_config, body, name)
            return str(made["Id"])
        except EngineRestarted:
            lost = False
        except Missing as problem:
            raise image_gone(body["Image"]) from problem
        except Conflict:  # the name is taken
            lost = False
        except SandboxFailed as problem:
            if not problem.may_have_run:
                raise
            lost = True
        found = await search(engine, name, patience if lost else 1.0)
        if found is None:
            continue
        theirs = found["Config"].get("Labels") or {}
        if theirs.get(f"{NAMESPACE}.token") == marks[f"{NAMESPACE}.token"]:
            return str(found["Id"])
        await make_way(engine, found, name, marks)
    raise SandboxFailed(f"the engine did not say whether it created {name}", retryable=True, may_have_run=True)


async def search(engine: Engine, name: str, patience: float) -> dict[str, Any] | None:
    """The container of that name; it may appear only after a while, when an engine is slow."""
    delay = 0.1
    with anyio.move_on_after(patience):
        while True:
            try:
                found = await engine.call("look for the sandbox", engine.control.inspect_container, name)
                return dict(found)
            except Missing:
                await anyio.sleep(delay)
                delay = min(2 * delay, 5.0)
    return None


async def make_way(engine: Engine, found: dict[str, Any], name: str, marks: dict[str, str]) -> None:
    """Remove an earlier container of this very process; anything else under the name is not ours to remove."""
    theirs = found["Config"].get("Labels") or {}
    owner = theirs.get(f"{NAMESPACE}.owner")
    if owner is None:
        raise SandboxFailed(
            f"a container named {name} exists that sweeper did not create",
            hint=f"rename or remove it: `docker rm {name}`",
        )
    if owner != marks[f"{NAMESPACE}.owner"]:
        raise SandboxFailed(
            f"a sandbox named {name} of another coordinator ({owner}) exists",
            hint="`sweeper reap` removes it if that coordinator is dead",
            retryable=True,
            may_have_run=True,
        )
    await remove(engine, str(found["Id"]))


async def marked(engine: Engine, token: str) -> list[str]:
    """The containers that one call created, by its token."""
    mine = {"label": [f"{NAMESPACE}.token={token}"]}
    found = await engine.call("look for a container", lambda: engine.control.containers(all=True, filters=mine))
    return [str(each["Id"]) for each in found]


async def remove(engine: Engine, container: str) -> None:
    """With its volume, running or not; one that is gone already is fine."""
    try:
        await engine.call("remove the sandbox", lambda: engine.control.remove_container(container, v=True, force=True))
    except (Missing, Conflict):  # a conflict says that another remove is under way
        return


def image_gone(image: str) -> SandboxFailed:
    return SandboxFailed(f"the engine no longer has the image {image}", hint="run again: it is built or pulled anew")
