"""Random orders of events over several loops, against a model that knows nothing of the scheduler's insides."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sweeper.ledger.contract import JournalRow
from sweeper.loop import Decision, Hold, Park, Pause, RetryAt, Settled, Stop
from sweeper.replay import replay
from sweeper.scheduler import RETRY_WITHIN, EngineLimits, Scheduler
from sweeper.scheduler import messages as m
from sweeper.scheduler.journal import encode_commands, encode_event
from sweeper.scheduler.lane import WAITING_MAX

LOOPS = ("a", "b", "c")
CREDENTIALS = ("", "gold", "tin")
IN_FLIGHT = ("agent", "verifier", "landing", "releasing")


@dataclass
class Seen:
    """What the model knows of one loop: each unit's state, and how the last page left the queue."""

    units: dict[str, str] = field(default_factory=dict)
    entries: dict[str, m.Entry] = field(default_factory=dict)
    ready: list[str] = field(default_factory=list)
    claims: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    retry: dict[str, float] = field(default_factory=dict)
    exhausted: bool = False
    polling: bool = False
    asking: bool = False
    closed: bool = False
    largest: int = 0


class Fire(RuleBasedStateMachine):
    """Rules answer one outstanding command at a time; `send` checks everything that may be promised."""

    @initialize(
        loops=st.integers(1, 3),
        agents=st.integers(1, 5),
        verifiers=st.none() | st.integers(0, 3),
        own=st.dictionaries(st.sampled_from(LOOPS), st.integers(1, 3)),
        units=st.none() | st.integers(0, 12),
        deadline=st.none() | st.floats(1005, 1200),
        ramp=st.sampled_from((0.0, 0.0, 7.5, 40.0)),
        weights=st.sampled_from(((1,), (1, 2, 3), (1, 9))),
    )
    def start(
        self,
        loops: int,
        agents: int,
        verifiers: int | None,
        own: dict[str, int],
        units: int | None,
        deadline: float | None,
        ramp: float,
        weights: tuple[int, ...],
    ) -> None:
        self.limits = EngineLimits(agents, verifiers, own, units, deadline, ramp)
        self.weights = weights
        self.scheduler = Scheduler()
        self.now = 1000.0
        self.began = self.now
        self.wake: float | None = None
        self.stopped = False
        self.ended: m.End | None = None
        self.paused: dict[str, float] = {}
        self.dispatched = 0
        self.keys = 0
        self.journal: list[JournalRow] = []
        self.loops = {name: Seen() for name in LOOPS[:loops]}
        self.send(m.Started(tuple(self.loops), self.limits))

    # --- one event, and what may follow from it ---
    def send(self, event: m.Event) -> list[m.Command]:
        self.sane = False
        commands = self.scheduler.handle(self.now, event)
        row = json.dumps([len(self.journal), encode_event(self.now, event), encode_commands(commands)])
        self.journal.append(JournalRow(*json.loads(row)))
        if self.limits.deadline is not None and self.now >= self.limits.deadline:
            self.stopped = True
        starts = {(command.loop, command.key) for command in commands if isinstance(command, m.Dispatch)}
        used_up = self.limits.units is not None and self.dispatched + len(starts) >= self.limits.units
        stopped = self.stopped or (used_up and bool(self.waiting() - starts))
        for loop, key in self.scheduler.take_forgotten():
            seen = self.loops[loop]
            assert seen.units.pop(key) not in ("claiming", "claimed", *IN_FLIGHT)
            seen.entries.pop(key)
            seen.retry.pop(key, None)
        for command in commands:
            self.obey(command)
        self.stopped = stopped
        self.check_work()
        self.sane = True
        return commands

    def waiting(self) -> set[tuple[str, str]]:
        """What could be dispatched now or later."""
        return {
            (loop, key)
            for loop, seen in self.loops.items()
            for key, at in seen.units.items()
            if not seen.closed and (at in ("queued", "claimed") or (at == "waiting" and key in seen.retry))
        }

    def obey(self, command: m.Command) -> None:
        assert self.ended is None, "nothing comes after End"
        match command:
            case m.Poll(loop, _):
                seen = self.loops[loop]
                assert self.may_ask(seen)
                assert not seen.exhausted
                seen.polling = True
            case m.AskIdle(loop):
                seen = self.loops[loop]
                assert self.may_ask(seen)
                assert seen.exhausted
                assert not seen.units, f"asked while {seen.units}"
                seen.asking = True
            case m.Claim(loop, key):
                seen = self.loops[loop]
                assert self.is_served(seen)
                assert seen.units[key] in ("queued", "waiting")
                assert seen.retry.pop(key, 0.0) <= self.now, "a retry waits for its time"
                assert not seen.entries[key].held
                seen.units[key] = "claiming"
            case m.Dispatch(loop, key, weight):
                self.obey_dispatch(self.loops[loop], loop, key, weight)
            case m.Land(loop, key):
                seen = self.loops[loop]
                assert seen.units[key] == "finished" or seen.entries[key].held
                seen.units[key] = "landing"
                seen.retry.pop(key, None)
            case m.Release(loop, key):
                seen = self.loops[loop]
                assert key in seen.claims
                assert seen.units[key] in ("claimed", "landed", "interrupted")
                if seen.units[key] == "claimed" and self.is_served(seen):
                    seen.retry[key] = self.paused[seen.entries[key].credential]
                seen.units[key] = "releasing"
                if key in seen.ready:
                    seen.ready.remove(key)
            case m.Cancel(loop, None):
                self.loops[loop].polling = self.loops[loop].asking = False
            case m.Cancel(loop, str(key)):
                assert self.loops[loop].units[key] in ("agent", "verifier")
                self.loops[loop].cancelled.add(key)
            case m.WakeAt(at):
                assert at > self.now
                self.wake = at
            case m.End():
                self.ended = command
                for seen in self.loops.values():
                    assert not seen.claims
                    assert not seen.units
                    assert not self.is_asked(seen)

    def is_served(self, seen: Seen) -> bool:
        return not (self.stopped or seen.closed)

    def is_asked(self, seen: Seen) -> bool:
        return seen.polling or seen.asking

    def may_ask(self, seen: Seen) -> bool:
        return self.is_served(seen) and not self.is_asked(seen)

    def obey_dispatch(self, seen: Seen, loop: str, key: str, weight: int) -> None:
        assert self.is_served(seen)
        assert seen.units[key] == "claimed"
        assert key in seen.claims
        assert key == seen.ready.pop(0), "claimed units start in the order of their claims"
        entry = seen.entries[key]
        assert weight == self.weight(loop, entry)
        assert self.paused.get(entry.credential, 0.0) <= self.now
        seen.units[key] = "agent"
        self.dispatched += 1
        assert self.limits.units is None or self.dispatched <= self.limits.units
        agents, total = self.weights_in_flight()
        assert agents <= self.open_slots()
        assert total <= self.limits.total
        assert self.agents_of(loop) <= self.limits.slots_of(loop)

    def weight(self, loop: str, entry: m.Entry) -> int:
        return min(entry.weight, self.limits.slots_of(loop))

    def open_slots(self) -> int:
        if not self.limits.ramp or self.limits.agents == 1:
            return self.limits.agents
        step = self.limits.ramp / (self.limits.agents - 1)
        return sum(self.began + step * slot <= self.now for slot in range(self.limits.agents))

    def agents_of(self, loop: str) -> int:
        seen = self.loops[loop]
        return sum(self.weight(loop, seen.entries[key]) for key, at in seen.units.items() if at == "agent")

    def weights_in_flight(self) -> tuple[int, int]:
        total = sum(
            self.weight(loop, seen.entries[key])
            for loop, seen in self.loops.items()
            for key, at in seen.units.items()
            if at in ("agent", "verifier") or (at == "landing" and key in seen.claims)
        )
        return sum(map(self.agents_of, self.loops)), total

    def check_work(self) -> None:
        """No slot is free while a unit waits that fits, unless a ramp, a pause or a limit forbids it."""
        open_slots = self.open_slots()
        agents, total = self.weights_in_flight()
        assert (agents, total) == (self.scheduler.agents, self.scheduler.total)
        free = min(open_slots - agents, self.limits.total - total)
        if self.stopped or self.ended or open_slots < self.limits.agents or self.dispatched == self.limits.units:
            return
        heads = {
            loop: self.weight(loop, seen.entries[seen.ready[0]]) for loop, seen in self.loops.items() if seen.ready
        }
        room = {loop: self.limits.slots_of(loop) - self.agents_of(loop) for loop in self.loops}
        fits = [loop for loop, weight in heads.items() if weight <= min(free, room[loop])]
        in_turn = [loop for loop, weight in heads.items() if free < weight <= room[loop]]
        assert not fits or in_turn, f"{fits} could start"
        claims = sum(at == "claiming" or at == "claimed" for seen in self.loops.values() for at in seen.units.values())
        if self.limits.units is not None and self.dispatched + claims >= self.limits.units:
            return
        asked = {loop: self.asked(loop) for loop in self.loops}
        if sum(min(asked[loop], free, room[loop]) for loop in self.loops) < free:
            for loop, seen in self.loops.items():
                if self.claimable(seen) and not seen.closed:
                    assert asked[loop] >= min(free, room[loop]), f"{loop} could claim"

    def asked(self, loop: str) -> int:
        """What the loop has claimed, is claiming, or lands without a claim."""
        seen = self.loops[loop]
        return sum(
            self.weight(loop, seen.entries[key])
            for key, at in seen.units.items()
            if at in ("claiming", "claimed") or (at == "landing" and key not in seen.claims)
        )

    def claimable(self, seen: Seen) -> set[str]:
        return {
            key
            for key, at in seen.units.items()
            if at == "queued" or (at == "waiting" and seen.retry[key] <= self.now)
            if self.paused.get(seen.entries[key].credential, 0.0) <= self.now
        }

    # --- rules: answer what was asked ---
    def has(self, *states: str) -> bool:
        return any(at in states for seen in self.loops.values() for at in seen.units.values())

    def pick(self, data: st.DataObject, *states: str) -> tuple[str, str] | None:
        found = [(loop, key) for loop, seen in self.loops.items() for key, at in seen.units.items() if at in states]
        return data.draw(st.sampled_from(found)) if found else None

    @precondition(lambda self: any(seen.polling for seen in self.loops.values()))
    @rule(data=st.data(), size=st.integers(0, 7), more=st.booleans())
    def page(self, data: st.DataObject, size: int, more: bool) -> None:
        loop = data.draw(st.sampled_from(sorted(name for name, seen in self.loops.items() if seen.polling)))
        draw = data.draw
        entries = [
            m.Entry(
                f"{loop}{self.keys + number}",
                draw(st.sampled_from(self.weights)),
                draw(st.sampled_from(CREDENTIALS)),
                draw(st.sampled_from((False, False, False, True))),
            )
            for number in range(size)
        ]
        self.keys += size
        # A page may name again what is already known.
        old = draw(st.lists(st.sampled_from(sorted(self.loops[loop].entries) or [""]), max_size=2))
        self.answer_page(loop, entries + [m.Entry(key) for key in old if key], more)

    def answer_page(self, loop: str, entries: list[m.Entry], more: bool) -> None:
        seen = self.loops[loop]
        seen.polling = False
        if not (self.stopped or seen.closed):
            seen.largest = max(seen.largest, len(entries))
            seen.exhausted = not more
            for entry in entries:
                if entry.key not in seen.units:
                    seen.units[entry.key] = "queued"
                    seen.entries[entry.key] = entry
        self.send(m.Paged(loop, tuple(entries), "next" if more else None))

    @precondition(lambda self: self.has("claiming"))
    @rule(data=st.data(), won=st.sampled_from((True, True, True, False)))
    def claim(self, data: st.DataObject, won: bool) -> None:
        if unit := self.pick(data, "claiming"):
            self.answer_claim(*unit, won=won)

    def answer_claim(self, loop: str, key: str, *, won: bool) -> None:
        seen = self.loops[loop]
        if not won:
            seen.units[key] = "gone"
            self.send(m.ClaimLost(loop, key))
            assert key not in seen.units
            return
        seen.units[key] = "claimed"
        seen.claims.add(key)
        seen.ready.append(key)
        served = self.is_served(seen)
        commands = self.send(m.Claimed(loop, key))
        assert served or m.Release(loop, key) in commands

    @precondition(lambda self: self.has("agent"))
    @rule(data=st.data())
    def slot_freed(self, data: st.DataObject) -> None:
        if unit := self.pick(data, "agent"):
            self.loops[unit[0]].units[unit[1]] = "verifier"
            self.send(m.SlotFreed(*unit))

    @precondition(lambda self: self.has("agent", "verifier"))
    @rule(data=st.data(), failed=st.booleans())
    def finished(self, data: st.DataObject, failed: bool) -> None:
        if unit := self.pick(data, "agent", "verifier"):
            self.answer_dispatch(*unit, failed=failed)

    def answer_dispatch(self, loop: str, key: str, *, failed: bool) -> None:
        self.loops[loop].units[key] = "finished"
        commands = self.send(m.Finished(loop, key, failed))
        assert commands[0] == m.Land(loop, key), "a failed dispatch is landed as well"

    @precondition(lambda self: any(seen.cancelled & seen.units.keys() for seen in self.loops.values()))
    @rule(data=st.data())
    def interrupted(self, data: st.DataObject) -> None:
        unit = self.pick(data, "agent", "verifier")
        if unit and unit[1] in self.loops[unit[0]].cancelled:
            self.loops[unit[0]].units[unit[1]] = "interrupted"
            assert m.Release(*unit) in self.send(m.Interrupted(*unit))

    @precondition(lambda self: self.has("landing"))
    @rule(data=st.data(), ahead=st.sampled_from((-5.0, 0.0, 3.25, 59.0, 61.0, float("inf"), float("nan"))))
    def landed(self, data: st.DataObject, ahead: float) -> None:
        if unit := self.pick(data, "landing"):
            at = self.now + ahead
            choices: list[Decision] = [Settled(), Settled(), Park(), Hold("why"), RetryAt(at), RetryAt(at)]
            choices += [Pause(data.draw(st.sampled_from(CREDENTIALS)), at)]
            decision = data.draw(st.sampled_from(choices))
            if data.draw(st.integers(0, 30)) == 0:
                decision = Stop("no quota")
            self.answer_land(*unit, decision)

    def answer_land(self, loop: str, key: str, decision: Decision) -> None:
        seen = self.loops[loop]
        claimed = key in seen.claims
        again = None
        at = decision.at if isinstance(decision, RetryAt) else getattr(decision, "until", float("nan"))
        if at == at:
            again = seen.entries[key]
        if claimed and at - self.now <= RETRY_WITHIN:
            seen.retry[key] = at
        if isinstance(decision, Pause) and decision.credential:
            self.paused[decision.credential] = max(self.paused.get(decision.credential, 0.0), decision.until)
        seen.units[key] = "landed"
        commands = self.send_landed(m.Landed(loop, key, decision, again))
        if claimed:
            assert commands[0] == m.Release(loop, key), "a landing gives the claim back in the same motion"
        else:
            assert key not in seen.units

    def send_landed(self, event: m.Landed) -> list[m.Command]:
        if isinstance(event.decision, Stop):
            self.stopped = True
        return self.send(event)

    @precondition(lambda self: self.has("releasing"))
    @rule(data=st.data())
    def released(self, data: st.DataObject) -> None:
        if unit := self.pick(data, "releasing"):
            self.answer_release(*unit)

    def answer_release(self, loop: str, key: str) -> None:
        seen = self.loops[loop]
        seen.claims.discard(key)
        seen.units[key] = "waiting"
        self.send(m.Released(loop, key))

    @precondition(lambda self: any(seen.asking for seen in self.loops.values()))
    @rule(data=st.data(), again=st.booleans())
    def idle_answer(self, data: st.DataObject, again: bool) -> None:
        asked = sorted(loop for loop, seen in self.loops.items() if seen.asking)
        if asked:
            self.answer_idle(data.draw(st.sampled_from(asked)), again)

    def answer_idle(self, loop: str, again: bool) -> None:
        seen = self.loops[loop]
        seen.asking = False
        seen.exhausted = not again
        seen.closed = seen.closed or not again
        self.send(m.IdleAnswered(loop, again))

    @rule(seconds=st.floats(0, 30))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        if self.wake is not None and self.wake <= self.now:
            self.wake = None
            self.send(m.Time())

    @precondition(lambda self: len(self.journal) > 10)
    @rule(data=st.data(), what=st.sampled_from(("queue", "claiming", "landing", "releasing")), luck=st.integers(0, 3))
    def loop_failed(self, data: st.DataObject, what: str, luck: int) -> None:
        if luck:
            return
        loop = data.draw(st.sampled_from(sorted(self.loops)))
        seen = self.loops[loop]
        keys = [key for key, at in seen.units.items() if at == what]
        if what == "queue":
            if not (seen.polling or seen.asking):
                return
            seen.polling = seen.asking = False
            key = None
        elif keys:
            key = data.draw(st.sampled_from(keys))
            if what == "releasing":
                seen.claims.discard(key)
            seen.units[key] = "landed" if key in seen.claims else "gone"
        else:
            return
        seen.closed = True
        commands = self.send(m.LoopFailed(loop, key, "it raised"))
        if what == "landing" and key in seen.claims:
            assert m.Release(loop, key) in commands
        assert {key for key, at in seen.units.items() if at in ("agent", "verifier")} <= seen.cancelled

    @precondition(lambda self: len(self.journal) > 20)
    @rule(luck=st.integers(0, 9))
    def cancelled(self, luck: int) -> None:
        if luck:
            return
        self.stopped = True
        self.send(m.Cancelled())
        for seen in self.loops.values():
            assert not self.is_asked(seen)
            assert {key for key, at in seen.units.items() if at in ("agent", "verifier")} <= seen.cancelled

    @invariant()
    def memory_is_bounded(self) -> None:
        for seen in getattr(self, "loops", {}).values():
            # Two pages, and those that wait for a paused credential.
            assert Counter(seen.units.values())["queued"] <= 2 * seen.largest + WAITING_MAX

    def teardown(self) -> None:
        """Whatever happened, answering everything ends it: nothing is stuck, nothing is lost."""
        if not getattr(self, "sane", False):
            return  # the failure of a rule is the one to report
        for _ in range(10_000):
            if self.ended is not None:
                break
            self.answer_something()
        assert self.ended is not None
        report = replay(self.journal)
        assert report.difference is None
        assert report.complete
        assert report.tally == self.scheduler.tally
        assert report.tally.dispatched == self.dispatched

    def answer_something(self) -> None:
        for loop, seen in self.loops.items():
            if seen.polling:
                return self.answer_page(loop, [], False)
            if seen.asking:
                return self.answer_idle(loop, False)
            for key, at in list(seen.units.items()):
                if at == "claiming":
                    return self.answer_claim(loop, key, won=True)
                if at in ("agent", "verifier"):
                    return self.answer_dispatch(loop, key, failed=False)
                if at == "landing":
                    return self.answer_land(loop, key, Settled())
                if at == "releasing":
                    return self.answer_release(loop, key)
        assert self.wake is not None, "nothing is going on and no time was asked for"
        self.now = max(self.now, self.wake)
        self.wake = None
        self.send(m.Time())
        return None


Fire.TestCase.settings = settings(
    max_examples=120,
    stateful_step_count=80,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
TestFire: Any = Fire.TestCase
