"""Ctrl-C and its kin: the first one ends the work in good order, the second one ends it at once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import anyio

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Caught:
    """`first`: the signal that asked for an end, None while there was none. `cancel` is set by it."""

    cancel: anyio.Event
    first: signal.Signals | None = None
    _scope: anyio.CancelScope | None = None

    @property
    def exit_code(self) -> int:
        """128 + the signal's number; SIGHUP ends like SIGTERM."""
        number = self.first or signal.SIGINT
        return 128 + (signal.SIGTERM if number is signal.SIGHUP else number)

    def stop(self) -> None:
        """Ask for an end: whoever waits for `cancel` ends in good order; before anybody does, the work is cancelled."""
        heard = self.cancel.statistics().tasks_waiting > 0
        self.cancel.set()
        if self._scope is not None and not heard:
            self._scope.cancel()

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """What runs inside is cancelled by a signal that nobody waits for."""
        with anyio.CancelScope() as self._scope:
            if self.first is not None:
                self._scope.cancel()
            yield
        self._scope = None


@contextmanager
def caught(say: Callable[[str], None]) -> Iterator[Caught]:
    """Handle signals inside; used in the running event loop's thread."""
    state = Caught(anyio.Event())
    loop = asyncio.get_running_loop()

    def handle(number: int, frame: FrameType | None) -> None:
        if state.first is not None:
            # No clean-up of any kind: whoever asks twice wants out now. The sandboxes die with this process or
            # at their deadline, and the next fire settles what they leave.
            os._exit(state.exit_code)
        state.first = signal.Signals(number)
        loop.call_soon_threadsafe(stop)

    def stop() -> None:
        assert state.first is not None
        state.stop()
        say(f"{state.first.name}: nothing more is started, running attempts are stopped; once more ends at once")

    before = {number: signal.signal(number, handle) for number in CAUGHT}
    try:
        yield state
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
