"""What completes the names of units and runs: read from the ledger, quietly, and nothing where there is none."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import click

MOST = 200  # names that are offered
PATIENCE = 2.0  # seconds; a shell waits for it


def units(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Titles of units, of --sweep or of all."""
    return _names(ctx, incomplete, held=False)


def held_units(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return _names(ctx, incomplete, held=True)


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Ids of runs, the newest first."""
    from sweeper.ledger.contract import Ledger

    async def read(ledger: Ledger) -> list[str]:
        return [run.id for run in await ledger.runs(MOST) if run.id.startswith(incomplete)]

    return _asked(ctx, read)


def _names(ctx: click.Context, incomplete: str, *, held: bool) -> list[str]:
    from sweeper.cli import reading
    from sweeper.ledger.contract import Ledger
    from sweeper.records import UnitState

    async def read(ledger: Ledger) -> list[str]:
        chosen = ctx.params.get("sweep")
        found: dict[str, None] = {}
        for sweep in [chosen] if chosen else await reading.newest(ledger):
            async for queued in ledger.units(sweep, states=[UnitState.HELD] if held else ()):
                title = queued.unit.title
                if title.startswith(incomplete) and title.isprintable():
                    found[title] = None
                if len(found) >= MOST:
                    return list(found)
        return list(found)

    return _asked(ctx, read)


def _asked(ctx: click.Context, read: Callable[..., Awaitable[list[str]]]) -> list[str]:
    import anyio

    from sweeper.cli import wiring
    from sweeper.config import file as configfile
    from sweeper.errors import SweeperError

    path: Path | None = ctx.params.get("config")

    async def ask() -> list[str]:
        with anyio.move_on_after(PATIENCE):
            async with wiring.repository() as repo:
                loaded = configfile.load(repo.top, explicit=path, environ=os.environ, overrides={})
                async with wiring.reading(repo, loaded.config) as ledger:
                    return await read(ledger) if ledger is not None else []
        return []

    try:
        return anyio.run(ask)
    except (SweeperError, OSError):
        return []
