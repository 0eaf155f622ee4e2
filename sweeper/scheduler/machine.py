"""The scheduler itself. What it promises (and what its property tests hold it to):

- a unit is in flight at most once, is dispatched only after its claim, and its landing gives the claim back;
- agents in flight weigh at most N, agents and verifiers together at most N + V; a result that is being landed
  still counts, so a slow ledger slows the fan-out down instead of piling results up;
- no slot stays free while a claimable unit fits, except under a ramp, a pause or a limit;
- a loop is asked `on_idle` only when its queue is empty, nothing of it is in flight and no retry waits;
- after a cancel, a stop or a limit nothing is claimed or dispatched, what is in flight lands, claims that were
  not used are given back, and the last command is End.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sweeper.loop import Decision, Hold, Pause, RetryAt, Settled, Stop
from sweeper.scheduler import messages as m
from sweeper.scheduler.fanout import FanOut
from sweeper.scheduler.lane import Lane, Phase, Place
from sweeper.scheduler.messages import Command, EngineLimits, Event, Tally, Why

IDLE_REST = 1.0
"""Seconds between polls of a loop that says "poll again" although nothing came of the last ones."""


class UnexpectedEvent(ValueError):
    """An event that cannot happen here: a defect of the engine, or a journal that was changed."""


class Scheduler:
    """`handle` the events in order; do the commands in order. The first event is `Started`, the last command End."""

    def __init__(self) -> None:
        self.ended = False
        self._counts = dict.fromkeys(Tally.__slots__, 0)
        self._lanes: dict[str, Lane] = {}
        self._limits = EngineLimits()
        self._fanout = FanOut((), self._limits, 0.0)
        self._now = -math.inf
        self._wake: float | None = None
        self._ending: tuple[Why, str] | None = None
        self._out: list[Command] = []
        self._handlers: dict[type, Callable[..., None]] = {
            m.Started: self._started,
            m.Paged: self._paged,
            m.Claimed: self._claimed,
            m.ClaimLost: self._claim_lost,
            m.SlotFreed: self._slot_freed,
            m.Finished: self._finished,
            m.Interrupted: self._interrupted,
            m.Landed: self._landed,
            m.Released: self._released,
            m.IdleAnswered: self._idle_answered,
            m.LoopFailed: self._loop_failed,
            m.Time: self._time,
            m.Cancelled: self._cancelled,
        }

    def handle(self, now: float, event: Event) -> list[Command]:
        """One event at `now` (seconds since the epoch; going backwards is ignored), and what follows from it.

        Raises UnexpectedEvent; the state is undefined afterwards.
        """
        if self.ended:
            return []
        if not self._lanes and not isinstance(event, m.Started):
            raise UnexpectedEvent(f"{type(event).__name__} before the start")
        self._now = self._fanout.now = max(self._now, now)
        self._out = []
        self._handlers[type(event)](event)
        self._advance()
        return self._out

    def take_forgotten(self) -> list[tuple[str, str]]:
        """Units (loop, key) that the scheduler forgot since the last call: nobody needs them now."""
        gone = []
        for lane in self._lanes.values():
            if lane.forgotten:
                gone += [(lane.name, key) for key in lane.forgotten]
                lane.forgotten = []
        return gone

    @property
    def agents(self) -> int:
        """Weight of agents in flight."""
        return self._fanout.agents

    @property
    def total(self) -> int:
        """Weight of agents, verifiers and landings in flight."""
        return self._fanout.total

    @property
    def tally(self) -> Tally:
        fanout = self._fanout
        counts = self._counts | {"dispatched": fanout.dispatched, "parked": self._counts["parked"] + fanout.parked}
        return Tally(**counts)

    # --- events ---
    def _started(self, event: m.Started) -> None:
        if self._lanes or not event.loops or len(set(event.loops)) < len(event.loops):
            raise UnexpectedEvent(f"a start of the loops {event.loops}")
        self._limits = event.limits
        self._lanes = {name: Lane(name, event.limits.slots_of(name)) for name in event.loops}
        self._fanout = FanOut(tuple(self._lanes.values()), event.limits, self._now)

    def _paged(self, event: m.Paged) -> None:
        lane = self._lane(event.loop)
        wanted = lane.polling and not lane.closed  # else it was closed meanwhile
        lane.polling = False
        if wanted:
            lane.put(event.entries)
            lane.cursor = event.cursor
            lane.exhausted = event.cursor is None

    def _claimed(self, event: m.Claimed) -> None:
        lane, place = self._at(event.loop, event.key, Phase.CLAIMING)
        place.claimed = True
        if lane.closed:
            self._out.append(lane.give_back(place))
        else:
            place.phase = Phase.READY
            lane.ready.append(place)

    def _claim_lost(self, event: m.ClaimLost) -> None:
        lane, place = self._at(event.loop, event.key, Phase.CLAIMING)
        self._counts["claims_lost"] += 1
        lane.unclaim(place)
        lane.forget(place)

    def _slot_freed(self, event: m.SlotFreed) -> None:
        self._fanout.free_agents(*self._at(event.loop, event.key, Phase.AGENT))

    def _finished(self, event: m.Finished) -> None:
        lane, place = self._at(event.loop, event.key, Phase.AGENT, Phase.VERIFIER)
        self._counts["failed"] += event.failed
        self._fanout.free_agents(lane, place)
        place.phase = Phase.LANDING
        self._out.append(m.Land(lane.name, event.key))

    def _interrupted(self, event: m.Interrupted) -> None:
        lane, place = self._at(event.loop, event.key, Phase.AGENT, Phase.VERIFIER)
        self._counts["interrupted"] += 1
        self._fanout.free_agents(lane, place)
        self._fanout.total -= place.weight
        self._out.append(lane.release(place))

    def _landed(self, event: m.Landed) -> None:
        lane, place = self._at(event.loop, event.key, Phase.LANDING)
        lane.progress = True
        decision = event.decision
        retry = self._retry_time(decision) if place.claimed and not lane.closed else None
        self._counts[_landing(decision, retry)] += 1
        if isinstance(decision, Pause):
            self._fanout.pause(decision.credential, decision.until)
        if place.claimed:
            self._fanout.total -= place.weight
            self._out.append(lane.release(place, retry))
            if event.again is not None:
                place.entry, place.weight = event.again, lane.clamp(event.again.weight)
        else:
            lane.unclaim(place)
            lane.forget(place)
        if isinstance(decision, Stop):
            self._end(Why.STOPPED, decision.reason)

    def _released(self, event: m.Released) -> None:
        lane, place = self._at(event.loop, event.key, Phase.RELEASING)
        lane.released(place)

    def _idle_answered(self, event: m.IdleAnswered) -> None:
        lane = self._lane(event.loop)
        wanted = lane.asking and not lane.closed
        lane.asking = False
        if not wanted:
            return
        if not event.again:
            lane.closed = True
            return
        lane.fruitless = 0 if lane.progress else lane.fruitless + 1
        lane.progress = False
        lane.cursor, lane.exhausted = None, False
        if lane.fruitless > 1:
            lane.poll_after = self._now + IDLE_REST

    def _loop_failed(self, event: m.LoopFailed) -> None:
        lane = self._lane(event.loop)
        if event.key is None:
            lane.polling = lane.asking = False
        else:
            _, place = self._at(event.loop, event.key, Phase.CLAIMING, Phase.LANDING, Phase.RELEASING)
            if place.claimed and place.phase is Phase.LANDING:
                self._fanout.total -= place.weight
                self._out.append(lane.release(place))
            else:
                if not place.claimed:
                    lane.unclaim(place)
                lane.forget(place)
        self._close(lane, cancel=True)

    def _time(self, event: m.Time) -> None:
        self._wake = None

    def _cancelled(self, event: m.Cancelled) -> None:
        self._ending = (Why.CANCELLED, "")
        for lane in self._lanes.values():
            self._close(lane, cancel=True)

    # --- what follows ---
    def _advance(self) -> None:
        lanes = self._lanes.values()
        deadline = self._limits.deadline
        if deadline is not None and self._now >= deadline:
            self._end(Why.LIMIT, "wall")
        if self._ending is None:
            self._fanout.advance(self._now)
            self._out += self._fanout.dispatch()
            self._out += self._fanout.claim()
            if self._fanout.is_used_up():
                self._end(Why.LIMIT, "units")
            else:
                self._ask()
        if all(lane.is_over() for lane in lanes):
            self._out.append(m.End(*(self._ending or (Why.DRAINED, ""))))
            self.ended = True
        elif self._ending is None:
            self._ask_for_time()

    def _ask(self) -> None:
        for lane in self._lanes.values():
            if lane.poll_after is not None and lane.poll_after <= self._now:
                lane.poll_after = None
            if lane.wants_page(2 * self._limits.agents):
                lane.polling = True
                self._out.append(m.Poll(lane.name, lane.cursor))
            elif lane.is_idle():
                lane.asking = True
                self._out.append(m.AskIdle(lane.name))

    def _ask_for_time(self) -> None:
        times = self._fanout.next_times()
        times += [lane.poll_after for lane in self._lanes.values() if lane.poll_after is not None]
        if self._limits.deadline is not None:
            times.append(self._limits.deadline)
        if times and (self._wake is None or min(times) < self._wake):
            self._wake = min(times)
            self._out.append(m.WakeAt(self._wake))

    def _end(self, why: Why, reason: str) -> None:
        if self._ending is None:
            self._ending = (why, reason)
            for lane in self._lanes.values():
                self._close(lane, cancel=False)

    def _close(self, lane: Lane, *, cancel: bool) -> None:
        commands, waiting = lane.close(cancel=cancel)
        self._out += commands
        self._counts["parked"] += waiting

    def _retry_time(self, decision: Decision) -> float | None:
        at = decision.at if isinstance(decision, RetryAt) else decision.until if isinstance(decision, Pause) else None
        return at if at is not None and self._fanout.is_near(at) else None

    # --- where a unit is ---
    def _lane(self, name: str) -> Lane:
        if name not in self._lanes:
            raise UnexpectedEvent(f"the loop {name!r} is not served here")
        return self._lanes[name]

    def _at(self, loop: str, key: str, *phases: Phase) -> tuple[Lane, Place]:
        lane = self._lane(loop)
        place = lane.places.get(key)
        if place is None or place.phase not in phases:
            where = "unknown" if place is None else place.phase.value
            raise UnexpectedEvent(f"unit {key!r} of {loop!r} is {where}, not {' or '.join(p.value for p in phases)}")
        return lane, place


def _landing(decision: Decision, retry: float | None) -> str:
    if retry is not None:
        return "retried"
    if isinstance(decision, Settled):
        return "settled"
    return "held" if isinstance(decision, Hold) else "parked"
