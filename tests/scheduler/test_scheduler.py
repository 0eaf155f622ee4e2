"""Rules of the scheduler that deserve to be read one by one; random orders of events are in test_properties."""

from __future__ import annotations

from collections import Counter

import pytest

from sweeper.errors import ConfigError
from sweeper.loop import Decision, Hold, Pause, RetryAt, Settled, Stop
from sweeper.scheduler import IDLE_REST, EngineLimits, Scheduler, UnexpectedEvent, Why
from sweeper.scheduler import messages as m

T0 = 5000.0


class Desk:
    """Answers POLL, CLAIM and RELEASE at once; dispatches and landings wait for the test."""

    def __init__(self, limits: EngineLimits, **queues: list[m.Entry]) -> None:
        self.scheduler = Scheduler()
        self.now = T0
        self.queues = queues
        self.running: list[tuple[str, str]] = []
        self.log: list[m.Command] = []
        self.asked: list[str] = []
        self.releases = True
        self.send(m.Started(tuple(queues), limits))

    def send(self, event: m.Event) -> None:
        for command in self.scheduler.handle(self.now, event):
            self.log.append(command)
            match command:
                case m.Poll(loop, _):
                    entries, self.queues[loop] = tuple(self.queues[loop]), []
                    self.send(m.Paged(loop, entries, None))
                case m.Claim(loop, key):
                    self.send(m.Claimed(loop, key))
                case m.Release(loop, key) if self.releases:
                    self.send(m.Released(loop, key))
                case m.Dispatch(loop, key, _):
                    self.running.append((loop, key))
                case m.AskIdle(loop):
                    self.asked.append(loop)

    def finish(self, loop: str, key: str, decision: Decision, again: m.Entry | None = None) -> None:
        self.running.remove((loop, key))
        self.send(m.Finished(loop, key, failed=False))
        self.send(m.Landed(loop, key, decision, again))

    def keys(self) -> list[str]:
        return [key for _, key in self.running]

    def claimed(self) -> int:
        return sum(isinstance(c, m.Claim) for c in self.log) - sum(isinstance(c, m.Release) for c in self.log)

    def wakes(self) -> list[float]:
        return [command.at for command in self.log if isinstance(command, m.WakeAt)]

    def end(self) -> m.End | None:
        return next((command for command in self.log if isinstance(command, m.End)), None)


def units(count: int, prefix: str = "u", **more: int | str) -> list[m.Entry]:
    return [m.Entry(f"{prefix}{number}", **more) for number in range(count)]  # type: ignore[arg-type]


def test_a_freed_slot_is_filled_without_waiting_for_a_claim() -> None:
    desk = Desk(EngineLimits(agents=2), a=units(20))
    assert desk.keys() == ["u0", "u1"]
    assert desk.claimed() == 4  # two run, two are claimed ahead
    before = len(desk.log)
    desk.send(m.SlotFreed("a", "u0"))
    assert desk.log[before] == m.Dispatch("a", "u2", 1)
    assert desk.scheduler.agents == 2
    assert desk.scheduler.total == 3


def test_a_verifier_holds_no_agent_slot_but_there_are_limits_to_both() -> None:
    desk = Desk(EngineLimits(agents=2, verifiers=1), a=units(9))
    for key in ("u0", "u1", "u2"):
        desk.send(m.SlotFreed("a", key))
    assert desk.keys() == ["u0", "u1", "u2"]
    assert (desk.scheduler.agents, desk.scheduler.total) == (0, 3)


def test_a_weight_above_the_slots_gets_all_of_them() -> None:
    desk = Desk(EngineLimits(agents=4, loop_slots={"b": 2}), a=units(2, "a", weight=9), b=units(2, "b", weight=9))
    weights = {command.key: command.weight for command in desk.log if isinstance(command, m.Dispatch)}
    assert weights == {"a0": 4}
    desk.finish("a", "a0", Settled())
    weights = {command.key: command.weight for command in desk.log if isinstance(command, m.Dispatch)}
    assert weights == {"a0": 4, "b0": 2}


def test_lighter_units_do_not_slip_past_a_heavy_one_for_ever() -> None:
    desk = Desk(EngineLimits(agents=3, verifiers=3), a=[m.Entry("a0"), m.Entry("heavy", 3)], b=units(30, "b"))
    for _ in range(8):
        desk.finish(*desk.running[0], Settled())
    assert ("a", "heavy") in [(c.loop, c.key) for c in desk.log if isinstance(c, m.Dispatch)]


