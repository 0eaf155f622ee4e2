"""A coordinator to be killed: it starts sandboxes of one backend that sleep, says so, and waits.

`python -m tests.sandbox.coordinator FACTORY STORE FOLDER OWNER COUNT SECONDS [door]`: prints "ready" when every command
has printed. With "door" each has one, to a socket that nobody answers at. Output and doors are in FOLDER, which is its
starter's: a killed one removes nothing.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import anyio

from sweeper.sandbox.contract import Clocks, Limits, Name, Role, Spec
from tests.sandbox.backends import FACTORIES
from tests.sandbox.conftest import seemingly_alive
from tests.sandbox.trees import PlainTree


async def main(factory: str, store: str, place: str, owner: str, count: int, seconds: str, door: str = "") -> None:
    chosen = FACTORIES[factory]
    backend = chosen.make(Path(store), seemingly_alive(owner), count)
    snapshot = await backend.prepare(PlainTree({"a": b"a"}), chosen.toolchain)
    folder = Path(place)
    doors = folder / "doors"
    listener = socket.socket(socket.AF_UNIX)
    if door:
        doors.mkdir()
        listener.bind(str(doors / "one.sock"))
        listener.listen()
    async with anyio.create_task_group() as group:
        for number in range(count):
            spec = Spec(
                name=Name("killed", f"{owner}-{number}"[-16:], 1, Role.AGENT),
                snapshot=snapshot,
                argv=("sh", "-c", f"echo up; exec sleep {seconds}"),
                stdout=folder / f"{number}.out",
                stderr=folder / f"{number}.err",
                limits=Limits(memory=128 << 20, pids=32, disk=16 << 20, output=1 << 20),
                clocks=Clocks(wall=600),
                deadline=time.time() + 600,
                door=doors if door else None,
            )
            group.start_soon(backend.run, spec)
        for number in range(count):
            out = folder / f"{number}.out"
            while not out.exists() or b"up" not in out.read_bytes():  # noqa: ASYNC110
                await anyio.sleep(0.05)
        print("ready", flush=True)


if __name__ == "__main__":
    factory, store, place, owner, count, seconds, *door = sys.argv[1:]
    anyio.run(main, factory, store, place, owner, int(count), seconds, "".join(door))
