"""One call's way to the provider and back: wait for its turn, reserve, forward, pass the answer on, settle."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp import web
from yarl import URL

from sweeper.gateway.caller import Caller
from sweeper.gateway.contract import Error, Parked, Provider
from sweeper.gateway.failures import kind_of, wait_of
from sweeper.gateway.limits import clamp, wanted
from sweeper.gateway.prices import Prices
from sweeper.gateway.routes import QUERY, Route, credential, error_body, upstream
from sweeper.gateway.spending import Ask, Hold, NoRoom, Spending
from sweeper.gateway.throttle import Pass, Throttle
from sweeper.gateway.usage import UsageReader
from sweeper.redact import Redactor

# Only what the protocols need passes, in both directions.
ASKED = frozenset({
    "accept", "anthropic-beta", "anthropic-version", "idempotency-key", "openai-beta", "user-agent",
    "x-goog-api-client",
})  # fmt: skip
ANSWERED = frozenset({"cache-control", "content-type", "openai-processing-ms", "request-id", "x-request-id"})
LARGEST_ANSWER = 64 << 20
LARGEST_ERROR = 1 << 20
CHUNK = 64 << 10
CONNECT_SECONDS = 30.0
STREAM_TYPE = "text/event-stream"
PASSES = frozenset({Error.RATE_LIMIT, Error.OVERLOADED})
TIMED_OUT_ON_THE_WAY = frozenset({504, 524})  # said by what stands before the provider, which may have answered
FINAL = 400  # the one status that every agent takes as final


class Busy(NamedTuple):
    """The provider refused for now; `wait`: seconds that it asks for, if it says."""

    wait: float | None


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an agent, screened. `size`: bytes that came."""

    caller: Caller
    route: Route
    model: str
    body: dict[str, Any] = field(repr=False)
    size: int
    request: web.BaseRequest = field(repr=False)

    def says(self, status: int, message: str, code: str) -> web.Response:
        return says(self.route, status, message, code)


def says(route: Route, status: int, message: str, code: str) -> web.Response:
    """Our own error, in the protocol's shape."""
    body = error_body(route.protocol, status, f"sweeper gateway: {message}", code)
    return web.Response(status=status, body=json.dumps(body).encode(), content_type="application/json")


