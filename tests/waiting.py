"""Waiting for what another process, thread or task does: for the thing itself, never for the time it should take.

What is waited for comes; only where the product is broken does the patience end. So it may be long, and no machine is
too slow or too busy for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio

PATIENCE = 150  # seconds; below the suite's own limit for one test, so that the failure says what did not come


def until(seen: Callable[[], object], what: str) -> None:
    """Until `seen()` is true. `what`: what the failure names."""
    deadline = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < deadline, f"no sign of {what}"
        time.sleep(0.02)


async def until_true(seen: Callable[[], object], what: str) -> None:
    """Likewise, while the event loop goes on."""
    deadline = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < deadline, f"no sign of {what}"
        await anyio.sleep(0.02)
