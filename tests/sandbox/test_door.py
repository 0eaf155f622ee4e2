"""The door: one socket of the coordinator in a sandbox without network."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from sweeper.errors import SandboxFailed
from sweeper.sandbox.contract import DOOR, SANDBOX_UID
from tests.sandbox.conftest import SMALL, Box, owner, relayed
from tests.waiting import until

ROOT = Path(__file__).parents[2]

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
    done = box.python(CALL, door=door)
    assert done.stdout == b"pong\n", done.stderr
    looked = box.run(f"ls {DOOR}; touch {DOOR}/x 2>/dev/null && echo wrote; exit 0", door=door)
    assert looked.stdout.split() == [b"one.sock"]
    assert box.run(f"ls {DOOR} 2>/dev/null; exit 0").stdout == b""
    assert looked.changed == {}


LOOK = f"""
import os, socket
print(sorted(name for _, name in socket.if_nameindex()), os.listdir({DOOR!r}))
for place in (("1.1.1.1", 443), ("172.17.0.1", 22), ("169.254.169.254", 80)):
    try:
        socket.create_connection(place, 2)
        print("connected", place)
    except OSError:
        pass
try:
    print("resolved", socket.getaddrinfo("example.com", 443))
except OSError:
    pass
"""


def test_behind_a_door_there_is_no_network(box: Box, door: Path) -> None:
    """No neighbour, no route, no names: loopback alone, and one socket."""
    done = box.python(LOOK, door=door)
    assert done.stdout == b"['lo'] ['one.sock']\n", done.stderr


MUCH = f"""
import socket, threading
def one(number):
    with socket.socket(socket.AF_UNIX) as near:
        near.connect({DOOR + "/one.sock"!r})
        data = bytes([number]) * 700_000
        threading.Thread(target=near.sendall, args=(data,)).start()
        got = 0
        while got < len(data):
            part = near.recv(65536)
            assert part and part == data[:len(part)]
            got += len(part)
        near.shutdown(socket.SHUT_WR)
        assert near.recv(1) == b""
        done.append(number)
done = []
threads = [threading.Thread(target=one, args=(number,)) for number in range(40)]
for each in threads: each.start()
for each in threads: each.join()
print(sorted(done) == list(range(40)))
"""


@pytest.fixture
def echoing() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="doors-") as top, socket.socket(socket.AF_UNIX) as server:
        Path(top).chmod(0o711)
        folder = Path(top, "doors", "mine")
        folder.mkdir(parents=True)
        path = folder / "one.sock"
        server.bind(str(path))
        server.listen(64)
        if os.geteuid() == 0:
            os.chown(path, SANDBOX_UID, SANDBOX_UID)

        def echo(near: socket.socket) -> None:
            with near:
                while data := near.recv(65536):
                    near.sendall(data)

        def serve() -> None:
            while True:
                try:
                    near, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=echo, args=(near,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield folder
        server.shutdown(socket.SHUT_RDWR)


def test_many_connections_through_one_door(box: Box, echoing: Path) -> None:
    done = box.python(MUCH, door=echoing, limits=replace(SMALL, pids=128))
    assert done.stdout == b"True\n", done.stderr


def containers(engine: docker.DockerClient, whose: str) -> list[Any]:
    return list(engine.containers.list(all=True, filters={"label": f"io.sweeper.owner={whose}"}, ignore_removed=True))


def left_of(engine: docker.DockerClient, whose: str) -> list[object]:
    """Whatever an owner has on the engine."""
    return [*containers(engine, whose), *engine.volumes.list(filters={"label": f"io.sweeper.owner={whose}"})]


@pytest.fixture
def remote(box: Box, docker_engine: docker.DockerClient, store: Path) -> Iterator[tuple[Box, str]]:
    """A backend of its own on an engine that sees none of our files, and its owner's id."""
    whose = owner("relayed")
    backend = box.factory.make(store, whose, 2)
    yield Box(box.portal, backend, box.factory, box.folder), whose.id
    box.portal.call(backend.aclose)


@relayed
def test_a_relay_goes_with_its_sandbox(remote: tuple[Box, str], door: Path, docker_engine: docker.DockerClient) -> None:
    box, whose = remote
    assert box.python(CALL, door=door).stdout == b"pong\n"
    assert left_of(docker_engine, whose) == []
    spec = box.spec("echo up; sleep 600", door=door)
    future = box.begin(spec)
    found = containers(docker_engine, whose)
    assert sorted(each.name.startswith("sweeper-relay-") for each in found) == [False, True]
    assert {each.attrs["HostConfig"]["NetworkMode"] for each in found} <= {"none", "default", "bridge"}
    assert [network for each in found for network in each.attrs["NetworkSettings"]["Networks"].values()] == []
    future.cancel()
    until(lambda: not left_of(docker_engine, whose), "the removal of all")


@relayed
def test_a_lost_relay_is_a_lost_sandbox(
    remote: tuple[Box, str], door: Path, docker_engine: docker.DockerClient
) -> None:
    """The agent could not reach its model any more: no fault of the unit's."""
    box, whose = remote
    spec = box.spec("echo up; sleep 600", door=door)
    future = box.begin(spec)
    found = containers(docker_engine, whose)
    (relay,) = [each for each in found if each.name.startswith("sweeper-relay-")]
    relay.kill()
    with pytest.raises(SandboxFailed, match="lost its way") as caught:
        future.result()
    assert caught.value.retryable
    assert caught.value.may_have_run
    assert left_of(docker_engine, whose) == []


@relayed
def test_a_relay_ends_with_a_killed_coordinator(
    remote: tuple[Box, str], docker_engine: docker.DockerClient, store: Path, place: Path
) -> None:
    box, _ = remote
    whose = f"dead{time.monotonic_ns()}"
    command = [sys.executable, "-m", "tests.sandbox.coordinator", box.factory.name, str(store), str(place)]
    argv = [*command, whose, "2", "600", "door"]
    coordinator = subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=ROOT)
    assert coordinator.stdout is not None
    assert coordinator.stdout.readline() == b"ready\n"

    def relays() -> list[Any]:
        found = [each for each in containers(docker_engine, whose) if each.name.startswith("sweeper-relay-")]
        return [each for each in found if each.status == "running"]

    assert len(relays()) == 2
    coordinator.kill()
    coordinator.communicate()
    until(lambda: not relays(), "the end of every relay")
    left = box.portal.call(box.backend.list, whose)
    assert [each.running for each in left] == [True, True]
    box.portal.call(box.backend.reap, left)
    assert left_of(docker_engine, whose) == []
