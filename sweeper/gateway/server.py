"""The gateway of one fire: it holds the keys, and one door for each attempt.

Every attempt has a unix socket of its own, so that whoever calls there is known even with somebody else's token. Nothing
of a request or an answer is logged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import random
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp
from aiohttp import web

from sweeper.budget import Budget
from sweeper.errors import ConfigError, SweeperError
from sweeper.gateway.caller import Caller
from sweeper.gateway.contract import Door, Meter, Protocol, Provider, Try
from sweeper.gateway.exchange import CONNECT_SECONDS, Call, Exchange, says
from sweeper.gateway.prices import Prices
from sweeper.gateway.routes import Route, find, speaks
from sweeper.gateway.screen import kept_there, screen
from sweeper.gateway.spending import Account, Spending
from sweeper.gateway.throttle import Throttle
from sweeper.redact import Redactor
from sweeper.sandbox.contract import SANDBOX_UID

SOCKET = "gateway.sock"
LONGEST_SOCKET = 100  # bytes; the kernel's limit is 107, and 103 on macOS
LARGEST_REQUEST = 32 << 20
PATIENCE = 60.0  # seconds; a wait that is longer parks the unit
CLOSING_SECONDS = 5.0
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "gateway"})

_SILENT = logging.getLogger("sweeper.gateway.silent")
_SILENT.disabled = True


def jitter(wait: float) -> float:
    """Seconds on top of a wait, so that not all come back at once."""
    return random.uniform(0.05, 0.25 + 0.1 * wait)


class Gateway:
    """`budget`: the fire's. `folder`: short, ours alone. `slots`: calls at once per credential and model.

    Raises ConfigError for two providers of one name.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        budget: Budget,
        *,
        folder: Path,
        slots: int = 4,
        clock: Callable[[], float] = time.time,
        jitter: Callable[[float], float] = jitter,
    ) -> None:
        self._providers = {provider.name: provider for provider in providers}
        if len(self._providers) != len(providers):
            raise ConfigError("two providers have the same name", hint="name each provider once")
        self._budget, self._folder, self._slots = budget, folder, slots
        self._clock, self._jitter = clock, jitter
        self._prices = Prices()
        self._redactor = Redactor([provider.key for provider in providers])
        self._throttles: dict[tuple[str, str], Throttle] = {}
        self._callers: dict[str, Caller] = {}
        self._listeners: dict[str, tuple[asyncio.Server, web.Server[web.BaseRequest], Path]] = {}
        self._shared: tuple[asyncio.Server, web.Server[web.BaseRequest]] | None = None
        self._address: tuple[str, int] | None = None
        self._hosts = LOOPBACK
        self._session: aiohttp.ClientSession | None = None
        self._exchange: Exchange | None = None
        self.strangers: Counter[str] = Counter()  # refused at the shared address without a token of ours

    async def start(self, address: tuple[str, int] | None = None, names: Collection[str] = ()) -> None:
        """Ready for `open`. `address`: listen there too, for sandboxes that reach it by one of `names`."""
        self._folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=True,
        )
        self._exchange = Exchange(
            self._session, Spending(self._budget), self._prices, self._throttle, self._redactor, self._clock
        )
        if address is not None:
            server = self._server(None)
            listener = await asyncio.get_running_loop().create_server(server, *address, backlog=512)
            host, port = listener.sockets[0].getsockname()[:2]
            self._shared, self._address = (listener, server), (host, port)
            self._hosts = LOOPBACK | {host, *names}

    async def __aenter__(self) -> Gateway:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        await self.aclose()

    def require(self, provider: str, models: Collection[str], *, tokens: int | None) -> None:
        """Raises ConfigError for an unknown provider, or a model without a price whose tokens aren't capped."""
        for model in models:
            self._prices.require(self._provider(provider), model, tokens=tokens)

    async def open(
        self,
        attempt: str,
        *,
        provider: str,
        models: Collection[str],
        micro_usd: int | None,
        tokens: int | None = None,
        deadline: float = math.inf,
        patience: float = PATIENCE,
    ) -> Door:
        """A door for `attempt` (an id of the caller's, open once at a time) to `models` of one provider.

        `micro_usd`, `tokens`: its caps; None: only the fire's and the day's. `deadline`: epoch seconds. `patience`:
        seconds that it can wait in silence for the provider. Raises ConfigError as `require`.
        """
        self.require(provider, models, tokens=tokens)
        if attempt in self._callers:
            raise ValueError(f"attempt {attempt} has an open door")
        caller = Caller(
            attempt=attempt,
            token=f"sk-sweeper-{secrets.token_urlsafe(24)}",
            provider=self._provider(provider),
            models=frozenset(models),
            account=Account(micro_usd, tokens),
            deadline=deadline,
            patience=patience,
        )
        self._callers[attempt] = caller
        try:
            socket = await self._listen(caller)
        except BaseException:
            del self._callers[attempt]
            raise
        return Door(attempt, caller.token, socket, self._address)

    def meter(self, attempt: str) -> Meter:
        """What `attempt` used so far. Raises KeyError for one without an open door."""
        return self._callers[attempt].meter()

    async def close(self, attempt: str) -> Meter:
        """End the attempt's calls, settle them and close its door. Raises KeyError for one without an open door."""
        caller = self._callers.pop(attempt)
        listener, server, folder = self._listeners.pop(attempt)
        listener.close()
        tasks = set(caller.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
        await server.shutdown(0.01)
        shutil.rmtree(folder, ignore_errors=True)
        return caller.meter()

    async def aclose(self) -> None:
        """Close every door and the address. Safe to call twice."""
        for attempt in list(self._callers):
            await self.close(attempt)
        if self._shared is not None:
            self._shared[0].close()
            await self._shared[1].shutdown(0.01)
            self._shared = None
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _provider(self, name: str) -> Provider:
        try:
            return self._providers[name]
        except KeyError:
            raise ConfigError(
                f"no key for provider {name!r}", hint=f"known here: {', '.join(sorted(self._providers)) or 'none'}"
            ) from None

    def _throttle(self, provider: Provider, model: str) -> Throttle:
        key = (provider.name, model)
        if key not in self._throttles:
            self._throttles[key] = Throttle(self._slots, self._clock, self._jitter)
        return self._throttles[key]

    async def _listen(self, caller: Caller) -> Path:
        folder = self._folder / secrets.token_hex(6)
        path = folder / SOCKET
        if len(os.fsencode(path)) > LONGEST_SOCKET:
            raise SweeperError(
                f"the path of the gateway's socket is too long: {path}", hint="a folder with a shorter path, below /tmp"
            )
        server = self._server(caller)
        folder.mkdir(mode=0o700)
        listener = await asyncio.get_running_loop().create_unix_server(server, str(path), backlog=128)
        path.chmod(0o600)
        if os.geteuid() == 0:  # then the sandbox has another uid than we
            os.chown(path, SANDBOX_UID, SANDBOX_UID)
            os.chown(folder, SANDBOX_UID, SANDBOX_UID)
        self._listeners[caller.attempt] = (listener, server, folder)
        return path

    def _server(self, caller: Caller | None) -> web.Server[web.BaseRequest]:
        loop = asyncio.get_running_loop()

        def request(*parts: Any) -> web.BaseRequest:
            return web.BaseRequest(*parts, loop, client_max_size=LARGEST_REQUEST)

        return web.Server(
            partial(self._handle, caller),
            request_factory=request,
            handler_cancellation=True,
            logger=_SILENT,
            access_log=None,
        )

    async def _handle(self, owner: Caller | None, request: web.BaseRequest) -> web.StreamResponse:
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
        if request.raw_path[:1] != "/" or _host(request) not in self._hosts:
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
        assert self._exchange is not None, "start() comes first"
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
    return given or (bearer.strip() if scheme.lower() == "bearer" else "") or request.rel_url.query.get("key", "")


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
