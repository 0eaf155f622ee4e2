"""What the commands that only read the ledger share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from sweeper.cli import wiring
from sweeper.cli.console import Console
from sweeper.commands import argv
from sweeper.config import file as configfile
from sweeper.config.models import Config, SweepConfig
from sweeper.errors import ConfigError
from sweeper.ledger.contract import Ledger, Queued, Run
from sweeper.records import UnitState

RUNS = 500  # newest runs that are looked through
NEAR = 5


@asynccontextmanager
async def ledger(console: Console, config: Path | None) -> AsyncIterator[tuple[Ledger, Config]]:
    """The ledger of this repository. Raises ConfigError where no run was ever started."""
    async with wiring.untouched_repository() as repo:
        loaded = configfile.load(repo.top, explicit=config, environ=console.environ, overrides={})
        async with wiring.reading(repo, loaded.config) as found:
            if found is None or not await found.runs(1):
                raise ConfigError(f"no sweep was run in {repo.top} yet", hint="`sweeper run` starts one")
            yield found, loaded.config


async def newest(found: Ledger, names: Sequence[str] = ()) -> dict[str, Run]:
    """The newest run of each sweep, or of the named ones. Raises ConfigError for a name that no run has."""
    runs: dict[str, Run] = {}
    for run in sorted(await found.runs(RUNS), key=lambda run: run.created):
        runs[run.sweep] = run
    if unknown := [name for name in names if name not in runs]:
        raise ConfigError(f"no run of a sweep {unknown[0]!r} is known", hint=f"known: {', '.join(sorted(runs))}")
    return {name: run for name, run in sorted(runs.items()) if not names or name in names}


def pick(runs: Sequence[Run], name: str) -> Run:
    """A run by its id or a unique beginning of it. Raises ConfigError."""
    near = [run for run in runs if run.id.startswith(name)]
    exact = [run for run in near if run.id == name]
    if len(exact or near) == 1:
        return (exact or near)[0]
    shown = ", ".join(run.id for run in (near or sorted(runs, key=lambda run: -run.created))[:NEAR])
    raise ConfigError(f"{'several runs begin' if near else 'no run begins'} with {name!r}", hint=f"runs: {shown}")


async def unit(found: Ledger, sweep: str | None, name: str) -> Queued:
    """A unit by key, a beginning of it, or title. Raises ConfigError with the nearest names."""
    queued = await found.unit(sweep, name)
    if queued is not None:
        return queued
    near: list[str] = []
    for each in [sweep] if sweep else await newest(found):
        async for other in found.units(each):
            if name in other.unit.title and len(near) < NEAR:
                near.append(other.unit.title)
    hint = f"units with that in their name: {', '.join(near)}" if near else "`sweeper report` names them"
    raise ConfigError(f"there is no unit {name!r}" + (f" in sweep {sweep!r}" if sweep else ""), hint=hint)


def rungs(sweep: SweepConfig) -> list[str]:
    """One line a rung."""
    return [f"{rung.agent}: {' '.join(argv(rung.run))}" if rung.run else rung.agent for rung in sweep.ladder]


async def held(found: Ledger, sweeps: Sequence[str]) -> list[Queued]:
    return [queued for sweep in sweeps async for queued in found.units(sweep, states=[UnitState.HELD])]
