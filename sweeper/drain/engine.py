"""Runs the scheduler's commands and tells it what happened: a task follows a unit as far as it goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, get_args

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from sweeper.drain.answers import Drained, LoopFailed, Notice, NoticeKind, said
from sweeper.drain.work import Journal, Work
from sweeper.errors import first_of
from sweeper.loop import Claims, Clock, Decision, Go, Hold, Idle, Loop, Pause, RetryAt
from sweeper.scheduler import EngineLimits, Scheduler, Why
from sweeper.scheduler import messages as m

T = TypeVar("T")
UnitCommand = m.Claim | m.Dispatch | m.Land | m.Release
ALARM_STEP = 30.0  # seconds after which a sleeping alarm looks at the clock again: the machine may have slept


class Engine:
    """One drain. `_post` is the only way to the scheduler; it is synchronous, so events have one order."""

    def __init__(
        self,
        loops: Mapping[str, Loop],
        claims: Mapping[str, Claims],
        journal: Journal,
        clock: Clock,
        on_event: Callable[[Notice], None] | None,
        cancel: anyio.Event | None,
    ) -> None:
        self._loops = loops
        self._claims = claims
        self._journal = journal
        self._clock = clock
        self._on_event = on_event
        self._cancel = cancel
        self._scheduler = Scheduler()
        self._work: dict[tuple[str, str], Work] = {}
        self._questions: dict[str, anyio.CancelScope] = {}
        self._failures: dict[str, Exception] = {}
        self._broken: Exception | None = None
        self._cancelled = False
        self._wake: float | None = None
        self._rung = anyio.Event()
        self._ended = anyio.Event()
        self._end = m.End(Why.CANCELLED, "")
        self._tasks: TaskGroup

    async def run(self, limits: EngineLimits) -> Drained:
        try:
            await self._serve(limits)
        except BaseExceptionGroup as group:
            raise first_of(group) from None
        if self._broken is not None:
            raise self._broken
        drained = Drained(self._end.why, self._end.reason, self._scheduler.tally, self._journal.seq)
        if self._failures:
            raise LoopFailed(self._failures, drained) from next(iter(self._failures.values()))
        return drained

    async def _serve(self, limits: EngineLimits) -> None:
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._alarm)
            self._tasks.start_soon(self._watch)
            self._handle(m.Started(tuple(self._loops), limits))
            try:
                await self._ended.wait()
            except anyio.get_cancelled_exc_class():
                self._stop()
                raise
            self._tasks.cancel_scope.cancel()

    # --- events ---
    def _post(self, event: m.Event, own: tuple[str, str] | None = None) -> UnitCommand | None:
        """Tell the scheduler and start what it wants done, except for the unit `own`: that command is returned."""
        if self._cancel is not None and self._cancel.is_set():
            self._stop()
        return self._handle(event, own)

    def _stop(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            self._handle(m.Cancelled())

    def _handle(self, event: m.Event, own: tuple[str, str] | None = None) -> UnitCommand | None:
        if self._scheduler.ended:
            return None
        now = self._clock()
        commands = self._scheduler.handle(now, event)
        if self._broken is None:
            try:
                self._journal.append(now, event, commands)
            except Exception as problem:
                self._break(problem)
        mine: UnitCommand | None = None
        for command in commands:
            if isinstance(command, UnitCommand):
                if isinstance(command, m.Dispatch):
                    work = self._work[command.loop, command.key]
                    work.weight, work.scope = command.weight, anyio.CancelScope()
                if (command.loop, command.key) == own:
                    mine = command
                else:
                    self._tasks.start_soon(self._follow, command)
            else:
                self._do(command)
        for forgotten in self._scheduler.take_forgotten():
            del self._work[forgotten]
        if self._broken is not None:
            self._stop()
        return mine

    def _break(self, problem: Exception) -> None:
        """The engine itself cannot go on; it still ends in order."""
        self._broken = self._broken or problem

    def _failed(self, loop: str, key: str | None, problem: Exception) -> m.LoopFailed:
        problem = first_of(problem)
        self._failures.setdefault(loop, problem)
        return m.LoopFailed(loop, key, said(problem))

    def _freed(self, work: Work) -> None:
        self._post(m.SlotFreed(work.loop, work.unit.key))
        self._notify("freed", work)

    def _notify(self, kind: NoticeKind, work: Work, **more: Any) -> None:
        if self._on_event is None or self._broken is not None:
            return
        weights = self._scheduler.agents, self._scheduler.total
        try:
            self._on_event(Notice(kind, self._clock(), work.loop, work.unit, work.rung, *weights, **more))
        except Exception as problem:
            self._break(problem)
            self._stop()

    # --- commands about a loop ---
    def _do(self, command: m.Command) -> None:
        match command:
            case m.Poll(loop, cursor):
                self._questions[loop] = anyio.CancelScope()
                self._tasks.start_soon(self._poll, loop, cursor)
            case m.AskIdle(loop):
                self._questions[loop] = anyio.CancelScope()
                self._tasks.start_soon(self._ask, loop)
            case m.WakeAt(at):
                self._wake = at
                self._rung.set()
            case m.Cancel(loop, key):
                scope = self._questions[loop] if key is None else self._work[loop, key].scope
                if scope is not None:
                    scope.cancel()
            case m.End():
                self._end = command
                self._ended.set()

    async def _poll(self, loop: str, cursor: str | None) -> None:
        served = self._loops[loop]
        with self._questions[loop] as scope:
            try:
                page = await served.select_queue(cursor)
                found = {unit.key: unit for unit in page.units if (loop, unit.key) not in self._work}
                work = [Work(loop, unit, served.tier_policy(unit), self._freed) for unit in found.values()]
                entries = tuple(each.entry() for each in work)
            except Exception as problem:
                if not scope.cancel_called:
                    self._post(self._failed(loop, None, problem))
                return
            self._work |= {(loop, each.unit.key): each for each in work}
            self._post(m.Paged(loop, entries, page.cursor))

    async def _ask(self, loop: str) -> None:
        with self._questions[loop] as scope:
            try:
                answer = await self._loops[loop].on_idle()
            except Exception as problem:
                if not scope.cancel_called:
                    self._post(self._failed(loop, None, problem))
                return
            self._post(m.IdleAnswered(loop, answer is Idle.POLL_AGAIN))

    # --- commands about a unit ---
    async def _follow(self, command: UnitCommand) -> None:
        """Do the command, tell what came of it, and go on with what follows for the same unit."""
        own = command.loop, command.key
        work = self._work[own]
        following: UnitCommand | None = command
        while following is not None:
            match following:
                case m.Claim():
                    event = await self._claim(*own, work)
                case m.Dispatch():
                    event = await self._dispatch(*own, work)
                    work.holds_slot = False
                case m.Land():
                    event = await self._land(*own, work)
                case m.Release():
                    event = await self._release(*own, work)
            following = self._post(event, own)
            if isinstance(event, m.Interrupted):
                self._notify("ended", work)
            elif isinstance(event, m.Landed):
                self._notify("landed", work, result=work.result, decision=event.decision)
                work.result = work.go if isinstance(work.go, Hold) else None

    async def _claim(self, loop: str, key: str, work: Work) -> m.Event:
        try:
            claim = await _to_the_end(self._claims[loop].claim(work.unit))
        except Exception as problem:
            return self._failed(loop, key, problem)
        return m.ClaimLost(loop, key) if claim is None else m.Claimed(loop, key)

    async def _dispatch(self, loop: str, key: str, work: Work) -> m.Event:
        assert work.scope is not None
        assert isinstance(work.go, Go)
        work.rung = work.go.rung
        try:
            with work.scope:
                await checkpoint_if_cancelled()
                work.holds_slot = True
                self._notify("started", work)
                work.result = await self._loops[loop].dispatch(work.unit, work.rung, work)
                return m.Finished(loop, key, failed=False)
        except Exception as problem:
            # What fails while it is being cancelled fails because of that: no verdict on the unit.
            if work.scope.cancel_called:
                return m.Interrupted(loop, key)
            work.result = problem
        except anyio.get_cancelled_exc_class():
            if anyio.current_effective_deadline() == -math.inf:
                self._stop()
                return m.Interrupted(loop, key)
            work.result = RuntimeError("the dispatch raised a cancellation that nobody asked for")
        else:
            return m.Interrupted(loop, key)
        return m.Finished(loop, key, failed=True)

    async def _land(self, loop: str, key: str, work: Work) -> m.Event:
        served = self._loops[loop]
        again = None
        try:
            decision = await _to_the_end(served.land(work.unit, work.result))
            if not isinstance(decision, get_args(Decision)):
                raise TypeError(f"land() returned {decision!r}, which is no decision")
            if isinstance(decision, RetryAt | Pause):
                work.go = served.tier_policy(work.unit)
                again = work.entry()
        except Exception as problem:
            return self._failed(loop, key, problem)
        return m.Landed(loop, key, decision, again)

    async def _release(self, loop: str, key: str, work: Work) -> m.Event:
        try:
            await _to_the_end(self._claims[loop].release(work.unit))
        except Exception as problem:
            return self._failed(loop, key, problem)
        return m.Released(loop, key)

    # --- time and cancellation ---
    async def _alarm(self) -> None:
        while True:
            self._rung = anyio.Event()
            delay = ALARM_STEP if self._wake is None else min(self._wake - self._clock(), ALARM_STEP)
            with anyio.move_on_after(max(delay, 0)):
                await self._rung.wait()
            if self._wake is not None and self._clock() >= self._wake:
                self._wake = None
                self._post(m.Time())

    async def _watch(self) -> None:
        if self._cancel is not None:
            await self._cancel.wait()
            self._stop()


async def _to_the_end(call: Coroutine[Any, Any, T]) -> T:
    """What has to be done even after a cancel."""
    with anyio.CancelScope(shield=True):
        try:
            result = await call
        except anyio.get_cancelled_exc_class() as problem:
            raise RuntimeError("a cancellation that nobody asked for") from problem
    return result
