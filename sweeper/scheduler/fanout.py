"""Who may start: slots, the start ramp, paused credentials, and the turns in which loops claim and dispatch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sweeper.scheduler import messages as m
from sweeper.scheduler.lane import WAITING_MAX, Lane, Phase, Place
from sweeper.scheduler.messages import Command, EngineLimits

RETRY_WITHIN = 60.0
"""Seconds. A retry (or a pause) further off parks the unit, so that no barrier waits for it."""


class FanOut:
    """`agents`: weight of agents in flight. `total`: weight of agents, verifiers and landings."""

    def __init__(self, lanes: Sequence[Lane], limits: EngineLimits, now: float) -> None:
        self.agents = 0
        self.total = 0
        self.dispatched = 0
        self.parked = 0
        self.open = limits.agents
        self.now = now
        self._lanes = lanes
        self._limits = limits
        self._paused: dict[str, float] = {}
        self._opens: list[float] = []  # when the slots of the ramp open, soonest last
        self._claim_turn = 0
        self._dispatch_turn = 0
        if limits.ramp > 0 and limits.agents > 1:
            step = limits.ramp / (limits.agents - 1)
            self._opens = [now + step * slot for slot in range(limits.agents - 1, 0, -1)]
            self.open = 1

    def advance(self, now: float) -> None:
        """Time passes: slots open, pauses end, waits are over."""
        self.now = now
        while self._opens and self._opens[-1] <= now:
            self._opens.pop()
            self.open += 1
        for credential in [name for name, until in self._paused.items() if until <= now]:
            del self._paused[credential]
        for lane in self._lanes:
            lane.requeue_due(now)

    def next_times(self) -> list[float]:
        return self._opens[-1:] + [lane.waiting[0][0] for lane in self._lanes if lane.waiting]

    def is_used_up(self) -> bool:
        """No dispatch is left of the limit on units, and a unit would want one."""
        units = self._limits.units
        return units is not None and self.dispatched >= units and any(lane.has_work() for lane in self._lanes)

    def pause(self, credential: str, until: float) -> None:
        if credential and until > self.now:
            self._paused[credential] = max(until, self._paused.get(credential, -math.inf))

    def is_near(self, at: float) -> bool:
        return at - self.now <= RETRY_WITHIN

    def free_agents(self, lane: Lane, place: Place) -> None:
        """Its agents have stopped (idempotent)."""
        if place.phase is Phase.AGENT:
            place.phase = Phase.VERIFIER
            self.agents -= place.weight
            lane.agents -= place.weight

    def dispatch(self) -> list[Command]:
        """Start claimed units, loop by loop in turn.

        A unit that only waits for others to end keeps its loop's turn, so that lighter ones do not slip past it
        for ever; one that waits for something of its own (the loop's slots, the ramp) gives the turn away.
        """
        out: list[Command] = []
        passed = 0
        while passed < len(self._lanes) and self.dispatched != self._limits.units:
            lane = self._lanes[self._dispatch_turn]
            place = self._next_ready(lane, out)
            if place is None or place.weight > self.open or lane.agents + place.weight > lane.slots:
                passed += 1
            elif self.agents + place.weight > self.open or self.total + place.weight > self._limits.total:
                break
            else:
                passed = 0
                lane.ready.popleft()
                lane.unclaim(place)
                place.phase = Phase.AGENT
                self.agents += place.weight
                lane.agents += place.weight
                self.total += place.weight
                self.dispatched += 1
                out.append(m.Dispatch(lane.name, place.entry.key, place.weight))
            self._dispatch_turn = (self._dispatch_turn + 1) % len(self._lanes)
        return out

    def _next_ready(self, lane: Lane, out: list[Command]) -> Place | None:
        """The loop's next claimed unit; claims on units whose credential is paused are given back on the way."""
        while lane.ready:
            place = lane.ready[0]
            until = self._paused.get(place.entry.credential)
            if until is None:
                return place
            lane.ready.popleft()
            near = self.is_near(until)
            self.parked += not near
            out.append(lane.give_back(place, until if near else None))
        return None

    def claim(self) -> list[Command]:
        """Claim what fits now and a little ahead, in turn, so that a freed slot waits for no round trip."""
        out: list[Command] = []
        passed = 0
        free = max(0, min(self.open - self.agents, self._limits.total - self.total))
        ahead = -(-self._limits.agents // max(1, sum(not lane.closed for lane in self._lanes)))
        while passed < len(self._lanes):
            lane = self._lanes[self._claim_turn]
            self._claim_turn = (self._claim_turn + 1) % len(self._lanes)
            place = self._next_queued(lane) if self._may_claim(lane, free, ahead) else None
            if place is None:
                passed += 1
            else:
                passed = 0
                out.append(lane.claim(place))
        return out

    def _may_claim(self, lane: Lane, free: int, ahead: int) -> bool:
        if lane.closed or not lane.queue or lane.is_full():
            return False
        units = self._limits.units
        if units is not None and self.dispatched + sum(each.claims for each in self._lanes) >= units:
            return False
        if lane.outstanding >= min(free, lane.slots - lane.agents) + ahead:
            return False
        # What a loop has claimed beyond its own slots takes nothing from the others.
        usable = sum(min(each.outstanding, free, each.slots - each.agents) for each in self._lanes)
        return usable < free + self._limits.agents

    def _next_queued(self, lane: Lane) -> Place | None:
        """The loop's next unit to claim; those whose credential is paused wait or are parked on the way."""
        while lane.queue:
            place = lane.queue.popleft()
            until = self._paused.get(place.entry.credential)
            if until is None or place.entry.held:
                return place
            if not self.is_near(until):
                self.parked += 1
                lane.forget(place)
            elif len(lane.waiting) < WAITING_MAX:
                lane.wait(place, until)
            else:
                lane.queue.appendleft(place)
                return None
        return None
