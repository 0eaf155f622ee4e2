"""`sweeper doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sweeper.cli import options
from sweeper.cli.console import Console

if TYPE_CHECKING:
    from sweeper.cli.examination import Row

NO_SANDBOX = 4


@click.command()
@options.CONFIG
@options.JSON
@click.pass_obj
def command(console: Console, config: Path | None, as_json: bool) -> int:
    """Say what works here, and what to do about the rest.

    Exit code 0 if a run can work, else 4. Changes nothing in the repository.
    """
    import anyio

    return anyio.run(_doctor, console, config, as_json)


async def _doctor(console: Console, config: Path | None, as_json: bool) -> int:
    from sweeper.cli.examination import examine
    from sweeper.report.document import document

    rows = await examine(config, console.environ)
    works = any(row.ok for row in rows if row.group == "sandbox") and all(row.ok for row in rows if row.needed)
    if as_json:
        console.result(document("doctor", works=works, rows=rows))
    else:
        for row in rows:
            console.result(_line(row))
        console.result("a run can work here" if works else "a run cannot work here")
    return 0 if works else NO_SANDBOX


def _line(row: Row) -> str:
    from sweeper.report.escape import terminal

    mark = "ok" if row.ok else "NO" if row.needed or row.group == "sandbox" else "--"
    lines = [f"{mark:<3} {row.name:<12} {terminal(row.said)}"]
    lines += [f"{'':<16} {terminal(more)}" for more in row.more]
    return "\n".join(lines)
