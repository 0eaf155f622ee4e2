"""Who calls, and for what: nothing but this attempt's models, by the paths of its provider's protocol."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import aiohttp
from aiohttp import web

from sweeper.gateway.caller import Caller
from sweeper.gateway.contract import Protocol, Try
from sweeper.gateway.exchange import Call, Exchange, says
from sweeper.gateway.routes import Route, find, speaks
from sweeper.gateway.screen import kept_there, screen

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "gateway"})


class Admission:
    """Lets calls through to `exchange`, or refuses and counts them.

    `callers`: those with an open door. `hosts`: the names that the gateway is reached by. `strangers`: what was
    refused at the shared address without a token of ours.
    """

    def __init__(self, callers: Mapping[str, Caller], exchange: Exchange) -> None:
        self._callers, self._exchange = callers, exchange
        self.hosts = LOOPBACK
        self.strangers: Counter[str] = Counter()

    async def handle(self, owner: Caller | None, request: web.BaseRequest) -> web.StreamResponse:
        route = find(request.path) or Route(request.path, speaks(request.path), "")
        try:
            return await self._admit(owner, route, request)
        except Exception as error:  # said without its words, which may quote the request
            return says(route, 500, f"an internal error ({type(error).__name__})", "internal")

    async def _admit(self, owner: Caller | None, route: Route, request: web.BaseRequest) -> web.StreamResponse:
        """Who calls, and for what."""
        if request.method == "HEAD":
            return web.Response()
        if "upgrade" in request.headers:
            return says(route, 426, "only HTTP with event streams is offered here", "upgrade")
        caller = self._caller(owner, request)
        if request.raw_path[:1] != "/" or _host(request) not in self.hosts:
            return self._no(owner, route, Try.HOST, 403, "another host is not reached from here")
        if caller is None:
            return self._no(owner, route, Try.TOKEN, 401, "not this attempt's token")
        if request.method == "GET" and request.path in ("/v1/models", "/v1beta/models"):
            return _models(caller)
        if request.method != "POST" or not route.kind or route.protocol is not caller.provider.protocol:
            return self._no(caller, route, Try.PATH, 404, "this path is not offered")
        task = asyncio.current_task()
        assert task is not None
        caller.tasks.add(task)
        try:
            return await self._call(caller, route, request)
        finally:
            caller.tasks.discard(task)

    async def _call(self, caller: Caller, route: Route, request: web.BaseRequest) -> web.StreamResponse:
        try:
            raw = await request.read()
            body = json.loads(raw)
        except web.HTTPRequestEntityTooLarge:
            return self._no(caller, route, Try.BODY, 413, "the request is too large")
        except (ValueError, RecursionError, web.HTTPException, aiohttp.ClientError):
            body, raw = None, b""
        if not isinstance(body, dict):
            return self._no(caller, route, Try.BODY, 400, "the request is not a JSON object")
        model = route.model or body.get("model")
        if not isinstance(model, str) or model not in caller.models:
            return self._no(caller, route, Try.MODEL, 400, f"this attempt has no such model; {_names(caller)}")
        if option := kept_there(body):
            return self._no(caller, route, Try.BODY, 400, f"{option} is not offered: send the whole input")
        caller.refused.update(screen(route, body))
        if route.kind == "chat" and body.get("stream"):  # else the provider doesn't say what it used
            options = body.get("stream_options")
            body["stream_options"] = (options if isinstance(options, dict) else {}) | {"include_usage": True}
        return await self._exchange.serve(Call(caller, route, model, body, len(raw), request))

    def _caller(self, owner: Caller | None, request: web.BaseRequest) -> Caller | None:
        token = _token(request)
        if owner is not None:
            return owner if owner.holds(token) else None
        return next((caller for caller in self._callers.values() if caller.holds(token)), None)

    def _no(self, caller: Caller | None, route: Route, what: Try, status: int, message: str) -> web.Response:
        if caller is None:
            self.strangers[what] += 1
        else:
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
