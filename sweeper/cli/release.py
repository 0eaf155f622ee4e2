"""`sweeper release`."""

from __future__ import annotations

from pathlib import Path

import click

from sweeper.cli import completing, options
from sweeper.cli.console import Console


@click.command()
@click.argument("units", nargs=-1, metavar="[UNIT]...", shell_complete=completing.held_units)
@click.option("--all", "every", is_flag=True, help="Every held unit (of --sweep, or of all).")
@click.option("--sweep", metavar="SWEEP", help="The units' sweep.")
@options.CONFIG
@click.pass_obj
def command(console: Console, units: tuple[str, ...], every: bool, sweep: str | None, config: Path | None) -> int:
    """Give held units back to their ladder.

    Each starts again on the first rung in the next run. UNIT is a title or a key, as `status` and
    `report` print them.
    """
    import anyio

    if bool(units) == every:
        raise click.UsageError("name the units to release, or give --all")
    return anyio.run(_release, console, units, sweep, config)


async def _release(console: Console, names: tuple[str, ...], sweep: str | None, config: Path | None) -> int:
    from sweeper.cli import reading
    from sweeper.errors import ConfigError
    from sweeper.records import UnitState
    from sweeper.report.escape import terminal

    async with reading.ledger(console, config) as (ledger, _):
        if names:
            units = [await reading.unit(ledger, sweep, name) for name in names]
        else:
            units = await reading.held(ledger, [sweep] if sweep else list(await reading.newest(ledger)))
        for queued in units:
            if queued.state is not UnitState.HELD:
                raise ConfigError(
                    f"{queued.unit.title} is {queued.state}, not held", hint="only a held unit waits for a person"
                )
        for queued in units:
            if await ledger.release_held(queued.key):
                console.result(f"{terminal(queued.unit.title)}: released, was held: {terminal(queued.why)}")
    if not units:
        console.say("no unit is held")
    return 0
