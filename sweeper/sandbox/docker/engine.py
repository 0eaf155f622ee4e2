"""Talking to a docker engine: calls in threads, failures told apart, an outage waited out.

Two clients, because a stream holds its connection for as long as a sandbox runs and must never starve a kill or a
remove. A call that finds the engine gone waits, with all others, until it answers again; what was in flight is then
looked at again by whoever started it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from typing import Any, ParamSpec, TypeVar

import anyio
import anyio.to_thread
import docker.errors
import requests.exceptions
import urllib3.exceptions
from docker import APIClient

from sweeper.errors import SandboxFailed
from sweeper.sandbox.docker.endpoint import Endpoint

P = ParamSpec("P")
T = TypeVar("T")

CALL_TIMEOUT = 60.0
CALL_TRIES = 5
# What a broken connection looks like, depending on where in a call it breaks.
BROKEN = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, HTTPException, OSError)
PATIENCE = 120.0
NO_SPACE = ("no space left on device", "disk quota exceeded")
PULL_LIMIT = ("toomanyrequests", "too many requests", "pull rate limit")
SHORT_OF_RESOURCES = (
    "non-overlapping ipv4 address pool",
    "could not find an available",
    "cannot allocate memory",
    "resource temporarily unavailable",
    "too many open files",
    "no free loop",
)


class Missing(SandboxFailed):
    """The engine does not know what was asked for (any more)."""


class Conflict(SandboxFailed):
    """What was asked for does not fit the state of things: a name is taken, a container is not running."""


class EngineRestarted(Exception):
    """The engine was away while this call was under way, and answers again: look before trying again."""


class Engine:
    """One docker engine. `patience`: seconds to wait for one that has gone away; `timeout`: seconds per call."""

    def __init__(
        self, endpoint: Endpoint, *, slots: int, timeout: float = CALL_TIMEOUT, patience: float = PATIENCE
    ) -> None:
        self.endpoint = endpoint
        self.outages = 0
        self._patience = patience
        self._timeout = timeout
        self._pool = 2 * slots + 8
        self._clients: tuple[APIClient, APIClient] | None = None
        self._calls = anyio.CapacityLimiter(self._pool)
        self._streams = anyio.CapacityLimiter(self._pool)
        self._recovering = anyio.Lock()
        self._connecting = anyio.Lock()

    @property
    def control(self) -> APIClient:
        """For short calls. Only after `connect`."""
        assert self._clients is not None
        return self._clients[0]

    @property
    def streams(self) -> APIClient:
        """For attach, wait, build and archives. Only after `connect`."""
        assert self._clients is not None
        return self._clients[1]

    def _client(self) -> APIClient:
        """A client after a first answer of the engine, which also settles the API version."""
        return APIClient(
            base_url=self.endpoint.url,
            version="auto",
            timeout=self._timeout,  # type: ignore[arg-type]  # the stubs know whole seconds only
            tls=self.endpoint.tls or False,
            max_pool_size=self._pool,
            use_ssh_client=self.endpoint.url.startswith("ssh://"),
        )

    async def connect(self) -> None:
        """Raises SandboxFailed (final) with the address and what named it if no engine answers there."""
        async with self._connecting:
            if self._clients is not None:
                return
            try:
                self._clients = (
                    await anyio.to_thread.run_sync(self._client, limiter=self._calls),
                    await anyio.to_thread.run_sync(self._client, limiter=self._calls),
                )
            except (docker.errors.DockerException, *BROKEN) as problem:
                raise unreachable(self.endpoint, problem) from problem

    async def call(self, doing: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run one API call that may be repeated safely. Raises SandboxFailed, Missing and Conflict among them."""
        for _ in range(CALL_TRIES):
            try:
                return await self.once(doing, function, *args, **kwargs)
            except EngineRestarted as problem:
                last = problem
        raise SandboxFailed(
            f"docker could not {doing}: the connection broke {CALL_TRIES} times: {last.__cause__}",
            retryable=True,
            may_have_run=True,
        )

    async def once(self, doing: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `call`, but after an outage raises EngineRestarted instead of repeating the call."""
        before = self.outages
        try:
            return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), limiter=self._calls)
        except docker.errors.APIError as problem:
            raise failure(problem, doing) from problem
        except BROKEN as problem:
            if timed_out(problem):
                raise failure(problem, doing) from problem
            await self.recover(before, problem)
            raise EngineRestarted from problem

    async def stream(self, function: Callable[[], T]) -> T:
        """Run something long in a thread of its own; when cancelled the thread is left to end by itself."""
        return await anyio.to_thread.run_sync(function, limiter=self._streams, abandon_on_cancel=True)

    async def work(self, function: Callable[[], T]) -> T:
        """Blocking work on this machine's disk, in a thread, and to its end even when cancelled."""
        return await anyio.to_thread.run_sync(function, limiter=self._streams)

    async def recover(self, seen_outages: int, problem: Exception) -> None:
        """Wait until the engine answers again. Raises SandboxFailed (final) when patience ends."""
        async with self._recovering:
            if self.outages != seen_outages:
                return  # another call has waited for the same outage
            delay = 0.1
            with anyio.move_on_after(self._patience):
                while not await self._answers():
                    await anyio.sleep(delay)
                    delay = min(2 * delay, 5.0)
                self.outages += 1
                return
            raise SandboxFailed(
                f"the docker engine at {self.endpoint.url} has not answered for {self._patience:g} s: {problem}",
                hint="start it again, then `sweeper resume`",
            ) from problem

    async def _answers(self) -> bool:
        with contextlib.suppress(docker.errors.DockerException, *BROKEN):
            return bool(await anyio.to_thread.run_sync(self.control.ping, limiter=self._calls, abandon_on_cancel=True))
        return False

    async def info(self) -> dict[str, Any]:
        return dict(await self.call("ask the engine for its properties", self.control.info))

    def close(self) -> None:
        for client in self._clients or ():
            client.close()
        self._clients = None


def timed_out(problem: BaseException) -> bool:
    """The engine did not answer in time, so what was asked for may happen yet."""
    seen: BaseException | None = problem
    while seen is not None:
        if isinstance(seen, requests.exceptions.ReadTimeout | urllib3.exceptions.ReadTimeoutError | TimeoutError):
            return True
        seen = seen.__cause__ or seen.__context__
    return "Read timed out" in str(problem)


def unreachable(endpoint: Endpoint, problem: Exception) -> SandboxFailed:
    text = str(problem)
    hint = "start the engine, or point DOCKER_HOST or the docker context to one that runs"
    if "Permission denied" in text:
        hint = "add yourself to the socket's group (`usermod -aG docker USER`, then log in again)"
    tried = "; ".join([*endpoint.tried, f"{endpoint.source}: {endpoint.url}"])
    return SandboxFailed(f"no docker engine answers at {endpoint.url}: {text} (tried: {tried})", hint=hint)


def failure(problem: Exception, doing: str) -> SandboxFailed:
    """An engine's error as what it means for the run: try again, look first, or end."""
    said = str(getattr(problem, "explanation", "") or problem)
    lower = said.lower()
    what = f"docker could not {doing}: {said}"
    if timed_out(problem):
        return SandboxFailed(what, retryable=True, may_have_run=True)
    if any(sign in lower for sign in NO_SPACE):
        return SandboxFailed(what, hint="free space for the engine: `docker system df`, `docker system prune`")
    status = getattr(problem, "status_code", None)
    if status in (404, 409):
        return (Missing if status == 404 else Conflict)(what, retryable=True, may_have_run=True)
    if status == 429 or any(sign in lower for sign in PULL_LIMIT):
        return SandboxFailed(what, hint="the registry limits pulls: `docker login`, or wait; it is not asked again")
    if any(sign in lower for sign in SHORT_OF_RESOURCES):
        return SandboxFailed(what, hint="use fewer slots, or free the engine's resources", retryable=True)
    retryable = status is None or status in (408, 500, 502, 503, 504)
    return SandboxFailed(what, retryable=retryable)
