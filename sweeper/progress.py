"""What is said while something long runs without a result of its own, such as the gate's tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONG = 5.0  # seconds; of what is over sooner only the first one is told


class Progress:
    """Says when something begins and, with its seconds, when it ends. One after the other that is soon over is not
    told, so that a bisection of quick runs floods nobody."""

    def __init__(
        self, say: Callable[[str], None] = lambda line: None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._say = say
        self._now = now
        self._last = LONG

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """Around one run of `what`; one that fails or is cancelled has no end to tell."""
        told = self._last >= LONG
        if told:
            self._say(f"{what} ...")
        began = self._now()
        yield
        self._last = self._now() - began
        if told or self._last >= LONG:
            self._say(f"{what}: {self._last:,.1f} s")
