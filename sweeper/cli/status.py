"""`sweeper status`."""

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
    """Show where each sweep stands.

    Units by state, the newest run and its round, and the units that wait for a person.
    """
    import anyio

    return anyio.run(_status, console, config, as_json)


async def _status(console: Console, config: Path | None, as_json: bool) -> int:
    from sweeper.cli import reading
    from sweeper.records import UnitState
    from sweeper.report.document import document
    from sweeper.report.escape import terminal
    from sweeper.scheduler import Why

    rows = []
    async with reading.ledger(console, config) as (ledger, _):
        for sweep, run in (await reading.newest(ledger)).items():
            counts = await ledger.counts(run.id)
            held = [{"unit": q.unit.title, "key": q.key, "why": q.why} for q in await reading.held(ledger, [sweep])]
            notes = await ledger.notes(run.id)
            rows.append(
                {
                    "sweep": sweep,
                    "run": run.id,
                    "base": run.base,
                    "tip": run.tip,
                    "branch": notes.get("branch", ""),
                    "dry_run": notes.get("dry_run", ""),
                    "round": run.round,
                    "phase": run.phase,
                    "ended": run.ended,
                    "units": counts.units,
                    "outcomes": counts.outcomes,
                    "held": held,
                }
            )
    if as_json:
        console.result(document("status", sweeps=rows))
        return 0
    for row in rows:
        # as the report says it: nothing more is tried, and yet something is left
        left = row["ended"] == Why.DRAINED and sum(row["units"].values()) > row["units"].get(UnitState.SETTLED, 0)
        state = (
            "nothing more to try"
            if left
            else row["ended"] or f"not finished, phase {row['phase']}: `sweeper resume` goes on"
        )
        console.result(f"{terminal(row['sweep'])}: run {row['run']}, round {row['round']}, {terminal(state)}")
        for name in ("units", "outcomes"):
            said = ", ".join(f"{number:,} {key}" for key, number in sorted(row[name].items()) if number)
            console.result(f"  {name:<9} {said or 'none'}")
        if row["dry_run"]:
            console.result(f"  dry run   {row['tip'][:12]}; `sweeper run` lands it and pays for nothing again")
        elif row["branch"]:
            console.result(f"  branch    {terminal(row['branch'])}")
        for each in row["held"]:
            console.result(f"  held      {terminal(each['unit'])}: {terminal(each['why'])}")
    return 0
