"""A coordinator in a process of its own, for tests that kill it: `python -m tests.ledger.process MODE URL STATE LOG`.

It writes a line to LOG after each answer of the ledger: what is in LOG was acknowledged.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import anyio

from sweeper.ledger import make_owner, open_ledger
from sweeper.ledger.contract import JournalRow, Ledger
from sweeper.records import Kind, UnitState, Usage
from tests.ledger.builders import RUN, SWEEP, outcome

TASKS = 8


class Log:
    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, *words: object) -> None:
        os.write(self._fd, (" ".join(map(str, words)) + "\n").encode())


async def attempt(ledger: Ledger, key: str, log: Log, to: UnitState) -> None:
    claim = await ledger.claim(key, RUN)
    if claim is None:
        return
    log.write("claim", key, claim.token)
    row = await ledger.start(claim, 0, 1)
    log.write("start", key, row.number)
    if random.random() < 0.1:
        lost = row.number
        row = await ledger.lose(claim, lost, Usage(micro_usd=7))
        log.write("lose", key, lost)
    await ledger.land(claim, outcome(key, row.number, Kind.NOT_FIXED), to, 1)
    log.write("land", key, row.number, claim.token)


async def churn(ledger: Ledger, log: Log) -> None:
    """Until killed: first what dead owners left, then attempts that leave their unit open."""
    await ledger.take_dispatcher(SWEEP)
    for stale in await ledger.stale_claims():
        await ledger.break_claim(stale)
    keys = [queued.key async for queued in ledger.units(SWEEP)]
    fire = f"fire-{os.getpid()}"
    log.write("ready", os.getpid())

    async def task() -> None:
        while True:
            await attempt(ledger, random.choice(keys), log, UnitState.OPEN)

    async def journal() -> None:
        for seq in range(1_000_000):
            ledger.journal(fire, JournalRow(seq, ["time", seq], []))
            await anyio.sleep(0.001)

    async with anyio.create_task_group() as group:
        group.start_soon(journal)
        for _ in range(TASKS):
            group.start_soon(task)


async def drain(ledger: Ledger, log: Log) -> None:
    """Claim and land until the queue is empty."""
    while True:
        page, _ = await ledger.page(RUN, 1, None, 50)
        if not page:
            return
        async with anyio.create_task_group() as group:
            for queued in random.sample(list(page), len(page)):
                group.start_soon(attempt, ledger, queued.key, log, UnitState.SETTLED)


async def main(*words: str) -> None:
    mode, url, state, log = words
    ledger = open_ledger(url, Path(state))
    await ledger.enter(make_owner(), 60.0)
    await {"churn": churn, "drain": drain}[mode](ledger, Log(log))
    await ledger.aclose()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
