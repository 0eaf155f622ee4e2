"""Whoever ends it, and however: nothing new starts, results land, claims are given back."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sweeper.drain import Drained, EngineLimits, Why, drain
from sweeper.ledger.contract import JournalRow
from sweeper.loop import Idle, Slot
from sweeper.replay import replay
from tests.drain.loops import Item, Ledger, Memory
from tests.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def for_ever(item: Item, slot: Slot) -> None:
    await anyio.sleep_forever()


class Fire:
    """A drain in the background whose four agents run for ever (or do what `work` says)."""

    def __init__(self, work: Any = for_ever) -> None:
        self.loop = Memory(500, page=100, work=work)
        self.ledger = Ledger()
        self.cancel = anyio.Event()
        self.rows: list[JournalRow] = []
        self.drained: Drained | None = None

    async def run(self) -> None:
        drained = drain([self.loop], self.ledger, EngineLimits(), journal=self.rows.append, cancel=self.cancel)
        self.drained = await drained

    async def until_running(self) -> None:
        with anyio.fail_after(PATIENCE):
            while self.loop.running < 4 or len(self.ledger.held) < 8:
                await anyio.lowlevel.checkpoint()

    def check(self) -> None:
        assert self.ledger.held == set()
        assert self.loop.running == 0
        report = replay(self.rows)
        assert (report.difference, report.complete) == (None, True)
        after = self.rows[[row.event[0] for row in self.rows].index("cancelled") :]
        assert {command[0] for row in after for command in row.commands} <= {"CANCEL", "LAND", "RELEASE", "END"}


async def test_f06_a_cancel_starts_no_queued_task() -> None:
    fire = Fire()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fire.run)
            await fire.until_running()
            fire.cancel.set()
    assert len(fire.loop.started) == 4, "of 500 units not one more was started"
    assert fire.loop.landed == []
    assert fire.drained is not None
    assert fire.drained.why is Why.CANCELLED
    assert fire.drained.tally.interrupted == 4
    assert fire.loop.asked == 0
    fire.check()


async def test_f06_a_slot_that_is_freed_by_the_cancel_is_not_filled() -> None:
    fire: Fire

    async def work(item: Item, slot: Slot) -> None:
        if item.key == "memory-3":
            while len(fire.ledger.held) < 8:
                await anyio.lowlevel.checkpoint()
            fire.cancel.set()
            slot.free()  # in the very step of the cancel
            return
        await anyio.sleep_forever()

    fire = Fire(work)
    with anyio.fail_after(PATIENCE):
        await fire.run()
    assert len(fire.loop.started) == 4
    assert fire.loop.landed == [("memory-3", None)]
    assert fire.drained is not None
    assert fire.drained.tally.dispatched == 4
    fire.check()


async def test_a_cancel_of_the_callers_scope_ends_in_order_and_is_raised_again() -> None:
    fire = Fire()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fire.run)
            await fire.until_running()
            tasks.cancel_scope.cancel()
    assert fire.drained is None
    assert len(fire.loop.started) == 4
    fire.check()


async def test_a_native_cancel_of_the_task_ends_in_order_and_is_raised_again() -> None:
    fire = Fire()
    task = asyncio.create_task(fire.run())
    await fire.until_running()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(fire.loop.started) == 4
    fire.check()


@pytest.mark.parametrize("how", ["event", "scope"])
async def test_a_result_that_comes_in_spite_of_the_cancel_lands(how: str) -> None:
    async def work(item: Item, slot: Slot) -> str:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)  # stop the sandbox, read its layer
            return "captured"
        return "never"

    fire = Fire(work)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fire.run)
            await fire.until_running()
            fire.cancel.set() if how == "event" else tasks.cancel_scope.cancel()
    assert [result for _, result in fire.loop.landed] == ["captured"] * 4
    fire.check()


@pytest.mark.parametrize("how", ["event", "scope"])
async def test_a_landing_is_never_cut_off(how: str) -> None:
    class Slow(Memory):
        async def land(self, unit: Item, result: Any) -> Any:
            landing.set()
            await anyio.sleep(0.02)
            return await super().land(unit, result)

    async def work(item: Item, slot: Slot) -> None:
        if item.key != "memory-0":
            await anyio.sleep_forever()

    landing = anyio.Event()
    fire = Fire()
    fire.loop = Slow(500, page=100, work=work)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fire.run)
            await landing.wait()
            fire.cancel.set() if how == "event" else tasks.cancel_scope.cancel()
    assert fire.loop.landed == [("memory-0", None)]
    fire.check()


async def test_what_fails_because_it_is_cancelled_is_no_verdict_on_the_unit() -> None:
    async def work(item: Item, slot: Slot) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise OSError("the sandbox went away")

    fire = Fire(work)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fire.run)
            await fire.until_running()
            fire.cancel.set()
    assert fire.loop.landed == []
    fire.check()


@pytest.mark.parametrize("how", ["event", "scope"])
@pytest.mark.parametrize("where", ["select_queue", "on_idle"])
async def test_a_question_that_takes_its_time_is_cancelled(where: str, how: str) -> None:
    class Waiting(Memory):
        async def select_queue(self, cursor: str | None) -> Any:
            if where == "select_queue":
                asked.set()
                await anyio.sleep_forever()
            return await super().select_queue(cursor)

        async def on_idle(self) -> Idle:
            asked.set()
            await anyio.sleep_forever()
            return Idle.STOP

    asked = anyio.Event()
    fire = Fire()
    fire.loop = Waiting(0)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fire.run)
            await asked.wait()
            fire.cancel.set() if how == "event" else tasks.cancel_scope.cancel()
    assert (fire.drained is None) == (how == "scope")
    fire.check()


async def test_a_cancel_before_the_start_dispatches_nothing() -> None:
    fire = Fire()
    fire.cancel.set()
    with anyio.fail_after(PATIENCE):
        await fire.run()
    assert fire.loop.started == []
    fire.check()


def test_f06_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    """Two slots, units of ten minutes each: an interrupt ends the process without a third start."""
    program = tmp_path / "six.py"
    program.write_text(
        textwrap.dedent(
            """
            import signal
            import anyio
            from sweeper.drain import EngineLimits, drain
            from tests.drain.loops import Ledger, Memory

            # A shell's background job is started with the interrupt ignored.
            signal.signal(signal.SIGINT, signal.default_int_handler)

            async def work(item, slot):
                print("start", item.key, flush=True)
                await anyio.sleep(600)

            async def main():
                ledger = Ledger()
                try:
                    await drain([Memory(6, work=work)], ledger, EngineLimits(agents=2))
                finally:
                    print("held", len(ledger.held), flush=True)

            anyio.run(main)
            """
        )
    )
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as six:
        assert six.stdout is not None
        lines = [six.stdout.readline() for _ in range(2)]
        six.send_signal(signal.SIGINT)
        rest, said = six.communicate(timeout=PATIENCE)
    assert [line.split()[0] for line in lines] == ["start", "start"]
    assert rest == "held 0\n"
    assert "KeyboardInterrupt" in said
    assert "ExceptionGroup" not in said
