"""`sweeper demo`."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from sweeper.cli import options
from sweeper.cli.console import Console

SWEEP = "ruff"
SHOWN = 60  # lines of the branch's diff


@click.command()
@click.option("--into", type=click.Path(path_type=Path), help="Make the project there, not in a temporary folder.")
@options.LIVE
@options.QUIET
@options.VERBOSE
@click.pass_obj
def command(console: Console, into: Path | None, no_live: bool, quiet: bool, verbose: bool) -> int:
    """Drain a small project and watch it.

    Copies the quickstart, a working package with tests and genuine findings, into a folder that
    stays, drains it with three rungs, and shows the branch's diff and the report. Needs neither
    root nor docker.
    """
    import anyio

    console.quiet, console.verbose = quiet, verbose
    return anyio.run(_demo, console, into, not no_live, started_as())


def started_as() -> str:
    """How to start this program again, from any folder: without its path only where PATH finds it."""
    program = Path(sys.argv[0]).absolute()
    if program.name != "sweeper":
        return shlex.join([sys.executable, "-m", "sweeper"])
    found = shutil.which("sweeper")
    return "sweeper" if found and Path(found).absolute() == program else shlex.quote(str(program))


async def _demo(console: Console, into: Path | None, live: bool, program: str) -> int:
    import os

    from sweeper.cli import firing, project, signals
    from sweeper.report.escape import terminal

    folder = project.make(into)
    os.chdir(folder)
    console.say(f"the project: {folder}")
    with signals.caught(console.warn) as caught:
        fired = await firing.drain_once(options.Wanted(sweeps=(SWEEP,)), console, caught, live=live)
        branch = fired.reports[0].branch if fired else ""
        if branch:
            stat, diff = project.difference(folder, branch)
            lines = diff.splitlines()
            console.result("\n".join(terminal(line) for line in (*stat.splitlines(), "", *lines[:SHOWN])))
            if len(lines) > SHOWN:
                console.result(f"... {len(lines) - SHOWN:,} more lines: cd {folder} && git diff main..{branch}")
            console.result("")
        code = firing.finish([fired] if fired else [], caught, console, as_json=False)
    console.say(f"the project stays in {folder}: `{program} why larder/orders.py` there tells a unit's story")
    return code
