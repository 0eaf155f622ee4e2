"""Who calls, and for what: nothing but this attempt's models, by the paths of its provider's protocol."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import islice
from typing import Any

import aiohttp
from aiohttp import web

from sweeper.gateway.caller import Caller
from sweeper.gateway.contract import Protocol, Try
from sweeper.gateway.exchange import Call, Exchange, says
from sweeper.gateway.routes import Route, find, speaks
from sweeper.gateway.screen import kept_there, screen

MOST_PARTS = 500_000  # texts, lists and the like of one request; the longest conversation has some ten thousand
# A text without an end is all that is left, or each quote in it would be looked at anew.
PART = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "gateway"})


class Admission:
    """Lets calls through to `exchange`, or refuses and counts them."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def handle(self, caller: Caller, request: web.BaseRequest) -> web.StreamResponse:
        route = find(request.path) or Route(request.path, speaks(request.path), "")
        try:
            return await self._admit(caller, route, request)
        except Exception as error:  # said without its words, which may quote the request
            return says(route, 500, f"an internal error ({type(error).__name__})", "internal")

    async def _admit(self, caller: Caller, route: Route, request: web.BaseRequest) -> web.StreamResponse:
        """Who calls, and for what."""
        if request.method == "HEAD":
            return web.Response()
        if "upgrade" in request.headers:
            return says(route, 426, "only HTTP with event streams is offered here", "upgrade")
        if request.raw_path[:1] != "/" or _host(request) not in LOOPBACK:
            return _no(caller, route, Try.HOST, 403, "another host is not reached from here")
        if not caller.holds(_token(request)):
            return _no(caller, route, Try.TOKEN, 401, "not this attempt's token")
        if request.method == "GET" and request.path in ("/v1/models", "/v1beta/models"):
            return _models(caller)
        if request.method != "POST" or not route.kind or route.protocol is not caller.provider.protocol:
            return _no(caller, route, Try.PATH, 404, "this path is not offered")
        task = asyncio.current_task()
        assert task is not None
        caller.tasks.add(task)
        try:
            async with caller.calls:
                return await self._call(caller, route, request)
        finally:
            caller.tasks.discard(task)

    async def _call(self, caller: Caller, route: Route, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("content-encoding", "identity") != "identity":
            return _no(caller, route, Try.BODY, 415, "a compressed request is not offered here")
        try:
            raw = await request.read()
            body = json.loads(raw.decode()) if _is_modest(raw) else None
        except web.HTTPRequestEntityTooLarge:
            return _no(caller, route, Try.BODY, 413, "the request is too large")
        except (ValueError, RecursionError, web.HTTPException, aiohttp.ClientError):
            body, raw = None, b""
        if not isinstance(body, dict):
            return _no(caller, route, Try.BODY, 400, "the request is not a JSON object")
        model = route.model or body.get("model")
        if not isinstance(model, str) or model not in caller.models:
            return _no(caller, route, Try.MODEL, 400, f"this attempt has no such model; {_names(caller)}")
        if option := kept_there(body):
            return _no(caller, route, Try.BODY, 400, f"{option} is not offered: send the whole input")
        caller.refused.update(screen(route, body))
        if route.kind == "chat" and body.get("stream"):  # else the provider doesn't say what it used
            options = body.get("stream_options")
            body["stream_options"] = (options if isinstance(options, dict) else {}) | {"include_usage": True}
        return await self._exchange.serve(Call(caller, route, model, body, len(raw), request))


def _is_modest(raw: bytes) -> bool:
    """Whether a JSON text has so few parts that it can be parsed: an empty list of 3 bytes takes 64."""
    return next(islice(PART.finditer(raw), MOST_PARTS, None), None) is None


def _no(caller: Caller, route: Route, what: Try, status: int, message: str) -> web.Response:
    caller.refuse(what)
    return says(route, status, message, what)


def _token(request: web.BaseRequest) -> str:
    headers = request.headers
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = headers.get("x-api-key") or headers.get("x-goog-api-key") or headers.get("api-key")
    if not given and scheme.lower() == "bearer":
        given = bearer.strip()
    token: str = given or request.rel_url.query.get("key") or ""
    return token


def _host(request: web.BaseRequest) -> str:
    """The name in the Host header, without port and brackets."""
    name = request.headers.get("host", "localhost").strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _names(caller: Caller) -> str:
    return f"allowed: {', '.join(sorted(caller.models))}"


def _models(caller: Caller) -> web.Response:
    names = sorted(caller.models)
    body: dict[str, Any] = {"object": "list", "has_more": False}
    body["data"] = [{"id": name, "object": "model", "type": "model", "display_name": name} for name in names]
    if caller.provider.protocol is Protocol.GEMINI:
        body = {"models": [{"name": f"models/{name}"} for name in names]}
    return web.Response(body=json.dumps(body).encode(), content_type="application/json")
