"""A door on an engine that does not see this machine's files: a relay container beside the sandbox.

The two share a small volume of the engine's that holds one socket. The relay listens there and hands every connection
to the coordinator over its standard streams, so over the engine's own API: the one channel that is certain to exist.
Neither of the two containers has a network. An internal network would have one neighbour too many: the engine's host,
which answers there at the bridge's own address.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import anyio
import docker.utils.socket

from sweeper.errors import SandboxFailed
from sweeper.records import Owner
from sweeper.sandbox.contract import DOOR
from sweeper.sandbox.docker.container import NAMESPACE, Manner, owner_labels
from sweeper.sandbox.docker.creating import create, marked, remove
from sweeper.sandbox.docker.engine import BROKEN, Engine
from sweeper.sandbox.docker.relay import Broken, Mux
from sweeper.sandbox.docker.running import close

MEMORY = 128 << 20
PIDS = 128
SIZE = 64 << 10
READY_SECONDS = 60.0
SAID = 2000


class Doorway:
    """`volume`: what the sandbox mounts read-only at DOOR."""

    def __init__(self, engine: Engine, container: str, door: Path) -> None:
        (self._name,) = os.listdir(door)
        self._engine, self._container, self._path = engine, container, str(door / self._name)
        self._sockets: list[Any] = []
        self._said = b""
        self._closing = False
        self._over = threading.Event()
        self._mux: Mux | None = None
        self.volume = ""

    @property
    def broken(self) -> bool:
        """Whether the way is gone, though nobody closed it: then the sandbox reaches its model no more."""
        return self._over.is_set() and not self._closing

    @property
    def mount(self) -> dict[str, Any]:
        return {"Type": "volume", "Source": self.volume, "Target": DOOR, "ReadOnly": True}

    async def start(self) -> None:
        """Attach, start the relay and wait until it listens. Raises SandboxFailed."""
        control, container = self._engine.control, self._container
        # A connection for each direction: one for both would be read and written at the same time by two threads.
        reading, writing = await self._attach("stdout", "stderr"), await self._attach("stdin")
        inner = getattr(writing, "_sock", writing)
        self._mux = Mux(_reader(self._frames(reading)), inner.sendall, self._dial)
        await self._engine.call("start a relay", control.start, container)
        threading.Thread(target=self._run, args=(self._mux,), daemon=True, name="sweeper-relay").start()
        found = await self._engine.call("look at a relay", control.inspect_container, container)
        self.volume = next(str(each["Name"]) for each in found["Mounts"] if each["Destination"] == DOOR)
        await self._until_ready(self._mux)

    async def _until_ready(self, mux: Mux) -> None:
        with anyio.move_on_after(READY_SECONDS):
            while not mux.ready.is_set() and not self._over.is_set():  # noqa: ASYNC110 threads set them
                await anyio.sleep(0.01)
        if not mux.ready.is_set():
            said = self._said.decode(errors="replace").strip()
            raise SandboxFailed(
                f"the relay between a sandbox and the gateway did not start: {said or 'it said nothing'}",
                retryable=True,
            )

    async def _attach(self, *streams: str) -> Any:
        params = {"stdin": 0, "stdout": 0, "stderr": 0, "stream": 1} | dict.fromkeys(streams, 1)
        attach = self._engine.streams.attach_socket
        sock = await self._engine.call("attach to a relay", lambda: attach(self._container, params=params))
        self._sockets.append(sock)
        set_timeout = getattr(getattr(sock, "_sock", sock), "settimeout", None)
        if set_timeout is not None:
            set_timeout(None)
        return sock

    def _frames(self, sock: Any) -> Iterator[bytes]:
        for stream, data in docker.utils.socket.frames_iter(sock, tty=False):  # type: ignore[no-untyped-call]
            if stream == 1:
                yield data
            elif len(self._said) < SAID:
                self._said += data

    def _dial(self) -> socket.socket:
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            far.connect(self._path)
        except OSError:
            far.close()
            raise
        return far

    def _run(self, mux: Mux) -> None:
        with contextlib.suppress(*BROKEN, ValueError):
            mux.run()
        self._over.set()

    async def close(self) -> None:
        """End the relay; its volume goes with it. Safe to call twice. What can't be removed is left to `tidy`."""
        self._closing = True
        for sock in self._sockets:
            close(sock)
        with contextlib.suppress(SandboxFailed):
            await remove(self._engine, self._container)


def _reader(chunks: Iterator[bytes]) -> Any:
    """`read(n)`: exactly n bytes of the chunks."""
    rest = bytearray()

    def read(size: int) -> bytes:
        while len(rest) < size:
            try:
                rest.extend(next(chunks))
            except StopIteration:
                raise Broken("the relay has ended") from None
        data = bytes(rest[:size])
        del rest[:size]
        return data

    return read


async def doorway(
    engine: Engine, owner: Owner, manner: Manner, image: str, path: str, door: Path, seconds: int
) -> Doorway:
    """A relay to the one socket in `door`. It ends with its coordinator, and after `seconds` by itself."""
    token = secrets.token_hex(8)
    body = _configuration(owner, manner, image, path, os.listdir(door)[0], seconds, token)
    container = ""
    way: Doorway | None = None
    try:
        container = await create(engine, body, f"sweeper-relay-{token}")
        way = Doorway(engine, container, door)
        await way.start()
    except BaseException:
        with anyio.CancelScope(shield=True), contextlib.suppress(SandboxFailed):
            if way is not None:
                await way.close()
            else:  # cancelled, or failed, while it was being created
                for container in await marked(engine, token):
                    await remove(engine, container)
        raise
    return way


def _configuration(
    owner: Owner, manner: Manner, image: str, path: str, name: str, seconds: int, token: str
) -> dict[str, Any]:
    source = resources.files("sweeper.sandbox.docker").joinpath("relay.py").read_text()
    uid, gid = manner.user.split(":")
    marks = owner_labels(owner) | {f"{NAMESPACE}.token": token}
    options = {"type": "tmpfs", "device": "tmpfs", "o": f"size={SIZE},mode=0700,uid={uid},gid={gid}"}
    volume = {
        "Type": "volume",
        "Target": DOOR,
        "VolumeOptions": {
            "NoCopy": True,
            "Labels": marks,
            "DriverConfig": {"Name": "local", "Options": options},
        },
    }
    host = manner.host(Mounts=[volume], ReadonlyRootfs=True, Memory=MEMORY, MemorySwap=MEMORY, PidsLimit=PIDS)
    return {
        "Image": image,
        "Entrypoint": ["timeout", "-s", "KILL", str(seconds)],
        "Cmd": ["python3", "-I", "-c", source, f"{DOOR}/{name}"],
        "User": manner.user,
        "WorkingDir": "/",
        "Env": [f"PATH={path}"] if path else [],
        "Labels": marks,
        "NetworkDisabled": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "Tty": False,
        "HostConfig": host,
    }
