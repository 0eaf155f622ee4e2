"""`sweeper pr`."""

from __future__ import annotations

from pathlib import Path

import click

from sweeper.cli import options
from sweeper.cli.console import Console


@click.command()
@options.SWEEPS
@options.CONFIG
@options.TRUST_CHECKOUT
@options.JSON
@options.QUIET
@options.VERBOSE
@click.pass_obj
def command(
    console: Console,
    sweeps: tuple[str, ...],
    config: Path | None,
    trust_checkout: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Open or update the pull request of what a run has fixed.

    The newest run of each sweep; nothing is fixed anew. Where the base has moved, the run's commits are put
    on it one by one and judged again. Settings: [pull_request].
    """
    import anyio

    from sweeper.cli import firing_pr

    console.quiet, console.verbose = quiet, verbose
    return anyio.run(lambda: firing_pr.publish(sweeps, config, console, trusted=trust_checkout, as_json=as_json))
