"""`sweeper replay`."""

from __future__ import annotations

from pathlib import Path

import click

from sweeper.cli import options
from sweeper.cli.console import Console


@click.command()
@click.argument("run", required=False)
@options.CONFIG
@options.JSON
@click.pass_obj
def command(console: Console, run: str | None, config: Path | None, as_json: bool) -> int:
    """Feed a run's journal to a new scheduler and compare every command.

    RUN is a run's id or the beginning of one; without it the newest run. Starts nothing. Exit code 0
    if every command is the one that was written down, else 70.
    """
    import anyio

    return anyio.run(_replay, console, run, config, as_json)


async def _replay(console: Console, name: str | None, config: Path | None, as_json: bool) -> int:
    from sweeper.cli import reading
    from sweeper.errors import ConfigError
    from sweeper.replay import replay
    from sweeper.report.document import document
    from sweeper.report.escape import terminal

    async with reading.ledger(console, config) as (ledger, _):
        runs = await ledger.runs(reading.RUNS)
        run = reading.pick(runs, name) if name else max(runs, key=lambda run: run.created)
        fires = (await ledger.notes(run.id)).get("fires", [])
        if not fires:
            raise ConfigError(f"run {run.id} has no journal", hint="nothing was dispatched in it")
        reports = {fire: replay([row async for row in ledger.journal_rows(fire)]) for fire in fires}
    if as_json:
        console.result(document("replay", run=run.id, fires=reports))
    for fire, report in reports.items() if not as_json else ():
        ended = "to its end" if report.complete else "as far as it was written"
        same = "every command is the same"
        if report.difference is not None:
            differs = report.difference
            same = f"row {differs.seq}: {differs.why}; event {differs.event}, expected {differs.expected}, "
            same += f"written down {differs.found}"
        console.result(f"fire {terminal(fire)}: {report.rows:,} events, {ended}: {terminal(same, 2000)}")
    return 70 if any(report.difference is not None for report in reports.values()) else 0
