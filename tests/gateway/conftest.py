"""A gateway before a scripted model server, and the ways in."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sweeper.budget import Budget
from sweeper.config.models import LimitsConfig
from sweeper.gateway import Door, Gateway, Protocol, Provider
from sweeper.testing.model_script import Script
from sweeper.testing.model_server import ModelServer

KEY = "sk-real-0123456789abcdefghijklmnopqrstuvwxyz"
MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5.5", "google": "gemini-2.5-pro"}
PROTOCOLS = {"anthropic": Protocol.ANTHROPIC, "openai": Protocol.OPENAI, "google": Protocol.GEMINI}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for a unix socket's path."""
    with tempfile.TemporaryDirectory(prefix="gw", dir="/tmp") as name:
        yield Path(name)


@dataclass(frozen=True)
class Answered:
    status: int
    body: bytes
    headers: dict[str, str]


class Agent:
    """What an agent program does: calls by its door, with its token."""

    def __init__(self, session: aiohttp.ClientSession, door: Door) -> None:
        self.session, self.door = session, door

    async def post(self, path: str, body: Any, **more: Any) -> Answered:
        headers = {"authorization": f"Bearer {self.door.token}"} | more.pop("headers", {})
        async with self.session.post(f"http://localhost{path}", json=body, headers=headers, **more) as answer:
            return Answered(answer.status, await answer.read(), dict(answer.headers))


@contextlib.asynccontextmanager
async def agent_at(door: Door) -> AsyncIterator[Agent]:
    connector = aiohttp.UnixConnector(str(door.socket), limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Agent(session, door)


@contextlib.asynccontextmanager
async def gateway_before(
    script: Script,
    folder: Path,
    *,
    fire_usd: float = 100.0,
    slots: int = 16,
    **more: Any,
) -> AsyncIterator[tuple[Gateway, ModelServer, Budget]]:
    budget = Budget(LimitsConfig(usd_per_fire=fire_usd, usd_per_day=1000.0))
    async with ModelServer(script, keys=frozenset({KEY})) as server:
        providers = [Provider(name, server.url, KEY, protocol) for name, protocol in PROTOCOLS.items()]
        gateway = Gateway(providers, budget, folder=folder, slots=slots, **more)
        await gateway.start()
        try:
            yield gateway, server, budget
        finally:
            await gateway.aclose()


def asking(kind: str, *, stream: bool = False, text: str = "Fix it.", limit: int | None = 2000, **more: Any) -> Any:
    """The path and the body of one request in a protocol."""
    if kind == "messages":
        body: dict[str, Any] = {"model": MODELS["anthropic"], "messages": [{"role": "user", "content": text}]}
        body |= {"max_tokens": limit} if limit else {}
        return "/v1/messages?beta=true", body | ({"stream": True} if stream else {}) | more
    if kind == "chat":
        body = {"model": MODELS["openai"], "messages": [{"role": "user", "content": text}]}
        body |= {"max_completion_tokens": limit} if limit else {}
        return "/v1/chat/completions", body | ({"stream": True} if stream else {}) | more
    if kind == "responses":
        body = {
            "model": MODELS["openai"],
            "input": [{"role": "user", "content": [{"type": "input_text", "text": text}]}],
        }
        body |= {"max_output_tokens": limit} if limit else {}
        return "/v1/responses", body | ({"stream": True} if stream else {}) | more
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    body |= {"generationConfig": {"maxOutputTokens": limit}} if limit else {}
    call = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/models/{MODELS['google']}:{call}", body | more


PROVIDER_OF = {"messages": "anthropic", "chat": "openai", "responses": "openai", "generate": "google"}


async def door_for(gateway: Gateway, kind: str, attempt: str = "a", **more: Any) -> Door:
    provider = PROVIDER_OF[kind]
    more.setdefault("micro_usd", 5_000_000)
    return await gateway.open(attempt, provider=provider, models=[MODELS[provider]], **more)
