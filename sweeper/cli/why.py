"""`sweeper why`."""

from __future__ import annotations

from pathlib import Path

import click

from sweeper.cli import completing, options
from sweeper.cli.console import Console


@click.command()
@click.argument("unit", shell_complete=completing.units)
@click.option("--sweep", metavar="SWEEP", help="The unit's sweep, where several have a unit of that name.")
@options.CONFIG
@options.JSON
@click.pass_obj
def command(console: Console, unit: str, sweep: str | None, config: Path | None, as_json: bool) -> int:
    """Tell a unit's whole story, attempt by attempt.

    UNIT is a title as the report prints it, a key, or the beginning of a key.
    """
    import anyio

    return anyio.run(_why, console, unit, sweep, config, as_json)


async def _why(console: Console, name: str, sweep: str | None, config: Path | None, as_json: bool) -> int:
    from sweeper.cli import reading
    from sweeper.config.models import SweepConfig
    from sweeper.report.build import story
    from sweeper.report.document import story_document
    from sweeper.report.text import story_text

    async with reading.ledger(console, config) as (ledger, _):
        queued = await reading.unit(ledger, sweep, name)
        told = await story(ledger, queued)
        runs = dict.fromkeys(attempt.run for attempt in told.tries)
        rungs = {}
        for run in runs:
            ran = (await ledger.notes(run)).get("config")
            rungs[run] = reading.rungs(SweepConfig.model_validate(ran)) if ran else []
    console.result(story_document(told) if as_json else story_text(told, rungs))
    return 0
