"""The gateway against the scripted model server reached directly: rate, first byte, memory.

The model server runs in a process of its own, the gateway in this one, as in a fire, and the calls come from a third.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp

from bench.rows import Row
from sweeper.budget import Budget
from sweeper.config.models import LimitsConfig
from sweeper.gateway import Door, Gateway, Protocol, Provider

KEY = "sk-bench-0123456789abcdef"
MODEL = "claude-sonnet-4-5"
AT_ONCE = 16
CALLS = 400
STREAMS = 10
STREAMS_EACH = 8
THINKING = 0.02  # seconds before the first byte; the fastest models take ten times that
SHORT, LONG = (10, 0.02, THINKING), (60, 0.05, THINKING)  # deltas of a stream, seconds between
EACH = 8  # streams of one attempt, as many as it may have at once
MANY = 13 * EACH
TIMES = 3
PATH = "/v1/messages"


def measure() -> list[Row]:
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="gwb", dir="/tmp") as folder:
        async with _Setup(Path(folder), chunks=1, pause=0.0, wait=0.0) as setup:
            ratios, rates = [], []
            for _ in range(TIMES):  # in turns, so that whatever else runs here meets both
                direct, through = await setup.direct("rate"), await setup.through("rate")
                ratios.append(through["rate"] / direct["rate"])
                rates.append(through["rate"])
            detail = f"{statistics.median(rates):.0f} requests/s through it, {AT_ONCE} at once"
            rows.append(
                Row("gateway: request rate, of the server's own", statistics.median(ratios), 0.4, detail=detail)
            )
        async with _Setup(Path(folder), *SHORT) as setup:
            ratios = []
            for _ in range(TIMES):
                direct, through = await setup.direct("first"), await setup.through("first")
                ratios.append(through["first"] / direct["first"])
            more = (through["first"] - direct["first"]) * 1000
            detail = f"{more:.1f} ms more, {STREAMS} streams, {THINKING * 1000:.0f} ms before the first byte"
            rows.append(Row("gateway: first byte, of the direct one", statistics.median(ratios), 1.5, False, detail))
        async with _Setup(Path(folder), *LONG) as setup:
            rows.append(await _memory(setup))
    return rows


async def _memory(setup: _Setup) -> Row:
    """Resident memory while 100 streams run, at their beginning and near their end."""
    await setup.through("many")
    running = asyncio.create_task(setup.through("many"))
    await asyncio.sleep(LONG[0] * LONG[1] * 0.4)
    early = _resident()
    await asyncio.sleep(LONG[0] * LONG[1] * 0.4)
    late = _resident()
    await running
    detail = f"{late / 2**20:.0f} MB with {MANY} streams"
    return Row("gateway: memory late in the streams, of early", late / early, 1.05, False, detail)


class _Setup:
    """A model server, a gateway before it, and a door."""

    def __init__(self, folder: Path, chunks: int, pause: float, wait: float) -> None:
        words = ["0", str(chunks), str(pause), str(wait)]
        self._argv = [sys.executable, "-m", "sweeper.testing.model_server", *words]
        self._folder = folder

    async def __aenter__(self) -> _Setup:
        self._server = await asyncio.create_subprocess_exec(*self._argv, stdout=subprocess.PIPE)
        assert self._server.stdout is not None
        self.url = (await self._server.stdout.readline()).decode().strip()
        budget = Budget(LimitsConfig(usd_per_fire=10_000, usd_per_day=10_000))
        provider = Provider("anthropic", self.url, KEY, Protocol.ANTHROPIC)
        self.gateway = Gateway([provider], budget, folder=self._folder, slots=MANY)
        await self.gateway.start()
        self._doors: list[Door] = [
            await self.gateway.open(f"bench{number}", provider="anthropic", models=[MODEL], micro_usd=None)
            for number in range(MANY // EACH)
        ]
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.gateway.aclose()
        self._server.terminate()
        await self._server.wait()

    async def direct(self, what: str) -> dict[str, float]:
        return await _client(what, self.url, KEY, "")

    async def through(self, what: str) -> dict[str, float]:
        doors = self._doors[:1] if what == "rate" else self._doors  # every agent has a door of its own
        tokens, sockets = (
            ",".join(map(str, each)) for each in zip(*((door.token, door.socket) for door in doors), strict=True)
        )
        return await _client(what, "http://localhost", tokens, sockets)


async def _client(what: str, url: str, token: str, socket: str) -> dict[str, float]:
    argv = [sys.executable, "-m", "bench.gateway", what, url, token, socket]
    process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE)
    printed, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the client ended with {process.returncode}")
    values: dict[str, float] = json.loads(printed)
    return values


def _resident() -> int:
    """Bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


# --- the calls, in a process of their own ---


async def _calls(what: str, url: str, token: str, socket: str) -> dict[str, float]:
    """`token` and `socket` of "many" and "first": those of all doors, with commas between."""
    if what == "many":
        doors = zip(token.split(","), socket.split(","), strict=True)
        found = await asyncio.gather(*(_calls("each", url, *door) for door in doors))
        return {"first": statistics.median(each["first"] for each in found)}
    if what == "first":
        doors = zip((token.split(",") * STREAMS)[:STREAMS], (socket.split(",") * STREAMS)[:STREAMS], strict=True)

        async def stream(number: int, door: tuple[str, str]) -> dict[str, float]:
            await asyncio.sleep(number * SHORT[0] * SHORT[1] / STREAMS)  # agents don't start in one moment
            return await _calls("stream", url, *door)

        found = await asyncio.gather(*(stream(number, door) for number, door in enumerate(doors)))
        return {"first": statistics.median(each["first"] for each in found)}
    connector = aiohttp.UnixConnector(socket, limit=0) if socket else aiohttp.TCPConnector(limit=0)
    body = {"model": MODEL, "max_tokens": 2000, "messages": [{"role": "user", "content": "x" * 4000}]}
    headers = {"x-api-key": token}
    async with aiohttp.ClientSession(connector=connector) as session:

        async def whole() -> None:
            async with session.post(url + PATH, json=body, headers=headers) as answer:
                assert answer.status == 200, await answer.text()
                await answer.read()

        async def first_byte() -> float:
            began = time.perf_counter()
            async with session.post(url + PATH, json=body | {"stream": True}, headers=headers) as answer:
                assert answer.status == 200, await answer.text()
                await answer.content.readany()
                seconds = time.perf_counter() - began
                await answer.read()
                return seconds

        if what == "rate":
            await _many(whole, AT_ONCE, AT_ONCE)
            began = time.perf_counter()
            await _many(whole, AT_ONCE, CALLS)
            return {"rate": CALLS / (time.perf_counter() - began)}
        if what == "each":
            return {"first": statistics.median(await asyncio.gather(*(first_byte() for _ in range(EACH))))}
        return {"first": statistics.median([await first_byte() for _ in range(STREAMS_EACH)])}


async def _many(call: Callable[[], Awaitable[None]], at_once: int, calls: int) -> None:
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await call()

    await asyncio.gather(*(worker() for _ in range(at_once)))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_calls(*sys.argv[1:]))))
