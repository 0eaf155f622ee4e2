"""The claims of one sweep, kept while they are held."""

from __future__ import annotations

from sweeper.ledger.contract import Ledger, Queued
from sweeper.records import Claim


class SweepClaims:
    """Claims of one sweep, kept by unit key while they are held."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._ledger = ledger
        self._run = run
        self._held: dict[str, Claim] = {}

    async def claim(self, unit: Queued) -> Claim | None:
        claim = await self._ledger.claim(unit.key, self._run)
        if claim is not None:
            self._held[unit.key] = claim
        return claim

    async def release(self, unit: Queued) -> None:
        claim = self._held.pop(unit.key, None)
        if claim is not None:
            await self._ledger.release(claim)

    def of(self, unit: Queued) -> Claim:
        return self._held[unit.key]

    def landed(self, unit: Queued) -> None:
        """The landing has released it in its own transaction."""
        del self._held[unit.key]
