"""The engine over real tasks: what it starts, lands, gives back and reports."""

from __future__ import annotations

import json
import random
import time
import weakref
from collections import Counter
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sweeper.drain import Drained, EngineLimits, LoopFailed, Notice, Tally, Why, drain
from sweeper.errors import ConfigError, SandboxFailed
from sweeper.ledger.contract import JournalRow
from sweeper.loop import Decision, Go, Hold, Idle, Page, Park, Pause, RetryAt, Settled, Slot, Stop
from sweeper.replay import replay
from tests.drain.loops import Item, Ledger, Memory
from tests.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def run(*loops: Memory, limits: EngineLimits | None = None, **more: Any) -> tuple[Drained, Ledger]:
    """Drain, and hold the journal against a replay."""
    ledger = more.pop("claims", None) or Ledger()
    rows: list[JournalRow] = []
    try:
        drained = await drain(loops, ledger, limits or EngineLimits(), journal=rows.append, **more)
    finally:
        assert ledger.held == set()
        again = [JournalRow(*json.loads(json.dumps([row.seq, row.event, row.commands]))) for row in rows]
        report = replay(again)
        assert report.difference is None
        assert report.complete
    assert drained.next_seq == len(rows)
    return drained, ledger


async def test_every_unit_is_dispatched_and_landed_once() -> None:
    loop = Memory(100)
    drained, ledger = await run(loop)
    assert drained == Drained(Why.DRAINED, "", Tally(dispatched=100, settled=100), drained.next_seq)
    assert sorted(loop.landed) == sorted((key, key) for key in loop.started)
    assert len(set(loop.started)) == 100
    assert set(ledger.claimed.values()) == {1}
    assert loop.asked == 1


async def test_the_engine_keeps_two_pages_of_units_and_what_is_in_flight() -> None:
    alive: weakref.WeakSet[Item] = weakref.WeakSet()
    most = 0

    class Counting(Memory):
        async def select_queue(self, cursor: str | None) -> Page:
            nonlocal most
            page = await super().select_queue(cursor)
            alive.update(page.units)
            most = max(most, len(alive))
            return page

    await run(Counting(1000, page=20))
    assert most <= 2 * 20 + 4 * 4


async def test_slots_are_all_used_and_never_more() -> None:
    async def work(item: Item, slot: Slot) -> None:
        await anyio.sleep(0.001)

    loop = Memory(60, work=work)
    _, ledger = await run(loop, limits=EngineLimits(agents=5, verifiers=0))
    assert loop.most == 5
    assert ledger.most <= 2 * 5, "a few claims ahead, never many"


async def test_a_freed_slot_lets_the_next_agent_start_while_this_one_is_verified() -> None:
    verifying = anyio.Event()

    async def work(item: Item, slot: Slot) -> None:
        if item.key == "memory-0":
            slot.free()
            slot.free()  # once is enough, twice is fine
            await verifying.wait()
        else:
            verifying.set()

    loop = Memory(2, work=work)
    with anyio.fail_after(PATIENCE):
        drained, _ = await run(loop, limits=EngineLimits(agents=1, verifiers=1))
    assert drained.tally.settled == 2


async def test_a_slot_says_how_many_agents_may_run() -> None:
    weights = []

    async def work(item: Item, slot: Slot) -> None:
        weights.append(slot.weight)

    await run(Memory(2, work=work, policy=lambda item: Go(None, weight=5)), limits=EngineLimits(agents=3))
    assert weights == [3, 3]


async def test_an_exception_of_a_dispatch_is_landed_as_its_result_and_the_slot_is_filled_again() -> None:
    async def work(item: Item, slot: Slot) -> None:
        raise ExceptionGroup("several", [OSError("no space"), ValueError(item.key)])

    loop = Memory(20, work=work)
    drained, _ = await run(loop, limits=EngineLimits(agents=1))
    assert drained.tally == Tally(dispatched=20, failed=20, settled=20)
    assert all(isinstance(result, ExceptionGroup) for _, result in loop.landed)


async def test_a_cancellation_that_a_dispatch_makes_up_is_its_failure() -> None:
    async def work(item: Item, slot: Slot) -> None:
        raise anyio.get_cancelled_exc_class()

    loop = Memory(3, work=work)
    drained, _ = await run(loop)
    assert drained.tally == Tally(dispatched=3, failed=3, settled=3)


async def test_units_that_somebody_else_has_are_left_alone() -> None:
    loop = Memory(10)
    drained, _ = await run(loop, claims=Ledger(taken=frozenset({"memory-3", "memory-4"})))
    assert drained.tally == Tally(dispatched=8, settled=8, claims_lost=2)


