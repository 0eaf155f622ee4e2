"""Small containers of our own that run no command of the repository: looks into an image, cleaning up as root."""

from __future__ import annotations

import secrets
from typing import Any

from sweeper.records import Owner
from sweeper.sandbox.docker.container import NAMESPACE, owner_labels
from sweeper.sandbox.docker.creating import create, remove
from sweeper.sandbox.docker.engine import Engine

SECONDS = 120
SAID = 4096


async def errand(
    engine: Engine, owner: Owner, image: str, argv: list[str], *, mounts: list[dict[str, Any]], root: bool = False
) -> tuple[int, str]:
    """Run argv in a container of the image, without network; its exit code and the end of what it printed."""
    token = secrets.token_hex(8)
    body = {
        "Image": image,
        "Entrypoint": argv[:1],
        "Cmd": argv[1:],
        "User": "0:0" if root else "65532:65532",
        "WorkingDir": "/",
        "Labels": owner_labels(owner) | {f"{NAMESPACE}.token": token},
        "NetworkDisabled": True,
        "HostConfig": {
            "Mounts": mounts,
            "CapDrop": ["ALL"],
            "CapAdd": ["DAC_OVERRIDE", "FOWNER"] if root else [],
            "SecurityOpt": ["no-new-privileges"],
            "Init": True,
            "Memory": 256 << 20,
            "PidsLimit": 64,
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m"}},
        },
    }
    container = await create(engine, body, f"sweeper-helper-{token}")
    try:
        await engine.call("start a helper", engine.control.start, container)
        ended = await engine.call("wait for a helper", lambda: engine.control.wait(container, timeout=SECONDS))
        said = await engine.call("read a helper's output", lambda: engine.control.logs(container))
        return int(ended["StatusCode"]), bytes(said).decode(errors="replace")[-SAID:]
    finally:
        await remove(engine, container)