class Exchange:
    """Forwards calls. `throttle_of(provider, model)` gives the shared gate."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        spending: Spending,
        prices: Prices,
        throttle_of: Callable[[Provider, str], Throttle],
        redactor: Redactor,
        clock: Callable[[], float],
    ) -> None:
        self._session, self._spending, self._prices = session, spending, prices
        self._throttle_of, self._redactor, self._clock = throttle_of, redactor, clock
        self._proxy = functools.cache(proxy_for)

    async def serve(self, call: Call) -> web.StreamResponse:
        """The answer for the agent: the provider's, or a final error of our own."""
        caller = call.caller
        caller.requests += 1
        throttle = self._throttle_of(caller.provider, call.model)
        output = 0 if call.route.kind == "count" else wanted(call.route, call.body)
        patience, refused_at = caller.patience, None
        while True:
            if refused_at is not None:
                patience = caller.patience - (self._clock() - refused_at)
            turn = await throttle.enter(patience, caller.deadline)
            if isinstance(turn, Parked):
                caller.parked = turn
                return call.says(FINAL, f"parked: {turn.reason} for longer than this attempt can", "parked")
            try:
                answer = await self._reserved(call, throttle, turn, output)
            finally:
                throttle.leave(turn)
            if not isinstance(answer, Busy):
                return answer
            throttle.refused(turn, answer.wait)
            refused_at = refused_at or self._clock()

    async def _reserved(self, call: Call, throttle: Throttle, turn: Pass, output: int) -> web.StreamResponse | Busy:
        caller = call.caller
        if call.route.kind == "count":
            ask = Ask(0, 0, None)
        else:
            size = caller.most_input(call.model, call.size)
            rates = self._prices.rates(caller.provider, call.model, size)
            ask = Ask(size, output, rates)
        patience = min(caller.patience, caller.deadline - self._clock())
        hold = await self._spending.reserve(caller.account, ask, patience)
        if isinstance(hold, NoRoom):
            caller.exhausted = hold.limit
            return call.says(FINAL, f"the budget is spent ({hold.limit})", "budget_spent")
        reader = UsageReader()
        try:
            if call.route.kind != "count":
                clamp(call.route, call.body, hold.output, caller.provider.base_url)
            async with asyncio.timeout(_seconds(caller.deadline - self._clock())):
                return await self._forward(call, hold, reader)
        except TimeoutError:  # the attempt's own clock, and no failure of the provider
            return _cut(call)
        finally:
            if reader.error in PASSES:  # too late for another try of ours, and the others are to know
                throttle.refused(turn, None)
            elif reader.error is None and reader.begun:
                throttle.succeeded()
            if not hold.settled:
                self._settle(call, hold, reader)

    async def _forward(self, call: Call, hold: Hold, reader: UsageReader) -> web.StreamResponse | Busy:
        caller, provider = call.caller, call.caller.provider
        url = URL(upstream(provider.base_url, call.route), encoded=True)
        query = {name: value for name, value in call.request.rel_url.query.items() if name in QUERY}
        caller.tries += 1
        number = caller.tries
        try:
            async with self._session.post(
                url.update_query(query),
                data=json.dumps(call.body).encode(),
                headers=_headers(call.request.headers, provider),
                proxy=self._proxy(provider.base_url),
                allow_redirects=False,
            ) as answer:
                if answer.status != 200:
                    return await self._failed(call, hold, answer)
                caller.answered(number)
                if answer.content_type == STREAM_TYPE:
                    return await self._stream(call, answer, reader)
                return await self._whole(call, answer, reader)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError):
            hold.free()  # nothing was sent
        except (aiohttp.ClientError, OSError):
            pass  # sent, and nothing is known of what became of it
        caller.failed(Error.UNREACHABLE)
        return call.says(502, "the provider can't be reached", "unreachable")

    async def _failed(self, call: Call, hold: Hold, answer: aiohttp.ClientResponse) -> web.Response | Busy:
        if answer.status not in TIMED_OUT_ON_THE_WAY:
            hold.free()
        body = await _read(answer, LARGEST_ERROR) or b""
        error = kind_of(answer.status, body)
        if call.route.kind != "count" or answer.status != 404:  # which many compatible providers don't offer
            call.caller.failed(error)
        if error in PASSES:
            return Busy(wait_of(answer.headers, body, self._clock()))
        if error is Error.AUTH:  # some providers repeat a part of the key
            status = answer.status if answer.status in (401, 403) else 401
            return call.says(status, "the provider refused the credential", "invalid_api_key")
        if error is Error.QUOTA:  # a body that still says 429 has Gemini CLI ask again for minutes
            return call.says(FINAL, "the account's credit or quota is used up (insufficient_quota)", "quota")
        if error is Error.CONTEXT_OVERFLOW and answer.status == 429:  # which would be asked again
            return call.says(FINAL, "prompt is too long for what the account may send in a minute", "request_too_large")
        if answer.status < 400:
            return call.says(502, "the provider answered with a redirect", "redirect")
        return web.Response(status=answer.status, body=self._redactor.bytes(body), headers=_answered(answer.headers))

    async def _stream(self, call: Call, answer: aiohttp.ClientResponse, reader: UsageReader) -> web.StreamResponse:
        response = web.StreamResponse(headers=_answered(answer.headers))
        if not await _reaches(response.prepare(call.request)):
            return response
        with contextlib.suppress(aiohttp.ClientError, OSError):  # an answer says itself when it is whole
            async for chunk in answer.content.iter_any():
                reader.feed(chunk)
                if not await _reaches(response.write(chunk)):
                    return response
        reader.end()
        if reader.error:
            call.caller.failed(reader.error)
        elif not reader.ended:  # also where something in between ended it properly: some agents would believe that
            call.caller.failed(Error.CUT)
            return _cut(call, response)
        await _reaches(response.write_eof())
        return response

    async def _whole(self, call: Call, answer: aiohttp.ClientResponse, reader: UsageReader) -> web.Response:
        try:
            body = await _read(answer, LARGEST_ANSWER)
        except (aiohttp.ClientError, OSError):
            body = None
        if body is None:
            call.caller.failed(Error.CUT)
            return call.says(502, "the provider's answer was cut", "cut")
        if not reader.whole(body):  # the page of something that stands in between
            call.caller.failed(Error.UNREACHABLE)
            return call.says(502, f"what came is no answer of a model ({answer.content_type})", "unreachable")
        if reader.error:
            call.caller.failed(reader.error)
        return web.Response(body=body, headers=_answered(answer.headers))

    def _settle(self, call: Call, hold: Hold, reader: UsageReader) -> None:
        caller, tokens = call.caller, reader.tokens
        if call.route.kind == "count":
            hold.free()
            return
        caller.declined = reader.declined or (caller.failing and caller.declined)
        if reader.refused:
            hold.free()
        elif tokens is None or not reader.complete or not tokens.total_input:  # no call has no input
            hold.unknown(tokens)
        else:
            caller.learn(call.model, call.size, tokens.total_input)
            hold.metered(tokens, self._prices.rates(caller.provider, call.model, tokens.total_input))


def proxy_for(url: str) -> str | None:
    """The proxy that the coordinator's environment names for `url` (HTTPS_PROXY, NO_PROXY)."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


async def _reaches(write: Awaitable[object]) -> bool:
    """Whether the agent is still there to be written to; that it went away is no failure of its provider."""
    try:
        await write
    except OSError:
        return False
    return True


async def _read(answer: aiohttp.ClientResponse, most: int) -> bytes | None:
    """The body, None if it is larger than `most`."""
    parts, size = [], 0
    async for chunk in answer.content.iter_chunked(CHUNK):
        size += len(chunk)
        if size > most:
            return None
        parts.append(chunk)
    return b"".join(parts)


def _headers(asked: Mapping[str, str], provider: Provider) -> dict[str, str]:
    headers = {name: value for name, value in asked.items() if name.lower() in ASKED}
    fixed = {"content-type": "application/json", "accept-encoding": "identity"}
    return headers | fixed | credential(provider.protocol, provider.key)


def _answered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() in ANSWERED}


def _cut(call: Call, response: web.StreamResponse | None = None) -> web.StreamResponse:
    """End the agent's connection in mid-answer, as the provider's ended."""
    if call.request.transport is not None:
        call.request.transport.close()
    return response or call.says(504, "the attempt's clock has run out", "timeout")


def _seconds(left: float) -> float | None:
    return None if left == float("inf") else max(0.0, left)
