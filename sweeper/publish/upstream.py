"""The remote's branches as a publisher needs them; `sweeper.repo.Remote` is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Upstream(Protocol):
    """Each call raises ForgeFailed."""

    url: str

    async def heads(self, branches: Iterable[str]) -> dict[str, str]:
        """Branch -> commit, of those that are there."""

    async def fetch(self, branch: str) -> None:
        """Bring a branch's objects here, under no name."""

    async def push(self, commit: str, branch: str, expected: str | None) -> None:
        """Set a branch that is at `expected` (None: does not exist); "stale" if it is not."""
