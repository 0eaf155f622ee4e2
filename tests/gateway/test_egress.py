"""The tunnel of an attempt with an injected key: to the hosts of its list, charged in full."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sweeper.budget import Budget
from sweeper.config.models import LimitsConfig
from sweeper.gateway import Door, Error, Gateway, NoRoom, Protocol, Provider, Try
from sweeper.receipts import receipt_of, spent
from sweeper.records import Usage
from tests.gateway.conftest import KEY
from tests.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@contextlib.asynccontextmanager
async def gateway(folder: Path, usd: float = 1.0) -> AsyncIterator[tuple[Gateway, Budget]]:
    budget = Budget(LimitsConfig(usd_per_fire=usd))
    async with Gateway([Provider("p", "", KEY, Protocol.OPENAI)], budget, folder=folder / "doors") as started:
        yield started, budget


@contextlib.asynccontextmanager
async def echoing() -> AsyncIterator[int]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1000):
                writer.write(data)
                await writer.drain()
            writer.write(b"<end>")
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def ask(door: Door, line: str, more: bytes = b"") -> tuple[int, bytes]:
    """The status of the first line, and what comes after `more` was sent and the end was said."""
    reader, writer = await asyncio.open_unix_connection(str(door.socket))
    writer.write(f"{line}\r\nHost: x\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(more)
    writer.write_eof()
    rest = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()
    return int(head.split()[1]), rest


async def opened(gateway: Gateway, hosts: list[str], receipt: Path | None = None, usd: float = 0.25) -> Door:
    door = await gateway.tunnel("a", provider="p", hosts=hosts, micro_usd=round(usd * 1e6), receipt=receipt)
    assert isinstance(door, Door)
    return door


async def test_a_listed_host_is_reached_and_no_other(folder: Path) -> None:
    async with gateway(folder) as (gate, _), echoing() as port:
        door = await opened(gate, [f"127.0.0.1:{port}"])
        assert door.token == KEY
        assert KEY not in repr(door)
        assert await ask(door, f"CONNECT 127.0.0.1:{port} HTTP/1.1", b"hello") == (200, b"hello<end>")
        targets = [
            "127.0.0.1:1", "localhost:443", "evil.example:443", f"127.0.0.1:{port}@evil:1", "", f"127.0.0.1.:{port}",
            f"[::ffff:127.0.0.1]:{port}", f"2130706433:{port}", f"0x7f.1:{port}", f"127.0.0.1:0{port}",
            f"127.0.0.1:{port}\tx", f"\u00a0127.0.0.1:{port}", f"127.0.0.1:{port}:443", "127.0.0.1",
        ]  # fmt: skip
        for target in targets:
            assert (await ask(door, f"CONNECT {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}"))[0] == 403
        assert (await ask(door, "GET http://127.0.0.1/ HTTP/1.1"))[0] == 405
        meter = await gate.close("a")
        assert meter.refused == {Try.HOST: len(targets), Try.PATH: 1}
        assert meter.requests == 1


async def test_it_ends_with_its_attempt(folder: Path) -> None:
    async with gateway(folder) as (gate, _), echoing() as port:
        door = await opened(gate, [f"127.0.0.1:{port}"])
        reader, writer = await asyncio.open_unix_connection(str(door.socket))
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
        assert b"200" in await reader.readuntil(b"\r\n\r\n")
        await gate.close("a")
        assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        writer.close()


@pytest.mark.parametrize("host", ["127.0.0.1:1", "127.0.0.1:99999", f"{'a' * 64}.example:443", "a..b:443", "[::1]:1"])
async def test_what_can_t_be_reached_is_said(folder: Path, host: str) -> None:
    async with gateway(folder) as (gate, _):
        door = await opened(gate, [host])
        assert (await ask(door, f"CONNECT {host} HTTP/1.1"))[0] == 502
        assert (gate.meter("a").requests, gate.meter("a").last_error) == (0, Error.UNREACHABLE)


@pytest.mark.parametrize(
    ("name", "address", "leads"),
    [
        ("api.example.com", "127.0.0.1", False),
        ("api.example.com", "127.1.2.3", False),
        ("api.example.com", "169.254.169.254", False),
        ("api.example.com", "0.0.0.0", False),
        ("api.example.com", "::1", False),
        ("api.example.com", "::", False),
        ("api.example.com", "::ffff:127.0.0.1", False),
        ("api.example.com", "::ffff:169.254.169.254", False),
        ("api.example.com", "fe80::1", False),
        ("api.example.com", "fd00:ec2::254", False),
        ("api.example.com", "224.0.0.1", False),
        ("2130706433", "127.0.0.1", False),
        ("127.1", "127.0.0.1", False),
        ("localhost.example.com", "127.0.0.1", False),
        ("localhost", "169.254.169.254", False),
        ("localhost", "127.0.0.1", True),
        ("models.localhost", "::1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("169.254.1.1", "169.254.1.1", True),
        ("models.intern.example.com", "10.1.2.3", True),
        ("api.example.com", "93.184.216.34", True),
    ],
)
async def test_a_listed_name_leads_to_no_place_that_only_an_address_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, address: str, leads: bool
) -> None:
    """Its DNS may be somebody else's, and may say another address each time."""
    tried: list[str] = []

    async def connect(host: str, port: int, **more: object) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tried.append(host)
        raise ConnectionRefusedError

    async with gateway(folder) as (gate, _):
        door = await opened(gate, [f"{name}:443"])
        found = [(0, 0, 0, "", (address, 443))]

        async def resolve(*args: object, **more: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
            return found

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        monkeypatch.setattr("sweeper.gateway.egress.asyncio.open_connection", connect)
        assert (await ask(door, f"CONNECT {name}:443 HTTP/1.1"))[0] == 502
        assert tried == ([address] if leads else [])


async def test_a_host_that_breaks_off_ends_the_tunnel(folder: Path) -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    server = await asyncio.start_server(broken, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with gateway(folder) as (gate, _):
        door = await opened(gate, [f"127.0.0.1:{port}"])
        reader, writer = await asyncio.open_unix_connection(str(door.socket))
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nxyz".encode())
        assert b"200" in await reader.readuntil(b"\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        writer.close()
    server.close()


async def test_each_attempt_is_charged_in_full_or_not_started(folder: Path) -> None:
    receipt = receipt_of(folder, "u", 1, 0)
    async with gateway(folder, usd=0.4) as (gate, budget):
        await opened(gate, ["127.0.0.1:1"], receipt)
        meter = await gate.close("a")
        assert (meter.micro_usd, meter.estimated_micro_usd, budget.spent) == (250_000, 250_000, 250_000)
        assert spent(folder, "u", 1) == Usage(0, 0, 250_000)
        refused = await gate.tunnel("b", provider="p", hosts=["127.0.0.1:1"], micro_usd=250_000)
        assert refused == NoRoom("limits.usd_per_fire")
        assert budget.spent == 250_000


@pytest.mark.parametrize(("answer", "status"), [(b"200 OK", 200), (b"407 No", 502)])
async def test_the_coordinator_s_own_proxy_is_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, status: int
) -> None:
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 " + answer + b"\r\n\r\nfrom the proxy")
        writer.close()

    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setenv("https_proxy", f"http://us%40er:word@127.0.0.1:{port}")
    monkeypatch.setenv("no_proxy", "")
    async with gateway(folder) as (gate, _):
        door = await opened(gate, ["api.example.com:443"])
        assert (await ask(door, "CONNECT api.example.com:443 HTTP/1.1"))[0] == status
    server.close()
    assert heads[0].startswith(b"CONNECT api.example.com:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic dXNAZXI6d29yZA==" in heads[0]
