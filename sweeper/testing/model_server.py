"""The scripted model server: Anthropic Messages, OpenAI chat and responses, Gemini, without a model.

    async with ModelServer(fixing("src/a.py", "import os\\n", "")) as server:
        ... an agent program with server.url as its model's address ...
    assert server.counted["the-key"].output == 123

It stands behind the real agent programs in tests. What it counts per key is the truth that a meter is held against.
Tokens are a quarter of the bytes that came or went, an answer is no longer than the request allows. In another process:
`python -m sweeper.testing.model_server PORT CHUNKS PAUSE WAIT` says a text of 400 tokens to everybody (`Say`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from sweeper.testing.model_requests import failure, failure_within, limit_of, said_of, tools_of, wants_usage
from sweeper.testing.model_script import (
    Asked,
    Do,
    Edit,
    Fail,
    Hang,
    Page,
    Reply,
    Say,
    Script,
    Write,
    as_blocks,
    call_for,
)
from sweeper.testing.model_wire import Answer, Counted, as_event, events, uncounted, uncounted_event, whole

PATHS = (
    (re.compile(r"/v1/messages$"), "messages"),
    (re.compile(r"/chat/completions$"), "chat"),
    (re.compile(r"/responses$"), "responses"),
    (re.compile(r"/models/([^/:]+):(?:stream)?[gG]enerateContent$"), "generate"),
    (re.compile(r"/messages/count_tokens$|:countTokens$"), "count"),
)
LARGEST = 64 << 20
BYTES_PER_TOKEN = 4
FOR_EVER = 86_400.0


@dataclass
class Tally:
    """What the server counted for one key. `calls` were answered with tokens; `statuses`: every answer."""

    calls: int = 0
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    statuses: Counter[int] = field(default_factory=Counter)

    def add(self, counted: Counted) -> None:
        self.calls += 1
        self.input += counted.input
        self.cached += counted.cached
        self.written += counted.written
        self.output += counted.output


@dataclass(frozen=True)
class Seen:
    """One request that came: when (seconds since the start), with what, and the status it got (0: none)."""

    at: float
    path: str
    key: str
    headers: dict[str, str]
    asked: Asked | None
    body: dict[str, Any]
    status: int


class ModelServer:
    """`script` answers every request. `keys`: any other key gets 401. `keep`: remember bodies in `seen`."""

    def __init__(self, script: Script, *, keys: frozenset[str] | None = None, keep: bool = True) -> None:
        self.script, self.keys = script, keys
        self.counted: dict[str, Tally] = {}
        self.seen: list[Seen] = []
        self.url = ""
        self._keep = keep
        self._numbers: Counter[str] = Counter()
        self._began = time.monotonic()
        self._runner: web.AppRunner | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        app = web.Application(client_max_size=LARGEST)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, backlog=512)
        await site.start()
        assert site._server is not None
        self.url = "http://{}:{}".format(*self._runner.addresses[0][:2])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> ModelServer:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def tally(self, key: str) -> Tally:
        return self.counted.setdefault(key, Tally())

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        protocol, model = _protocol(request.path)
        key = _key(request)
        if request.method == "HEAD":
            return web.Response()
        if request.method == "GET" and request.path.endswith("/models"):
            return web.json_response({"object": "list", "data": [], "models": [], "has_more": False})
        if "upgrade" in request.headers:
            return web.json_response({"error": {"message": "no websocket here"}}, status=426)
        raw = await request.read()
        body = json.loads(raw or b"{}")
        if not protocol or request.method != "POST":
            return self._refuse(request, key, None, body, Fail(404, "not_found_error", request.path))
        if self.keys is not None and key not in self.keys:
            return self._refuse(request, key, None, body, Fail(401, "authentication_error", f"invalid key {key}"))
        if protocol == "count":
            self._note(request, key, None, body, 200)
            return web.json_response({"input_tokens": len(raw) // 4, "totalTokens": len(raw) // 4})
        self._numbers[key] += 1
        text, results = said_of(protocol, body)
        asked = Asked(
            protocol=protocol,
            model=model or str(body.get("model")),
            key=key,
            text=text,
            tools=tools_of(protocol, body),
            results=results,
            limit=limit_of(protocol, body),
            stream=bool(body.get("stream")) or ":stream" in request.path,
            size=len(raw),
            number=self._numbers[key],
            at=time.monotonic() - self._began,
        )
        return await self._answer(request, asked, body, self.script(asked))

    async def _answer(
        self, request: web.Request, asked: Asked, body: dict[str, Any], reply: Reply
    ) -> web.StreamResponse:
        if isinstance(reply, Hang):
            self._note(request, asked.key, asked, body, 0)
            await asyncio.sleep(FOR_EVER)
        if isinstance(reply, Fail):
            return self._refuse(request, asked.key, asked, body, reply)
        if isinstance(reply, Page):
            self._note(request, asked.key, asked, body, reply.status)
            return web.Response(text=reply.body, content_type=reply.content_type, status=reply.status)
        assert isinstance(reply, (Say, Do))
        say = reply if isinstance(reply, Say) else Say("", usage=reply.usage)
        answer = compose(asked, reply)
        self._note(request, asked.key, asked, body, 200)
        await asyncio.sleep(reply.wait)
        if not asked.stream:
            if say.ending == "error":
                return web.json_response(failure_within(asked.protocol, say.kind))
            if say.ending != "whole":
                await self._drop(request, say)
            self.tally(asked.key).add(answer.counted)
            value = whole(asked.protocol, answer)
            return web.json_response(value if say.usage else uncounted(value))
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "request-id": "req_scripted"})
        await response.prepare(request)
        # before the last byte goes out: whoever has it may look at the tally at once
        self.tally(asked.key).add(answer.counted)
        parts = list(events(asked.protocol, answer, with_usage=wants_usage(body)))
        if say.ending != "whole":
            parts = parts[: len(parts) // 2 + 1] if len(parts) > 2 else parts[:1]
        if not say.usage:
            parts = [uncounted_event(part) for part in parts]
        if say.ending == "error":
            error = failure_within(asked.protocol, say.kind)
            parts = [*(parts if say.text else []), as_event(error, named="type" in error)]
        for part in parts:
            await response.write(part)
            if say.pause:
                await asyncio.sleep(say.pause)
        if say.ending in ("cut", "stall"):
            await self._drop(request, say)
        await response.write_eof()
        return response

    async def _drop(self, request: web.Request, say: Say) -> None:
        if say.ending == "stall":
            await asyncio.sleep(FOR_EVER)
        if request.transport is not None:
            request.transport.close()
        raise asyncio.CancelledError

    def _refuse(
        self, request: web.Request, key: str, asked: Asked | None, body: dict[str, Any], fail: Fail
    ) -> web.Response:
        self._note(request, key, asked, body, fail.status)
        headers = {"retry-after": fail.retry_after} if fail.retry_after else {}
        error = failure(_protocol(request.path)[0], fail.status, fail.kind, fail.message)
        return web.json_response(error, status=fail.status, headers=headers)

    def _note(self, request: web.Request, key: str, asked: Asked | None, body: dict[str, Any], status: int) -> None:
        self.tally(key).statuses[status] += 1
        if self._keep:
            at = asked.at if asked else time.monotonic() - self._began
            self.seen.append(Seen(at, request.path_qs, key, dict(request.headers), asked, body, status))


def compose(asked: Asked, reply: Say | Do) -> Answer:
    """The answer to `asked`: its tool calls with the agent's own tools, cut to the tokens that the request allows."""
    calls, text, stop, chunks = [], "", "end", 1
    if isinstance(reply, Say):
        text = "word" * reply.tokens if reply.tokens else reply.text
        stop, chunks = reply.stop, reply.chunks
    else:
        text = reply.text
        calls = [call for op in reply.ops if (call := call_for(op, asked.tools))]
        if reply.garbled:
            calls = [replace(call, arguments=json.dumps(call.arguments)[:-3]) for call in calls]
        if not calls:  # a side call, such as for a title; or an agent that takes edits as text
            edits = [op for op in reply.ops if isinstance(op, (Edit, Write))]
            text = "".join(map(as_blocks, edits)) if "SEARCH" in asked.text and edits else text or "ok"
    size = len(text) + sum(len(json.dumps(call.arguments)) for call in calls)
    output = -(-size // BYTES_PER_TOKEN)
    if output > asked.limit:
        output, text, calls, stop = asked.limit, text[: asked.limit * BYTES_PER_TOKEN], [], "limit"
    step = max(1, -(-len(text) // chunks))
    pieces = tuple(text[at : at + step] for at in range(0, len(text), step))
    total = -(-asked.size // BYTES_PER_TOKEN)
    cached = total // 2 if asked.results else 0
    written = total // 4 if asked.protocol == "messages" and not asked.results else 0
    counted = Counted(total - cached - written, cached, written, output)
    return Answer(asked.model, pieces, tuple(calls), "tools" if calls else stop, counted)


def _protocol(path: str) -> tuple[str, str]:
    for pattern, protocol in PATHS:
        if match := pattern.search(path):
            return protocol, match[1] if match.groups() else ""
    return "", ""


def _key(request: web.Request) -> str:
    bearer = request.headers.get("authorization", "").partition(" ")[2]
    headers = request.headers
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer or request.query.get("key", "")


@contextlib.contextmanager
def serving(script: Script, *, keys: frozenset[str] | None = None) -> Iterator[ModelServer]:
    """The server in a thread of its own, for whoever runs no event loop."""
    server, ready, loop = ModelServer(script, keys=keys), threading.Event(), asyncio.new_event_loop()

    def run() -> None:
        loop.run_until_complete(server.start())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(server.stop())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)


async def _main(port: str, chunks: str, pause: str, wait: str) -> None:
    say = Say(tokens=400, chunks=int(chunks), pause=float(pause), wait=float(wait))
    server = ModelServer(lambda asked: say, keep=False)
    await server.start(port=int(port))
    print(server.url, flush=True)
    await asyncio.sleep(FOR_EVER)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
