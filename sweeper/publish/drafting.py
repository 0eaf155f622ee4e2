"""A sweep whose pull request follows it: after a round that merged something the branch is pushed again."""

from __future__ import annotations

from collections.abc import Callable

from sweeper.errors import SweeperError
from sweeper.gate.green import Judge
from sweeper.ledger.contract import Queued
from sweeper.loop import Decision, Go, Hold, Idle, Page, Slot
from sweeper.order import Publisher
from sweeper.records import Outcome
from sweeper.sweep.sweep import Sweep


class Drafting:
    """The sweep's own six methods; between two rounds its pull request is opened or updated.

    A failure ends nothing: the next round and the fire's end try again.
    """

    def __init__(self, sweep: Sweep, publisher: Publisher, say: Callable[[str], None]) -> None:
        self.name = sweep.name
        self._sweep, self._publisher, self._say = sweep, publisher, say

    async def select_queue(self, cursor: str | None) -> Page:
        return await self._sweep.select_queue(cursor)

    def tier_policy(self, unit: Queued) -> Go | Hold:
        return self._sweep.tier_policy(unit)

    async def dispatch(self, unit: Queued, rung: int, slot: Slot) -> Outcome:
        return await self._sweep.dispatch(unit, rung, slot)

    async def land(self, unit: Queued, result: Outcome | Hold | Exception) -> Decision:
        return await self._sweep.land(unit, result)

    async def on_idle(self) -> Idle:
        before = self._sweep.run.tip
        idle = await self._sweep.on_idle()
        if idle is Idle.POLL_AGAIN and self._sweep.run.tip != before:
            await self._publish()
        return idle

    async def _publish(self) -> None:
        try:
            for each in await self._publisher.publish(self._sweep.run, Judge(self._sweep.workshop)):
                self._say(f"{self.name}: pull request: {each.url} {each.operation}{', draft' if each.draft else ''}")
        except SweeperError as problem:
            self._say("\n  ".join([f"{self.name}: pull request: {problem}", *problem.hint.splitlines()]))
