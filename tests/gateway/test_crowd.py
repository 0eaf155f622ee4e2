"""A sandbox that asks for more than it could use takes neither descriptors nor memory from the others."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sweeper.budget import Budget
from sweeper.config.models import LimitsConfig
from sweeper.gateway import Door, Gateway, Protocol, Provider, Try
from sweeper.gateway.admission import MOST_PARTS
from sweeper.gateway.crowd import MOST
from sweeper.testing.model_script import Say
from tests.gateway.conftest import KEY, agent_at, asking, door_for, gateway_before
from tests.waiting import until_true

pytestmark = pytest.mark.anyio


def descriptors(door: Door) -> int:
    """How many of this process's are ends at the door; other things of it come and go meanwhile."""
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    ends = {f"socket:[{line[6]}]" for line in lines if line[-1] == str(door.socket)}
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found += os.readlink(each) in ends
    return found


@contextlib.asynccontextmanager
async def crowd(door: Door, size: int) -> AsyncIterator[list[socket.socket]]:
    """`size` clients; those that are still connected are open, the others got the end."""
    clients: list[socket.socket] = []

    def come() -> None:
        for _ in range(size):
            client = socket.socket(socket.AF_UNIX)
            client.connect(str(door.socket))
            clients.append(client)

    thread = threading.Thread(target=come)
    thread.start()
    await asyncio.to_thread(thread.join)
    try:
        yield clients
    finally:
        for client in clients:
            client.close()


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize("tunnel", [False, True])
async def test_a_crowd_at_one_door_takes_no_descriptors(folder: Path, tunnel: bool) -> None:
    providers = [Provider("openai", "http://127.0.0.1:1", KEY, Protocol.OPENAI)]
    async with Gateway(providers, Budget(LimitsConfig()), folder=folder / "doors") as gate:
        if tunnel:
            made = await gate.tunnel("a", provider="openai", hosts=["127.0.0.1:1"], micro_usd=0)
            assert isinstance(made, Door)
            door = made
        else:
            door = await gate.open("a", provider="openai", models=["gpt-5.5"], micro_usd=None)
        listener = descriptors(door)
        assert listener == 1
        async with crowd(door, 5 * MOST) as clients:
            await until_true(lambda: sum(map(is_open, clients)) == MOST, "the end of those that are too many")
            await until_true(lambda: descriptors(door) == listener + MOST, "the descriptors of the others")
        await until_true(lambda: descriptors(door) == listener, "the end of all")
        async with crowd(door, 3) as clients:  # there is room again
            await until_true(lambda: descriptors(door) == listener + len(clients), "three ends")
            assert all(map(is_open, clients))


SHAPES = {
    "lists": b"[" + b"[]," * MOST_PARTS + b"1]",
    "texts": b"[" + b'"",' * MOST_PARTS + b"1]",
    "numbers": b"[" + b"1," * MOST_PARTS + b"1]",
    "names": b"{" + b'"":1,' * MOST_PARTS + b'"":1}',
    "in another encoding": b"\xff\xfe" + ('"\u2200",' + "[]," * MOST_PARTS).encode("utf-16-le"),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_what_grows_when_it_is_parsed_is_not(folder: Path, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """30 MB of empty lists are a gigabyte, and seconds in which nobody else is served."""
    parsed: list[int] = []
    monkeypatch.setattr("sweeper.gateway.admission.json.loads", lambda text: parsed.append(len(text)))
    body = b'{"model": "gpt-5.5", "messages": ' + SHAPES[shape] + b"}"
    async with (
        gateway_before(lambda asked: Say("done"), folder) as (gate, server, _),
        agent_at(await door_for(gate, "chat")) as agent,
    ):
        answer = await agent.session.post(
            "http://localhost/v1/chat/completions", data=body, headers={"authorization": f"Bearer {agent.door.token}"}
        )
        assert answer.status == 400
        assert gate.meter("a").refused == {Try.BODY: 1}
        assert parsed == []
        assert server.seen == []


async def test_long_texts_of_any_content_pass(folder: Path) -> None:
    text = '[,"\\' * (MOST_PARTS // 2)
    async with (
        gateway_before(lambda asked: Say("done"), folder) as (gate, server, _),
        agent_at(await door_for(gate, "chat", micro_usd=None)) as agent,
    ):
        path, body = asking("chat", text=text)
        assert (await agent.post(path, body)).status == 200
        assert len(server.seen) == 1


async def test_a_packed_request_is_not_unpacked(folder: Path) -> None:
    body = zlib.compress(b" " * (16 << 20))
    async with (
        gateway_before(lambda asked: Say("done"), folder) as (gate, _, _),
        agent_at(await door_for(gate, "chat")) as agent,
    ):
        headers = {"authorization": f"Bearer {agent.door.token}", "content-encoding": "deflate"}
        answer = await agent.session.post("http://localhost/v1/chat/completions", data=body, headers=headers)
        assert answer.status == 415