async def test_a_hold_of_the_tier_policy_is_landed_without_a_claim() -> None:
    def policy(item: Item) -> Go | Hold:
        return Hold("ladder exhausted") if item.key.endswith("3") else Go(1)

    loop = Memory(10, policy=policy, decide=lambda item, result: result if isinstance(result, Hold) else Settled())
    drained, ledger = await run(loop)
    assert ("memory-3", Hold("ladder exhausted")) in loop.landed
    assert "memory-3" not in ledger.claimed
    assert drained.tally == Tally(dispatched=9, settled=9, held=1)


async def test_a_retry_is_claimed_and_asked_for_its_rung_again() -> None:
    tries: Counter[str] = Counter()
    rungs: list[Any] = []

    class Climbing(Memory):
        async def dispatch(self, unit: Item, rung: Any, slot: Slot) -> Any:
            rungs.append(rung)
            return await super().dispatch(unit, rung, slot)

    def decide(item: Item, result: Any) -> Decision:
        tries[item.key] += 1
        return RetryAt(0.0) if tries[item.key] < 3 else Settled()

    drained, ledger = await run(Climbing(4, decide=decide, policy=lambda item: Go(tries[item.key])))
    assert drained.tally == Tally(dispatched=12, retried=8, settled=4)
    assert set(ledger.claimed.values()) == {3}
    assert Counter(rungs) == {0: 4, 1: 4, 2: 4}


async def test_a_retry_in_a_moment_is_waited_for() -> None:
    tries: Counter[str] = Counter()

    def decide(item: Item, result: Any) -> Decision:
        tries[item.key] += 1
        return RetryAt(time.time() + 0.05) if tries[item.key] == 1 else Settled()

    loop = Memory(2, decide=decide)
    with anyio.fail_after(PATIENCE):
        drained, _ = await run(loop)
    assert drained.tally == Tally(dispatched=4, retried=2, settled=2)
    assert loop.asked == 1


async def test_a_stop_of_one_loop_is_a_stop_of_all() -> None:
    first = Memory(50, "first", decide=lambda item, result: Stop("the key is refused"))
    second = Memory(50, "second")
    drained, _ = await run(first, second, limits=EngineLimits(agents=2))
    assert (drained.why, drained.reason) == (Why.STOPPED, "the key is refused")
    assert len(first.started) + len(second.started) <= 8
    assert (first.asked, second.asked) == (0, 0)


async def test_limits_end_the_fan_out() -> None:
    loop = Memory(50)
    drained, _ = await run(loop, limits=EngineLimits(units=9))
    assert (drained.why, drained.reason) == (Why.LIMIT, "units")
    assert len(loop.landed) == 9
    drained, _ = await run(Memory(50), limits=EngineLimits(deadline=1.0))
    assert (drained.why, drained.reason, drained.tally.dispatched) == (Why.LIMIT, "wall", 0)


async def test_f09_fifty_units_that_always_fail_cost_the_limit() -> None:
    async def work(item: Item, slot: Slot) -> int:
        return 1

    loop = Memory(50, work=work, decide=lambda item, result: RetryAt(0.0))
    drained, _ = await run(loop, limits=EngineLimits(units=150))
    assert len(loop.started) == 150
    assert (drained.why, drained.reason) == (Why.LIMIT, "units")


async def test_f09_the_same_failure_of_everything_stops_when_the_loop_says_so() -> None:
    seen: Counter[str] = Counter()

    def decide(item: Item, result: Any) -> Decision:
        seen[result] += 1
        return Stop("the first 5 units failed alike") if seen[result] == 5 else Park()

    async def work(item: Item, slot: Slot) -> str:
        return "exit 1"

    loop = Memory(50, work=work, decide=decide)
    drained, _ = await run(loop)
    assert drained.why is Why.STOPPED
    assert len(loop.started) <= 5 + 2 * 4


async def test_notices_for_the_live_view() -> None:
    notices: list[Notice] = []

    async def work(item: Item, slot: Slot) -> str:
        slot.free()
        return "result"

    await run(Memory(1, work=work), on_event=notices.append)
    assert [(notice.kind, notice.agents, notice.total) for notice in notices] == [
        ("started", 1, 1),
        ("freed", 0, 1),
        ("landed", 0, 0),
    ]
    assert (notices[-1].result, notices[-1].decision, notices[-1].rung) == ("result", Settled(), "rung")


# --- a loop that fails ---
class Failing(Memory):
    """Raises in one method, at its third call."""

    where = ""
    calls = 0

    def fail(self, where: str) -> None:
        if where == self.where:
            self.calls += 1
            if self.calls == 3 or where == "on_idle":
                raise SandboxFailed(f"{where} broke", hint="mend it")

    async def select_queue(self, cursor: str | None) -> Any:
        self.fail("select_queue")
        return await super().select_queue(cursor)

    def tier_policy(self, unit: Item) -> Go | Hold:
        self.fail("tier_policy")
        return super().tier_policy(unit)

    async def land(self, unit: Item, result: Any) -> Decision:
        self.fail("land")
        return await super().land(unit, result)

    async def on_idle(self) -> Idle:
        self.fail("on_idle")
        return await super().on_idle()


