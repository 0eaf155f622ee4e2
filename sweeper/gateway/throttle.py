"""The one gate before each credential and model: how many calls at once, and when the next may try.

A refusal (429, 503, 529) closes it for everybody, for as long as the provider asks plus a jitter, and halves the calls
at once; successes open it again, one call at a time. Until it is fully open and calm no more tries start in any second
than calls are allowed at once.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable

from sweeper.gateway.contract import Parked

WINDOW = 1.1  # seconds; a little more than one, for what delays a try on its way
LONGEST_BACKOFF = 60.0
CALM = 30.0  # seconds since the last refusal after which tries are not counted any more
SUCCESSES_PER_STEP = 2  # times the calls at once


class Pass:
    """The right to one try. `started`: epoch seconds."""

    __slots__ = ("started",)

    def __init__(self, started: float) -> None:
        self.started = started


class Throttle:
    """`slots`: calls at once when all is well. `jitter(wait)`: positive seconds on top of a wait."""

    def __init__(self, slots: int, clock: Callable[[], float], jitter: Callable[[float], float]) -> None:
        self._slots = self._limit = slots
        self._clock, self._jitter = clock, jitter
        self._running = 0
        self._closed_until = 0.0
        self._halved_at = -CALM
        self._refusals = 0  # in a row
        self._successes = 0
        self._starts: deque[float] = deque(maxlen=slots)
        self._turn = asyncio.Lock()  # first come, first served
        self._changed = asyncio.Event()

    async def enter(self, patience: float, deadline: float) -> Pass | Parked:
        """A try, as soon as one may start. Parked: the provider asks for more than `patience` seconds, or beyond
        `deadline` (epoch seconds). Waiting for others to finish is bounded by the deadline alone.
        """
        try:
            async with asyncio.timeout(_timeout(deadline - self._clock())):
                await self._turn.acquire()
        except TimeoutError:
            return Parked(self._clock(), "too many calls wait for this model")
        try:
            return await self._head(patience, deadline)
        finally:
            self._turn.release()

    async def _head(self, patience: float, deadline: float) -> Pass | Parked:
        give_up: float | None = None
        while True:
            now = self._clock()
            ready = max(self._closed_until, self._paced())
            if ready > now:
                give_up = now + patience if give_up is None else give_up
                if ready > min(give_up, deadline):
                    return Parked(ready, "the provider asks to wait")
                await self._change(ready - now)
                continue
            if self._running < self._limit:
                self._running += 1
                self._starts.append(now)
                return Pass(now)
            if now >= deadline:
                return Parked(now, "too many calls wait for this model")
            await self._change(deadline - now)

    def leave(self, pass_: Pass) -> None:
        """The try is over, however it ended. Once per pass."""
        self._running -= 1
        self._wake()

    def refused(self, pass_: Pass, asked: float | None) -> None:
        """The provider refused this try and asks to wait so many seconds (None: it doesn't say)."""
        now = self._clock()
        self._successes = 0
        if pass_.started >= self._halved_at:  # else: of the burst that is counted already
            self._limit = max(1, self._limit // 2)
            self._refusals += 1
            self._halved_at = now
        wait = max(asked or 0.0, min(LONGEST_BACKOFF, 2.0 ** (self._refusals - 1)))
        self._closed_until = max(self._closed_until, now + wait + self._jitter(wait))
        self._wake()

    def succeeded(self) -> None:
        """The provider took a try."""
        self._refusals = 0
        self._successes += 1
        if self._limit < self._slots and self._successes >= SUCCESSES_PER_STEP * self._limit:
            self._limit += 1
            self._successes = 0
            self._wake()

    def _paced(self) -> float:
        calm = self._limit == self._slots and self._clock() >= self._halved_at + CALM
        if calm or len(self._starts) < self._limit:
            return 0.0
        return self._starts[-self._limit] + WINDOW

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _change(self, most: float) -> None:
        try:
            async with asyncio.timeout(_timeout(most)):
                await self._changed.wait()
        except TimeoutError:
            pass


def _timeout(seconds: float) -> float | None:
    return None if seconds == math.inf else max(0.0, seconds)
