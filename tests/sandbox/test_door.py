"""The door: one socket of the coordinator in a sandbox without network."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeper.sandbox.contract import DOOR, SANDBOX_UID
from tests.sandbox.conftest import Box

CALL = f"""
import socket
with socket.socket(socket.AF_UNIX) as near:
    near.connect({DOOR + "/one.sock"!r})
    near.sendall(b"ping")
    print(near.recv(10).decode())
"""


@pytest.fixture
def door() -> Iterator[Path]:
    """The folder of a door that answers "pong"; another door lies beside it."""
    with tempfile.TemporaryDirectory(prefix="doors-") as top:
        folder = Path(top, "doors", "mine")
        (Path(top, "doors") / "other").mkdir(parents=True)
        folder.mkdir()
        Path(top).chmod(0o711)
        path = folder / "one.sock"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()
            if os.geteuid() == 0:
                os.chown(path, SANDBOX_UID, SANDBOX_UID)

            def serve() -> None:
                while True:
                    try:
                        near, _ = server.accept()
                    except OSError:
                        return
                    with near:
                        near.sendall(b"pong" if near.recv(10) == b"ping" else b"?")

            threading.Thread(target=serve, daemon=True).start()
            yield folder
            server.shutdown(socket.SHUT_RDWR)


def test_a_door_is_reached_and_nothing_else(box: Box, door: Path) -> None:
    if "remote" in box.factory.name:
        pytest.skip("an engine without our disk has no sockets of ours")
    done = box.python(CALL, door=door)
    assert done.stdout == b"pong\n", done.stderr
    looked = box.run(f"ls {DOOR}; touch {DOOR}/x 2>/dev/null && echo wrote; exit 0", door=door)
    assert looked.stdout.split() == [b"one.sock"]
    assert box.run(f"ls {DOOR} 2>/dev/null; exit 0").stdout == b""
    assert looked.changed == {}
