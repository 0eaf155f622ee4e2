"""The memory limit where no control group can be made: the sandbox's processes are looked at again and again."""

from __future__ import annotations

import os
import time

INTERVAL = 0.03  # seconds between two looks


class Watchdog:
    """Private memory of a process and all its descendants. In a process namespace nobody escapes its first one."""

    def __init__(self, pid: int, memory: int) -> None:
        """`memory`: the limit in bytes."""
        self._pid = pid
        self._memory = memory
        self._next = 0.0

    def over(self) -> bool:
        """Whether the processes hold more than the limit; looks at most once in INTERVAL."""
        now = time.monotonic()
        if now < self._next:
            return False
        total = largest_shared = 0
        stack = [self._pid]
        while stack:
            pid = stack.pop()
            private, shared = resident(pid)
            total += private
            largest_shared = max(largest_shared, shared)
            stack.extend(children(pid))
        # Shared pages are in every process that maps them: the largest holder counts, once.
        self._next = time.monotonic() + INTERVAL
        return total + largest_shared > self._memory


def resident(pid: int) -> tuple[int, int]:
    """(private, shared in-memory) bytes of a process; zeros if it is gone. Mapped files do not count."""
    private = shared = 0
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            for line in file:
                if line.startswith(b"RssAnon:"):
                    private = int(line.split()[1]) * 1024
                elif line.startswith(b"RssShmem:"):
                    shared = int(line.split()[1]) * 1024
                    break
    except (OSError, ValueError, IndexError):
        return 0, 0
    return private, shared


def children(pid: int) -> list[int]:
    """The children of a process's threads."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found.extend(int(word) for word in file.read().split())
    except (OSError, ValueError):
        pass
    return found
