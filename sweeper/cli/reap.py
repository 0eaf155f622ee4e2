"""`sweeper reap`."""

from __future__ import annotations

from pathlib import Path

import click

from sweeper.cli import options
from sweeper.cli.console import Console


@click.command()
@options.CONFIG
@options.JSON
@click.pass_obj
def command(console: Console, config: Path | None, as_json: bool) -> int:
    """Remove the sandboxes that dead coordinators left behind.

    Exactly those that carry this program's marks and whose owner is gone; an agent's of another
    repository only after its deadline, as its own next run may salvage what was paid for. What a
    living coordinator holds stays. Every run does the same when it starts.
    """
    import anyio

    return anyio.run(_reap, console, config, as_json)


async def _reap(console: Console, config: Path | None, as_json: bool) -> int:
    from sweeper.report.document import document

    removed = await reaped(console, config)
    if as_json:
        console.result(document("reap", removed=removed))
        return 0
    for name, number in removed.items():
        console.result(f"{name}: {number:,} removed")
    if not removed:
        console.say("no kind of sandbox works here: there is nothing to remove")
    return 0


async def reaped(console: Console, config: Path | None) -> dict[str, int]:
    """Remove what is dead: kind of sandbox -> how many; none where no kind works. Raises SweeperError.

    The ledger is only asked who lives: one that can't be written to, or none, will do.
    """
    from sweeper.cli import wiring
    from sweeper.config import file as configfile
    from sweeper.reconcile import reap

    removed = {}
    async with wiring.untouched_repository() as repo, wiring.empty() as nothing:
        settings = configfile.load(repo.top, explicit=config, environ=console.environ, overrides={}).config
        async with wiring.every_backend(settings) as backends, wiring.reading(repo, settings) as known:
            for backend in backends:
                removed[backend.name] = await reap(known or nothing, backend)
    return removed