def test_loops_take_turns() -> None:
    desk = Desk(EngineLimits(agents=3), a=units(30, "a"), b=units(30, "b"), c=units(30, "c"))
    for _ in range(42):
        desk.finish(*desk.running[0], Settled())
    started = Counter(command.loop for command in desk.log if isinstance(command, m.Dispatch))
    # The first page that came got all the slots; from then on it is one each.
    assert started == {"a": 17, "b": 14, "c": 14}


def test_the_ramp_opens_slots_one_by_one() -> None:
    desk = Desk(EngineLimits(agents=4, ramp=30.0), a=units(9))
    assert desk.keys() == ["u0"]
    for opened in (2, 3, 4):
        desk.now = desk.wakes()[-1]
        desk.send(m.Time())
        assert len(desk.running) == opened
    assert desk.wakes() == [T0 + 10, T0 + 20, T0 + 30]


def test_a_retry_within_a_minute_waits_in_the_round_and_blocks_the_idle_question() -> None:
    desk = Desk(EngineLimits(), a=units(1))
    desk.finish("a", "u0", RetryAt(T0 + 60), m.Entry("u0"))
    assert desk.wakes() == [T0 + 60]
    assert not desk.asked
    desk.now += 60
    desk.send(m.Time())
    assert desk.keys() == ["u0"]
    desk.finish("a", "u0", Settled())
    assert desk.asked == ["a"]


def test_a_retry_further_off_parks_and_no_barrier_waits_for_it() -> None:
    desk = Desk(EngineLimits(), a=units(1))
    desk.finish("a", "u0", RetryAt(T0 + 60.001), m.Entry("u0"))
    assert desk.asked == ["a"]
    assert desk.scheduler.tally.parked == 1


def test_a_pause_holds_back_the_credential_and_nothing_else() -> None:
    queue = [m.Entry("g0", credential="gold"), m.Entry("g1", credential="gold"), *units(3, "t", credential="tin")]
    desk = Desk(EngineLimits(agents=1, verifiers=0), a=queue)
    desk.finish("a", "g0", Pause("gold", T0 + 30), m.Entry("g0", credential="gold"))
    for _ in range(3):
        desk.finish(*desk.running[0], Settled())
    assert [c.key for c in desk.log if isinstance(c, m.Dispatch)] == ["g0", "t0", "t1", "t2"]
    assert not desk.running
    assert not desk.asked
    desk.now += 30
    desk.send(m.Time())
    assert desk.running
    while desk.running:
        desk.finish(*desk.running[0], Settled())
    assert desk.asked == ["a"]
    assert desk.scheduler.tally.settled == 5


def test_a_long_pause_parks_every_unit_of_the_credential() -> None:
    desk = Desk(EngineLimits(agents=1, verifiers=0), a=units(5, credential="gold"))
    desk.finish("a", "u0", Pause("gold", T0 + 3600), m.Entry("u0", credential="gold"))
    assert desk.asked == ["a"]
    assert desk.scheduler.tally.parked == 5
    assert sum(isinstance(command, m.Claim) for command in desk.log) == 2, "nothing is claimed that cannot start"


def test_a_stop_ends_the_fan_out_of_every_loop_and_lets_what_runs_land() -> None:
    desk = Desk(EngineLimits(agents=2, verifiers=0, loop_slots={"a": 1}), a=units(9, "a"), b=units(9, "b"))
    desk.finish("a", "a0", Stop("no quota left"))
    assert desk.running == [("b", "b0")]
    desk.finish("b", "b0", Settled())
    assert desk.end() == m.End(Why.STOPPED, "no quota left")
    assert not desk.asked
    assert desk.scheduler.tally.dispatched == 2


def test_the_limit_on_units_is_a_limit_only_if_something_is_left() -> None:
    exact = Desk(EngineLimits(agents=2, units=3), a=units(3))
    while exact.running:
        exact.finish(*exact.running[0], Settled())
    assert exact.asked == ["a"]
    short = Desk(EngineLimits(agents=2, units=3), a=units(4))
    while short.running:
        short.finish(*short.running[0], Settled())
    assert short.end() == m.End(Why.LIMIT, "units")
    assert short.scheduler.tally.dispatched == 3


def test_nothing_is_claimed_beyond_the_limit_on_units() -> None:
    desk = Desk(EngineLimits(agents=4, units=1), a=units(9))
    assert sum(isinstance(command, m.Claim) for command in desk.log) == 1


