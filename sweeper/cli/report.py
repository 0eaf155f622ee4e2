"""`sweeper report`."""

from __future__ import annotations

from pathlib import Path

import click

from sweeper.cli import completing, options
from sweeper.cli.console import Console


@click.command()
@options.SWEEPS
@click.option(
    "--run",
    "run_id",
    metavar="RUN",
    shell_complete=completing.runs,
    help="This run instead of each sweep's newest one.",
)
@click.option("--markdown", is_flag=True, help="As Markdown, for a pull request or a job summary.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json", "sarif", "rdjson"]),
    help="sarif and rdjson: only what remains, one result a finding.",
)
@options.CONFIG
@options.JSON
@click.pass_obj
def command(
    console: Console,
    sweeps: tuple[str, ...],
    run_id: str | None,
    markdown: bool,
    form: str | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Print the report of a run again.

    Made from the ledger alone: what became of every finding, the attempts, the gate, the cost.
    """
    import anyio

    asked = {name for name, given in (("markdown", markdown), ("json", as_json), (form, form)) if given}
    if len(asked) > 1:
        raise click.UsageError("--format, --markdown and --json exclude each other")
    return anyio.run(_report, console, sweeps, run_id, config, next(iter(asked), None) or "text")


async def _report(console: Console, sweeps: tuple[str, ...], run_id: str | None, config: Path | None, form: str) -> int:
    from sweeper.cli import reading
    from sweeper.cli.group import installed
    from sweeper.report.build import build
    from sweeper.report.document import report_document
    from sweeper.report.markdown import report_markdown
    from sweeper.report.remaining import rdjson, remaining, sarif
    from sweeper.report.text import report_text

    async with reading.ledger(console, config) as (ledger, _):
        newest = await reading.newest(ledger, sweeps)
        runs = [*newest.values()] if run_id is None else [reading.pick(await ledger.runs(reading.RUNS), run_id)]
        if form in ("sarif", "rdjson"):
            rests = [await remaining(ledger, run) for run in runs]
            console.result(sarif(rests, installed() or "0") if form == "sarif" else rdjson(rests))
            return 0
        reports = [await build(ledger, run) for run in runs]
    if form == "json":
        console.result(report_document(reports))
    else:
        console.result("\n".join(map(report_markdown if form == "markdown" else report_text, reports)))
    return 0