@pytest.mark.parametrize("where", ["select_queue", "tier_policy", "land", "on_idle"])
async def test_a_loop_that_fails_is_served_no_more_and_the_others_are(where: str) -> None:
    bad, good = Failing(40, "bad"), Memory(40, "good")
    bad.where = where
    with pytest.raises(LoopFailed, match=f"bad: SandboxFailed: {where} broke") as caught:
        await run(bad, good)
    assert len(good.landed) == 40
    assert good.asked == 1
    assert caught.value.hint == "mend it"
    assert caught.value.exit_code == SandboxFailed.exit_code
    assert caught.value.drained.why is Why.DRAINED
    assert list(caught.value.failures) == ["bad"]
    assert isinstance(caught.value.__cause__, SandboxFailed)


@pytest.mark.parametrize("where", ["claim", "release"])
async def test_claims_that_fail_are_a_failure_of_their_loop(where: str) -> None:
    class Broken(Ledger):
        async def claim(self, unit: Item) -> object | None:
            if where == "claim" and unit.key == "bad-5":
                raise OSError("database is gone")
            return await super().claim(unit)

        async def release(self, unit: Item) -> None:
            await super().release(unit)
            if where == "release" and unit.key == "bad-5":
                raise OSError("database is gone")

    good = Memory(20, "good")
    with pytest.raises(LoopFailed, match="database is gone"):
        await run(Memory(20, "bad"), good, claims=Broken())
    assert len(good.landed) == 20


async def test_a_loop_that_fails_while_its_dispatches_run_gets_them_cancelled() -> None:
    async def work(item: Item, slot: Slot) -> None:
        if item.key != "bad-0":
            await anyio.sleep_forever()

    bad = Failing(9, "bad", work=work)
    bad.where, bad.calls = "land", 2
    with anyio.fail_after(PATIENCE), pytest.raises(LoopFailed):
        await run(bad)
    assert bad.landed == []


async def test_something_that_is_no_decision_is_a_failure_of_the_loop() -> None:
    with pytest.raises(LoopFailed, match="no decision"):
        await run(Memory(3, decide=lambda item, result: None))  # type: ignore[arg-type, return-value]


async def test_a_journal_that_cannot_be_written_ends_the_drain() -> None:
    rows: list[JournalRow] = []
    ledger = Ledger()
    loop = Memory(50)

    def write(row: JournalRow) -> None:
        if row.seq == 40:
            raise OSError("no space left")
        rows.append(row)

    with pytest.raises(OSError, match="no space left"):
        await drain([loop], ledger, EngineLimits(), journal=write)
    assert ledger.held == set()
    assert len(loop.started) < 50
    assert len(rows) == 40


async def test_loops_need_names_and_claims() -> None:
    with pytest.raises(ConfigError):
        await drain([], Ledger(), EngineLimits())
    with pytest.raises(ConfigError):
        await drain([Memory(1), Memory(1)], Ledger(), EngineLimits())
    with pytest.raises(ConfigError, match="memory"):
        await drain([Memory(1)], {"other": Ledger()}, EngineLimits())


@pytest.mark.parametrize("seed", range(12))
async def test_random_loops_replay_command_for_command(seed: int) -> None:
    dice = random.Random(seed)

    async def work(item: Item, slot: Slot) -> int:
        for _ in range(dice.randrange(3)):
            await anyio.lowlevel.checkpoint()
        if dice.random() < 0.5:
            slot.free()
            await anyio.lowlevel.checkpoint()
        if dice.random() < 0.1:
            raise ValueError(item.key)
        return dice.randrange(100)

    def decide(item: Item, result: Any) -> Decision:
        if isinstance(result, Hold):
            return result
        now = 1000.0
        likely: list[Decision] = [Settled()] * 20
        return dice.choice([*likely, Park(), RetryAt(now), RetryAt(now + 90.5), Pause("gold", now + 0.001), Hold("x")])

    def policy(item: Item) -> Go | Hold:
        credential = dice.choice(["", "gold"])
        return Hold("no") if dice.random() < 0.05 else Go(1, weight=dice.choice([1, 1, 2, 9]), credential=credential)

    loops = [Memory(dice.randrange(60), f"loop{n}", dice.randrange(1, 30), work, decide, policy) for n in range(3)]
    limits = EngineLimits(dice.randrange(1, 6), dice.randrange(3), {"loop1": 1}, ramp=dice.choice([0.0, 0.01]))
    drained, _ = await run(*loops, limits=limits)
    assert drained.why is Why.DRAINED
    assert [loop.asked for loop in loops] == [1, 1, 1]
