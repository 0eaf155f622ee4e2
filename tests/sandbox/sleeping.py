"""Commands inside sandboxes that sleep until a test wakes them, seen from the machine: they are its processes too."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from tests.waiting import until


def unique_seconds() -> str:
    """What nobody else on this machine sleeps; longer than any test."""
    return f"{100_000 + time.monotonic_ns() % 800_000}"


def sleepers(seconds: str) -> list[int]:
    """Processes of this machine that are `sleep SECONDS`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes().endswith(f"sleep\0{seconds}\0".encode()):
                found.append(int(folder.name))
    return found


def until_none_sleep(seconds: str) -> None:
    until(lambda: not sleepers(seconds), f"the end of every `sleep {seconds}`")


def wake(seconds: str) -> None:
    """End the one `sleep SECONDS`, so that the shell above it goes on."""
    until(lambda: sleepers(seconds), f"a `sleep {seconds}`")
    (asleep,) = sleepers(seconds)
    os.kill(asleep, signal.SIGKILL)
