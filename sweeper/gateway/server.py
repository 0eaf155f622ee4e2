"""The gateway of one fire: it holds the keys, and one door for each attempt.

Every attempt has a unix socket of its own, so that whoever calls there is known even with somebody else's token.
Nothing of a request or an answer is logged.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import random
import secrets
import shutil
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp
from aiohttp import web

from sweeper.budget import Budget
from sweeper.errors import ConfigError, SweeperError
from sweeper.gateway.admission import Admission
from sweeper.gateway.caller import Caller
from sweeper.gateway.contract import Door, Meter, Provider
from sweeper.gateway.crowd import Crowd
from sweeper.gateway.egress import Egress
from sweeper.gateway.exchange import CONNECT_SECONDS, Exchange, proxy_for
from sweeper.gateway.prices import Prices
from sweeper.gateway.spending import Account, NoRoom, Spending
from sweeper.gateway.throttle import Throttle
from sweeper.receipts import Receipt
from sweeper.redact import Redactor
from sweeper.sandbox.contract import SANDBOX_UID

SOCKET = "gateway.sock"
LONGEST_SOCKET = 100  # bytes; the kernel's limit is 107, and 103 on macOS
LARGEST_REQUEST = 32 << 20
PATIENCE = 60.0  # seconds; a wait that is longer parks the unit
CLOSING_SECONDS = 5.0

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
        self._listeners: dict[str, tuple[asyncio.Server, web.Server | Egress, Path]] = {}
        self._session: aiohttp.ClientSession | None = None
        self._admission: Admission | None = None

    async def start(self) -> None:
        """Ready for `open`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.geteuid() == 0:  # what starts a sandbox is its user already when it looks for the socket
            self._folder.chmod(0o711)
        await asyncio.to_thread(self._prices.load)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        exchange = Exchange(
            self._session, Spending(self._budget), self._prices, self._throttle, self._redactor, self._clock
        )
        self._admission = Admission(exchange)

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
        receipt: Path | None = None,
    ) -> Door:
        """A door for `attempt` (an id of the caller's, open once at a time) to `models` of one provider.

        `micro_usd`, `tokens`: its caps; None: only the fire's and the day's. `deadline`: epoch seconds. `patience`:
        seconds that it can wait in silence for the provider. `receipt`: a file that keeps what its calls cost. Raises
        ConfigError as `require`.
        """
        self.require(provider, models, tokens=tokens)
        caller = Caller(
            attempt=attempt,
            token=f"sk-sweeper-{secrets.token_urlsafe(24)}",
            provider=self._provider(provider),
            models=frozenset(models),
            account=Account(micro_usd, tokens, receipt=Receipt(receipt) if receipt else None),
            deadline=deadline,
            patience=patience,
        )
        return await self._opened(caller, self._server(caller))

    async def tunnel(
        self, attempt: str, *, provider: str, hosts: Collection[str], micro_usd: int, receipt: Path | None = None
    ) -> Door | NoRoom:
        """A door for `attempt` to `hosts` ("host:port") alone, by CONNECT; its token is the provider's real key.

        Nobody can meter what passes: the attempt is charged `micro_usd` at once, or there is no room for it.
        """
        caller = Caller(
            attempt=attempt,
            token=self._provider(provider).key,
            provider=self._provider(provider),
            models=frozenset(),
            account=Account(micro_usd, None, receipt=Receipt(receipt) if receipt else None),
            deadline=math.inf,
            patience=0.0,
        )
        if isinstance(refused := Spending(self._budget).charge(caller.account, micro_usd), NoRoom):
            caller.over()
            return refused
        return await self._opened(caller, Egress(caller, hosts, proxy_for))

    async def _opened(self, caller: Caller, server: web.Server | Egress) -> Door:
        if caller.attempt in self._callers:
            caller.over()
            raise ValueError(f"attempt {caller.attempt} has an open door")
        self._callers[caller.attempt] = caller
        try:
            socket = await self._listen(caller, server)
        except BaseException:
            del self._callers[caller.attempt]
            caller.over()
            raise
        return Door(caller.attempt, caller.token, socket)

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
        caller.over()
        return caller.meter()

    async def aclose(self) -> None:
        """Close every door. Safe to call twice."""
        for attempt in list(self._callers):
            await self.close(attempt)
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

    async def _listen(self, caller: Caller, server: web.Server | Egress) -> Path:
        folder = self._folder / secrets.token_hex(6)
        path = folder / SOCKET
        if len(os.fsencode(path)) > LONGEST_SOCKET:
            raise SweeperError(
                f"the path of the gateway's socket is too long: {path}", hint="a folder with a shorter path, below /tmp"
            )
        folder.mkdir(mode=0o700)
        listener = await asyncio.get_running_loop().create_unix_server(Crowd(server), str(path), backlog=128)
        path.chmod(0o600)
        if os.geteuid() == 0:  # then the sandbox has another uid than we
            os.chown(path, SANDBOX_UID, SANDBOX_UID)
            os.chown(folder, SANDBOX_UID, SANDBOX_UID)
        self._listeners[caller.attempt] = (listener, server, folder)
        return path

    def _server(self, caller: Caller) -> web.Server:
        assert self._admission is not None, "start() comes first"
        loop = asyncio.get_running_loop()

        def request(*parts: Any) -> web.BaseRequest:
            message, payload, protocol, writer, task = parts
            return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=LARGEST_REQUEST)

        return web.Server(
            partial(self._admission.handle, caller),
            request_factory=request,
            handler_cancellation=True,
            logger=_SILENT,
            access_log=None,
            auto_decompress=False,  # a small body may be an endless one
        )
