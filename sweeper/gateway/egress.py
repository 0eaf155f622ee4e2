"""The way out of a sandbox that holds a real key: CONNECT to the hosts of a list, and nothing else.

Whatever passes is between the agent and its host, so that nothing of it can be metered or screened: only who is called
is known. A host that is not on the list is refused and counted.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import socket
from collections.abc import Callable, Collection
from urllib.parse import SplitResult, unquote, urlsplit

from sweeper.gateway.caller import Caller
from sweeper.gateway.contract import Error, Try

Address = tuple[str, int]
LONGEST_HEAD = 16 << 10
CHUNK = 64 << 10
HEAD_SECONDS = 10.0
CONNECT_SECONDS = 30.0
MOST = 32  # tunnels at once
METADATA = frozenset({"fd00:ec2::254", "100.100.100.200", "168.63.129.16"})  # of clouds, beside 169.254.169.254
BAD = (OSError, TimeoutError, ValueError, OverflowError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class Egress:
    """One attempt's. `hosts`: "host:port", in lower case. `proxy_for`: the coordinator's own proxy for an address."""

    def __init__(self, caller: Caller, hosts: Collection[str], proxy_for: Callable[[str], str | None]) -> None:
        self._caller, self._hosts, self._proxy_for = caller, frozenset(hosts), proxy_for
        self._room = asyncio.Semaphore(MOST)

    def __call__(self) -> asyncio.StreamReaderProtocol:
        """The protocol of one connection."""
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(limit=LONGEST_HEAD), self._handle)

    async def shutdown(self, seconds: float) -> None:
        """Its connections are tasks of the caller, and end with it."""

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._caller.tasks.add(task)
        try:
            async with self._room:
                await self._serve(reader, writer)
        except BAD:
            pass
        finally:
            self._caller.tasks.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
        target = rest.partition(" ")[0].lower()
        if method != "CONNECT":
            self._caller.refuse(Try.PATH)
            await _answer(writer, "405 Only CONNECT is offered here")
            return
        if target not in self._hosts:
            self._caller.refuse(Try.HOST)
            await _answer(writer, "403 This host is not on the list")
            return
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                far_reader, far_writer = await self._connect(target)
        except BAD:
            self._caller.failed(Error.UNREACHABLE)
            await _answer(writer, "502 The host can't be reached")
            return
        self._caller.requests += 1
        self._caller.tries += 1
        try:
            await _answer(writer, "200 Connected")
            async with asyncio.TaskGroup() as group:  # what breaks one way ends the other
                group.create_task(_pump(reader, far_writer))
                group.create_task(_pump(far_reader, writer))
        except* OSError:
            writer.transport.abort()
        finally:
            far_writer.close()

    async def _connect(self, target: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Straight, or through the coordinator's own proxy. Raises OSError."""
        proxy = self._proxy_for(f"https://{target}")
        if proxy is None:
            return await _straight(*_address(target))
        parts = urlsplit(proxy)
        tls = parts.scheme == "https"
        port = parts.port or (443 if tls else 80)
        reader, writer = await asyncio.open_connection(parts.hostname, port, limit=LONGEST_HEAD, ssl=tls or None)
        try:
            writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{_authorization(parts)}\r\n".encode())
            said = await reader.readuntil(b"\r\n\r\n")
            if said.split(b" ", 2)[1:2] != [b"200"]:
                raise OSError("the proxy refused")
        except BaseException:
            writer.close()
            raise
        return reader, writer


def _authorization(parts: SplitResult) -> str:
    if not parts.username:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return f"Proxy-Authorization: Basic {base64.b64encode(pair).decode()}\r\n"


def _address(target: str) -> Address:
    host, _, port = target.rpartition(":")
    return host.strip("[]"), int(port)


async def _straight(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Raises OSError, also for a name that leads where only an address of the list itself may lead."""
    refused = OSError(f"{host} has no address that it may have")
    for _, _, _, _, found in await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM):
        address = str(found[0])
        if not _may_lead_to(host, address):
            continue
        try:
            return await asyncio.open_connection(address, port)
        except OSError as error:
            refused = error
    raise refused


def _may_lead_to(host: str, address: str) -> bool:
    """A name may not lead to this machine, its cloud's metadata or everybody: whoever answers for it chooses that."""
    there = ipaddress.ip_address(address)
    there = getattr(there, "ipv4_mapped", None) or there
    if host == "localhost" or host.endswith(".localhost"):
        return there.is_loopback
    if _is_address(host):
        return True
    nobody_s = there.is_loopback or there.is_link_local or there.is_multicast or there.is_unspecified
    return not nobody_s and str(there) not in METADATA


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _answer(writer: asyncio.StreamWriter, status: str) -> None:
    writer.write(f"HTTP/1.1 {status}\r\n\r\n".encode())
    await writer.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Bytes as they come, then the end, which may come from either side first."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():  # TLS has no such half
        writer.write_eof()
