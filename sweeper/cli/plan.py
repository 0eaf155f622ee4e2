"""`sweeper plan`."""

from __future__ import annotations

from typing import Any

import click

from sweeper.cli import options
from sweeper.cli.console import Console


@click.command(cls=options.TakesCheck)
@options.what
@click.option("--prompts", is_flag=True, help="Print the prompt that each unit's agent would get.")
@options.JSON
@options.QUIET
@options.VERBOSE
@click.pass_obj
def command(console: Console, /, as_json: bool, prompts: bool, **given: Any) -> int:
    """Show what a run would do; starts no agent and changes nothing.

    Runs the check in a sandbox and prints the units, the rungs, what is skipped and why, and the
    limits. Exit code 1 if there is something to do, 0 if not.
    """
    console.quiet, console.verbose = given.pop("quiet"), given.pop("verbose")
    wanted = options.wanted(given)

    import anyio

    from sweeper.cli import firing

    return anyio.run(lambda: firing.show_plan(wanted, console, as_json=as_json, prompts=prompts))
