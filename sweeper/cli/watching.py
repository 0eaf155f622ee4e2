"""Which view watches a fire, and what keeps it moving."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import anyio

from sweeper.cli.console import Console
from sweeper.ledger.contract import Ledger
from sweeper.live import Lines, Live, View

TICK = 0.25  # seconds between two pictures of the live view
ASK = 4  # ticks between two questions to the ledger


def view(console: Console, *, live: bool) -> View:
    now = time.time()
    if live and console.interactive and not console.quiet:
        from rich.console import Console as Rich

        rich = Rich(file=sys.stderr, no_color=not console.colour, highlight=False, markup=False, emoji=False)
        return Live(rich, now)
    return Lines(console.sink if not console.quiet else lambda line: None, now)


async def ticking(view: Live, sweeps: Sequence[str], ledger: Ledger) -> None:
    tick = 0
    while True:
        if tick % ASK == 0:
            await _tell(view, sweeps, ledger)
        tick += 1
        view.tick(time.time())
        await anyio.sleep(TICK)


async def _tell(view: Live, sweeps: Sequence[str], ledger: Ledger) -> None:
    rounds: dict[str, int] = {}
    units: dict[str, int] = {}
    later = 0
    for sweep in sweeps:
        run = await ledger.latest_run(sweep)
        if run is None or run.ended:
            continue
        rounds[sweep] = run.round
        counts = await ledger.counts(run.id)
        later += counts.later
        for state, number in counts.units.items():
            units[state] = units.get(state, 0) + number
    if rounds:
        view.board.told(rounds, units, later)
