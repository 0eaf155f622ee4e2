"""A thin client of GitHub's REST API: one request, its transient faults waited out, its refusals named."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import httpx2
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt

from sweeper.errors import ForgeFailed
from sweeper.redact import Redactor

TRIES = 5
PATIENCE = 900.0  # seconds that a rate limit is waited out at most, in one go
SECONDARY = 60.0  # GitHub: wait at least a minute where a secondary limit names no time
FIRST_WAIT = 1.0
TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
LARGEST = 8_000_000  # bytes of an answer
HEAD = 300  # characters of what a forge said that are shown
GATEWAY = frozenset({500, 502, 503, 504})
UNCERTAIN = "uncertain"


class Transient(ForgeFailed):
    """Worth another try after `wait` seconds (None: as the retry sees fit). `sent`: the forge may have acted on it."""

    def __init__(self, what: str, *, wait: float | None = None, sent: bool = False, hint: str = "") -> None:
        super().__init__(what, hint=hint, reason="limited" if wait is not None else "unreachable")
        self.wait, self.sent = wait, sent


class Client:
    """`api`: the base address. Every error that leaves here is redacted. `sleep` and `clock` are the event loop's."""

    def __init__(
        self,
        api: str,
        token: str,
        *,
        say: Callable[[str], None] = lambda line: None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.api = api.rstrip("/")
        self._redactor = Redactor([token])
        self._say, self._sleep, self._clock = say, sleep, clock
        self._http = httpx2.AsyncClient(
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {token}",
                "X-GitHub-Api-Version": "2022-11-28",
                "User-Agent": "sweeper",
            },
            timeout=TIMEOUT,
            follow_redirects=True,  # a renamed repository; another origin is not told the token
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        once: bool = False,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """The answer's JSON (None for an empty one). `path` begins with "/", or is a whole address.

        `once`: the request must not be repeated where it may have been carried out; ForgeFailed with the reason
        "uncertain" then leaves the question to the caller. `headers`: filled with the answer's. Raises ForgeFailed.
        """
        retrying = AsyncRetrying(
            sleep=self._sleep,
            stop=stop_after_attempt(TRIES),
            wait=self._wait,
            retry=retry_if_exception_type(Transient),
            before_sleep=self._announce,
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                try:
                    return await self._once(method, path, body, query, headers)
                except Transient as problem:
                    if (once and problem.sent) or (problem.wait or 0.0) > PATIENCE:
                        raise _final(problem) from None
                    raise
        raise AssertionError("unreachable")

    async def _once(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, str] | None,
        headers: dict[str, str] | None,
    ) -> Any:
        address = path if "://" in path else self.api + path
        try:
            answer = await self._http.request(method, address, json=body, params=query)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as problem:
            raise Transient(self._line(f"{self.api} does not answer: {problem or type(problem).__name__}")) from None
        except (httpx2.TimeoutException, httpx2.NetworkError, httpx2.ProtocolError) as problem:
            said = f"{method} {path}: the connection broke off ({type(problem).__name__})"
            raise Transient(self._line(said), sent=True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise ForgeFailed(self._line(f"{method} {address}: {problem}"), reason="unreachable") from None
        if headers is not None:
            headers.update({name.lower(): value for name, value in answer.headers.items()})
        if answer.status_code >= 400:
            raise self._refusal(method, path, answer)
        return self._json(answer)

    def _json(self, answer: httpx2.Response) -> Any:
        if not answer.content:
            return None
        if len(answer.content) > LARGEST:
            raise ForgeFailed(f"{self.api} sent an answer of {len(answer.content):,} bytes", reason="invalid")
        try:
            return json.loads(answer.content)
        except ValueError:
            raise ForgeFailed(
                f"{self.api} answered with something that is no JSON",
                hint="is it the API's base address? Enterprise has it at https://HOST/api/v3 ([pull_request] api)",
                reason="invalid",
            ) from None

    def _refusal(self, method: str, path: str, answer: httpx2.Response) -> ForgeFailed:
        status, headers = answer.status_code, answer.headers
        said, codes = _said(answer)
        line = self._line(f"{method} {path}: {status} {said}".rstrip())
        if status in GATEWAY:
            return Transient(line, sent=True)
        if status == 429 or (status == 403 and _limited(said, headers)):
            return Transient(line, wait=self._until(headers), hint="the forge's rate limit; try again later")
        if status == 401:
            return ForgeFailed(line, hint="the token is wrong, expired or revoked", reason="unauthorised")
        if status == 403:
            return ForgeFailed(line, hint=_forbidden(said, headers), reason="forbidden")
        if status == 404:
            hint = "the repository does not exist, or the token may not see it; [pull_request] repository names it"
            return ForgeFailed(line, hint=hint, reason="missing")
        reason = "duplicate" if "already exists" in said.lower() else "invalid"
        return ForgeFailed(line, reason=reason, hint=", ".join(codes))

    def _until(self, headers: httpx2.Headers) -> float:
        """Seconds that a rate limit asks to wait."""
        if (after := headers.get("retry-after", "")).isdigit():
            return float(after)
        reset = headers.get("x-ratelimit-reset", "")
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            return max(0.0, float(reset) - self._clock()) + 1.0
        return SECONDARY

    def _wait(self, state: RetryCallState) -> float:
        problem = state.outcome.exception() if state.outcome else None
        if isinstance(problem, Transient) and problem.wait is not None:
            return problem.wait
        return float(FIRST_WAIT * 2 ** (state.attempt_number - 1))

    def _announce(self, state: RetryCallState) -> None:
        problem = state.outcome.exception() if state.outcome else None
        wait = state.next_action.sleep if state.next_action else 0.0
        self._say(f"forge: {problem}; again in {wait:.0f} s")

    def _line(self, text: str) -> str:
        return self._redactor.text(text)


def _final(problem: Transient) -> ForgeFailed:
    if problem.sent:
        return ForgeFailed(f"{problem}; it may have been done", hint=problem.hint, reason=UNCERTAIN)
    return ForgeFailed(f"{problem}; it asks to wait {problem.wait:.0f} s", hint=problem.hint, reason=problem.reason)


def _said(answer: httpx2.Response) -> tuple[str, list[str]]:
    """What the forge said, in one line, and the codes of its complaints."""
    try:
        data = json.loads(answer.content[:LARGEST])
    except ValueError:
        return "", []
    if not isinstance(data, dict):
        return "", []
    errors = data.get("errors")
    rows = errors if isinstance(errors, list) else []
    told = [str(row.get("message") or row.get("code") or "") if isinstance(row, dict) else str(row) for row in rows]
    fields = [f"{row.get('field')}: {row.get('code')}" for row in rows if isinstance(row, dict) and row.get("field")]
    text = "; ".join(filter(None, [str(data.get("message", "")), *told]))
    return " ".join(text.split())[:HEAD], fields


def _limited(said: str, headers: httpx2.Headers) -> bool:
    return (
        "retry-after" in headers
        or headers.get("x-ratelimit-remaining") == "0"
        or "secondary rate limit" in said.lower()
        or "abuse detection" in said.lower()
    )


def _forbidden(said: str, headers: httpx2.Headers) -> str:
    low = said.lower()
    if "not permitted to create or approve pull requests" in low:
        return (
            "Settings > Actions > General > Workflow permissions: allow GitHub Actions to create pull requests (in the "
            "organisation, too: the stricter one wins); or use the token of an App or a person"
        )
    if "sso" in low or "x-github-sso" in headers:
        return "the organisation wants single sign-on: authorise the token for it"
    needed = headers.get("x-accepted-github-permissions", "")
    return f"the token lacks a permission ({needed})" if needed else "the token lacks a permission"
