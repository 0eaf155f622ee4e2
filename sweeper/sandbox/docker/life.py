"""One container's life, from a spec to facts and layer, and nothing left behind.

The order at its end is always the same: killed, waited for, its mount gone, its layer read, its container removed
with its volume, what it wrote deleted; on success, failure and cancellation alike.
"""

from __future__ import annotations

import os
import secrets
import time

import anyio

from sweeper.errors import ConfigError, SandboxFailed
from sweeper.records import Owner
from sweeper.sandbox.contract import Layer, Ran, Spec
from sweeper.sandbox.docker.container import Ref, configuration, labels, working_directory
from sweeper.sandbox.docker.creating import create, marked, remove
from sweeper.sandbox.docker.engine import Engine
from sweeper.sandbox.docker.opening import Opened
from sweeper.sandbox.docker.running import Running, kill, wait
from sweeper.sandbox.docker.workspace import Prepared
from sweeper.sandbox.output import Output


async def live(opened: Opened, owner: Owner, spec: Spec) -> Ran:
    """Raises SandboxFailed; a failure to clean up changes no outcome."""
    engine, workspaces = opened.engine, opened.workspaces
    prepared: Prepared = spec.snapshot.handle
    check_cwd(spec)
    token = secrets.token_hex(8)
    place = await workspaces.open(spec)
    container = ""
    try:
        marks = labels(spec, owner, token, workspaces.upper(place))
        body = configuration(
            spec,
            prepared.image,
            opened.found.manner,
            workspaces.mounts(place, spec, marks),
            marks,
            time.time(),
            path=prepared.path,
            largest_file=workspaces.largest_file(place),
            first=workspaces.first(place, working_directory(spec)),
            read_only=workspaces.read_only,
        )
        container = await create(engine, body, str(spec.name))
        await workspaces.fill(place, container, spec)
        output = Output(spec.stdout, spec.stderr, spec.limits.output, spec.clocks, time.monotonic(), spec.secrets)
        try:
            facts = await Running(engine, container, spec.stdin, output, lambda: workspaces.disk(place)).to_end()
        finally:
            output.close()
        layer: Layer | None = Layer()
        if spec.read_layer:
            base = prepared.base.patched(spec.changes) if spec.changes else prepared.base
            ref = Ref(container, workspaces.upper(place))
            layer = await workspaces.layer(ref, prepared, base, spec.caps, spec.wanted)
        if layer is None:
            raise SandboxFailed("what the sandbox wrote is gone", retryable=True, may_have_run=True)
        return Ran(facts, layer)
    finally:
        with anyio.CancelScope(shield=True):
            free = await destroy(engine, container, token)
            await workspaces.close(place, free=free)


async def destroy(engine: Engine, container: str, token: str) -> bool:
    """End and remove what a run created. False if that cannot be known: then it stays for `reap` to find."""
    try:
        if not container:  # cancelled, or failed, while it was being created
            found = await marked(engine, token)
            if not found:
                return True
            container = found[0]
        await end(engine, container)
    except SandboxFailed:
        return False
    return True


async def end(engine: Engine, container: str) -> None:
    """Kill it, wait until it is over, remove it: removing a running one takes four times as long."""
    if await kill(engine, container):
        await wait(engine, container)
    await remove(engine, container)


def check_cwd(spec: Spec) -> None:
    """An engine makes a missing working directory, and a check in an empty one finds nothing: refuse it."""
    if spec.cwd in ("", "."):
        return
    prefix = os.fsencode(spec.cwd.strip("/")) + b"/"
    if not any(path.startswith(prefix) for path in spec.snapshot.listing):
        raise ConfigError(
            f"the folder {spec.cwd!r} is not in commit {spec.snapshot.commit[:12]}", hint="correct `root`"
        )