def test_the_deadline_is_asked_for_and_ends_the_fan_out() -> None:
    desk = Desk(EngineLimits(agents=1, deadline=T0 + 100), a=units(9))
    assert desk.wakes() == [T0 + 100]
    desk.now += 100
    desk.send(m.Time())
    desk.finish("a", "u0", Settled())
    assert desk.end() == m.End(Why.LIMIT, "wall")
    assert desk.scheduler.tally.dispatched == 1


def test_a_held_unit_is_landed_without_a_claim_and_takes_no_slot() -> None:
    desk = Desk(EngineLimits(agents=1), a=[m.Entry("h", held=True), m.Entry("u")])
    assert m.Land("a", "h") in desk.log
    assert m.Claim("a", "h") not in desk.log
    assert desk.keys() == ["u"]
    desk.send(m.Landed("a", "h", Hold("needs a person"), None))
    assert desk.scheduler.tally.held == 1


def test_a_loop_that_says_poll_again_for_nothing_is_polled_once_a_second() -> None:
    desk = Desk(EngineLimits(), a=[])
    for _ in range(2):
        desk.send(m.IdleAnswered("a", again=True))
    polls = [command for command in desk.log if isinstance(command, m.Poll)]
    desk.send(m.IdleAnswered("a", again=True))
    assert [command for command in desk.log if isinstance(command, m.Poll)] == polls
    assert desk.wakes() == [T0 + IDLE_REST]
    desk.now += IDLE_REST
    desk.send(m.Time())
    assert len([command for command in desk.log if isinstance(command, m.Poll)]) == len(polls) + 1


def test_f09_retries_do_not_go_past_the_limit_on_dispatches() -> None:
    """50 units that always fail and are always retried cost the limit, not 50 x retries."""
    desk = Desk(EngineLimits(agents=4, units=60), a=units(50))
    while desk.running:
        loop, key = desk.running[0]
        desk.finish(loop, key, RetryAt(desk.now), m.Entry(key))
    assert desk.end() == m.End(Why.LIMIT, "units")
    assert desk.scheduler.tally.dispatched == 60
    assert desk.claimed() == 0


def test_f09_many_waiting_retries_hold_fresh_units_back() -> None:
    desk = Desk(EngineLimits(agents=4), a=units(2000))
    while desk.running:
        loop, key = desk.running[0]
        desk.finish(loop, key, RetryAt(desk.now + 50), m.Entry(key))
    assert 256 <= desk.scheduler.tally.dispatched <= 256 + 2 * 4


def test_a_retry_that_is_being_released_does_not_outlive_a_cancel() -> None:
    desk = Desk(EngineLimits(), a=units(1))
    desk.releases = False
    desk.finish("a", "u0", RetryAt(T0 + 5), m.Entry("u0"))
    desk.send(m.Cancelled())
    assert desk.end() is None
    desk.send(m.Released("a", "u0"))
    assert desk.end() == m.End(Why.CANCELLED, "")


def test_what_waits_in_a_loop_that_failed_is_forgotten_once() -> None:
    desk = Desk(EngineLimits(), a=units(1, "a"), b=units(1, "b"))
    desk.finish("a", "a0", RetryAt(T0 + 5), m.Entry("a0"))
    desk.send(m.LoopFailed("a", None, "it raised"))
    desk.send(m.Cancelled())
    assert desk.scheduler.take_forgotten() == [("a", "a0")]
    desk.send(m.Interrupted("b", "b0"))
    assert desk.end() == m.End(Why.CANCELLED, "")


@pytest.mark.parametrize(
    "limits",
    [{"agents": 0}, {"verifiers": -1}, {"units": -1}, {"ramp": -1.0}, {"ramp": float("nan")}, {"loop_slots": {"a": 0}}],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(limits))):
        EngineLimits(**limits)  # type: ignore[arg-type]


def test_an_event_that_cannot_happen_is_refused() -> None:
    desk = Desk(EngineLimits(), a=units(1))
    with pytest.raises(UnexpectedEvent, match="u0"):
        desk.send(m.Claimed("a", "u0"))
    with pytest.raises(UnexpectedEvent, match="'z'"):
        desk.send(m.IdleAnswered("z", again=True))
    with pytest.raises(UnexpectedEvent, match="before the start"):
        Scheduler().handle(T0, m.Time())
