"""`sweeper run`."""

from __future__ import annotations

from typing import Any

import click

from sweeper.cli import options
from sweeper.cli.console import Console


@click.command(cls=options.TakesCheck)
@options.what
@click.option(
    "--dry-run",
    type=click.Choice(options.DRY_RUNS),
    help="plan (also without a value): like `sweeper plan`; fix: attempt and verify, but move no branch; pr: and show "
    "the pull request.",
)
@options.PULL_REQUEST
@options.YES
@options.JSON
@options.LIVE
@options.QUIET
@options.VERBOSE
@click.pass_obj
def command(console: Console, /, dry_run: str | None, as_json: bool, no_live: bool, **given: Any) -> int:
    """Drain sweeps: fix their findings, unit by unit, into a verified branch.

    Without arguments: every sweep of the configuration. A check after -- (or with --check) needs no
    configuration; without --fix its ladder is the tool's own fixers:

    \b
        sweeper run -- ruff check .
        ruff check --output-format json . | sweeper run --from - --check "ruff check ."

    With --pull-request the branch is pushed and a draft pull request opened after the first green round,
    updated after every other, and ready when nothing more is tried.

    A dry run with =fix or =pr pays for its attempts and leaves work tree, index, branches and remote as they
    are. The run that follows, on the same base and configuration, lands what it has fixed.

    An unfinished run of the same base and configuration is gone on with. The result is the branch
    sweeper/SWEEP, with one commit per unit and round; your work tree is never touched.
    """
    console.quiet, console.verbose = given.pop("quiet"), given.pop("verbose")
    wanted = options.wanted(given | {"dry_run": dry_run or ""})
    if dry_run == "fix" and wanted.pull_request:
        raise click.UsageError("--dry-run=fix has no pull request: --dry-run=pr shows the one that there would be")

    import anyio

    from sweeper.cli import firing

    if dry_run == "plan":
        return anyio.run(lambda: firing.show_plan(wanted, console, as_json=as_json))
    return anyio.run(lambda: firing.run(wanted, console, as_json=as_json, live=not no_live))
