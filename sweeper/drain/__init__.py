"""The engine: runs the scheduler's commands and tells it what happened. Knows no sweep, decides nothing.

`drain` serves loops until nothing is left to do. It holds in memory the units of the scheduler's queue window
and those in flight, never the backlog. No task outlives it, and every claim it made is landed or released.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import anyio

from sweeper.drain.answers import Drained, LoopFailed, Notice
from sweeper.drain.engine import Engine
from sweeper.drain.work import Journal
from sweeper.errors import ConfigError
from sweeper.ledger.contract import JournalRow
from sweeper.loop import Claims, Clock, Loop
from sweeper.scheduler import EngineLimits, Tally, Why

__all__ = ["Drained", "EngineLimits", "LoopFailed", "Notice", "Tally", "Why", "drain"]


async def drain(
    loops: Sequence[Loop],
    claims: Mapping[str, Claims] | Claims,
    limits: EngineLimits,
    *,
    journal: Callable[[JournalRow], None] | None = None,
    first_seq: int = 0,
    clock: Clock = time.time,
    on_event: Callable[[Notice], None] | None = None,
    cancel: anyio.Event | None = None,
) -> Drained:
    """Serve `loops` until they are drained, a limit or a Stop ends it, or `cancel` is set.

    claims: one for all loops, or by loop name. journal: gets every row at once, before its commands are done.
    Setting `cancel` (or cancelling the caller's scope, which is raised again at the end) starts nothing more
    and cancels running dispatches; results that are there still land, claims are given back.

    Raises ConfigError (no loop, or two of one name), LoopFailed, and whatever `journal` or `on_event` raised.
    """
    by_name = {loop.name: loop for loop in loops}
    if not loops or len(by_name) < len(loops):
        raise ConfigError(f"cannot serve the loops {[loop.name for loop in loops]}", hint="Give each its own name.")
    claims_of = claims if isinstance(claims, Mapping) else dict.fromkeys(by_name, claims)
    if missing := sorted(by_name.keys() - claims_of.keys()):
        raise ConfigError(f"no claims for the loops {missing}")
    engine = Engine(by_name, claims_of, Journal(journal, first_seq), clock, on_event, cancel)
    return await engine.run(limits)
