"""`sweeper resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sweeper.cli import options
from sweeper.cli.console import Console


@click.command()
@options.SWEEPS
@options.CONFIG
@options.how
@options.PULL_REQUEST
@options.YES
@options.JSON
@options.LIVE
@options.QUIET
@options.VERBOSE
@click.pass_obj
def command(
    console: Console,
    /,
    sweeps: tuple[str, ...],
    config: Path | None,
    as_json: bool,
    no_live: bool,
    quiet: bool,
    verbose: bool,
    **limits: Any,
) -> int:
    """Go on with the runs that were not finished.

    With the check, ladder and base that they were started with, also those of a check that was given
    on the command line. A run that was started with --pull-request goes on with it.
    """
    import anyio

    from sweeper.cli import firing

    console.quiet, console.verbose = quiet, verbose
    wanted = options.Wanted(sweeps=sweeps, config=config, **limits)
    return anyio.run(lambda: firing.resume(wanted, console, as_json=as_json, live=not no_live))
