"""What `doctor` looks at, one row each."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sweeper import agents
from sweeper.cli import event, wiring
from sweeper.commands import argv, programs_of
from sweeper.config import file as configfile
from sweeper.config.models import Config, RungConfig, SweepConfig
from sweeper.errors import SweeperError
from sweeper.repo import Repo
from sweeper.repo.run import Git
from sweeper.report.phrases import count
from sweeper.sandbox.contract import Backend, Probe

NOT_TRIED = "not tried here: what it would spend can't be limited"
ENOUGH = 1 << 30  # bytes of free disk space


@dataclass(frozen=True, slots=True)
class Row:
    """One fact. `needed`: without it no run works. `more`: details and the way out."""

    group: str
    name: str
    ok: bool
    said: str
    more: tuple[str, ...] = ()
    needed: bool = False


async def examine(explicit: Path | None, environ: Mapping[str, str]) -> list[Row]:
    """Everything, in the order in which it is worth repairing."""
    rows = [Row("python", "python", True, f"{platform.python_version()} at {sys.executable}", needed=True)]
    config = Config()
    try:
        rows.append(Row("git", "git", True, Git(None).run("--version").decode("utf-8", "replace").strip(), needed=True))
        async with wiring.repository() as repo:
            rows.append(Row("git", "repository", True, f"{repo.top}, state in {repo.state}", needed=True))
            config, row = _configuration(repo.top, explicit, environ)
            wiring.forget_keys(config)
            rows += [row, _disk(repo.state), await _ledger(repo, config)]
    except SweeperError as problem:
        rows.append(Row("git", "repository", False, str(problem), tuple(problem.hint.splitlines()), needed=True))
    rows += [_sandbox(probe) for probe in await wiring.probes(config)]
    for name, sweep in config.sweep.items():
        rows += _tools(name, sweep)
    if any(row.ok for row in rows if row.group == "sandbox"):
        rows += await _agents(config, environ)
    return rows


async def _agents(config: Config, environ: Mapping[str, str]) -> list[Row]:
    """Each agent with a model, tried for real on a small file: where a run would find out unit by unit."""
    asked: dict[tuple[str, str], tuple[SweepConfig, RungConfig]] = {}
    rows: list[Row] = []
    for sweep in config.sweep.values():
        for rung in sweep.ladder:
            if words := agents.injection(rung):
                rows.append(Row("agents", "injection", True, f"PLAIN INJECTION: {words}", (NOT_TRIED,)))
            elif needs := agents.needs(rung):
                asked.setdefault((rung.agent, needs.model), (sweep, rung))
    if not asked:
        return rows
    started_by = event.event_of(environ)
    if started_by.fork or started_by.armed:
        return [
            *rows,
            Row("agents", "agents", True, f"not tried: the event {started_by.name} is no place to use a key"),
        ]
    async with wiring.first_backend(config, [sweep for sweep, _ in asked.values()]) as backend:
        for (agent, model), (sweep, rung) in asked.items():
            rows.append(await _agent(backend, f"{agent} with {model}", sweep, rung, config, environ))
    return rows


async def _agent(
    backend: Backend, title: str, sweep: SweepConfig, rung: RungConfig, config: Config, environ: Mapping[str, str]
) -> Row:
    from sweeper.attempt.rehearsal import rehearse
    from sweeper.providers import settle

    name = f"agent {rung.agent}"
    try:
        (provider,) = settle([sweep.model_copy(update={"ladder": [rung]})], config.provider, environ)
        done = await rehearse(backend, sweep, rung, provider)
    except SweeperError as problem:
        return Row("agents", name, False, f"{title}: {problem}", tuple(problem.hint.splitlines()), needed=True)
    cost = f"${done.usage.micro_usd / 1e6:.4f}, {done.seconds:.1f} s on {backend.name}"
    if done.why:
        return Row("agents", name, False, f"{title}: {done.why} ({cost})", done.lines, needed=True)
    return Row("agents", name, True, f"{title}: starts, reaches its model, edits a file ({cost})")


def _configuration(top: Path, explicit: Path | None, environ: Mapping[str, str]) -> tuple[Config, Row]:
    name = "configured"
    try:
        loaded = configfile.load(top, explicit=explicit, environ=environ, overrides={})
    except SweeperError as problem:
        said, *rest = str(problem).splitlines()
        return Config(), Row("config", name, False, said, (*rest, *problem.hint.splitlines()), needed=True)
    sweeps = ", ".join(loaded.config.sweep)
    if loaded.path is None:
        return loaded.config, Row("config", name, True, "no sweeper.toml", ("`sweeper init` writes one",))
    more = (f"no such setting, ignored: {', '.join(loaded.ignored)}",) if loaded.ignored else ()
    return loaded.config, Row("config", name, True, f"{loaded.path}: {sweeps or 'no sweep'}", more)


def _disk(state: Path) -> Row:
    free = shutil.disk_usage(state).free
    more = () if free >= ENOUGH else ("sandboxes need room for what they write: free some, or set SWEEPER_STATE",)
    return Row("disk", "disk", free >= ENOUGH, f"{free / 1e9:,.1f} GB free at {state}", more)


async def _ledger(repo: Repo, config: Config) -> Row:
    try:
        async with wiring.reading(repo, config) as ledger:
            if ledger is None:
                return Row("ledger", "ledger", True, f"none yet; SQLite in {repo.state}")
            runs = len(await ledger.runs(1000))
    except SweeperError as problem:
        return Row("ledger", "ledger", False, str(problem), tuple(problem.hint.splitlines()), needed=True)
    if config.ledger.url:
        return Row(
            "ledger", "ledger", True, f"{config.ledger.url.partition('@')[2] or 'PostgreSQL'}: {count(runs, 'run')}"
        )
    path = repo.state / "ledger.sqlite3"
    with path.open("rb") as file:
        mode = "WAL" if file.read(20)[18:] == b"\2\2" else "rollback journal"  # the header's write and read version
    return Row("ledger", "ledger", True, f"{path}, {path.stat().st_size / 1e6:,.1f} MB, {mode}, {count(runs, 'run')}")


def _sandbox(probe: Probe) -> Row:
    if not probe.ok:
        return Row("sandbox", probe.backend, False, probe.why or "does not work", tuple(probe.hint.splitlines()))
    limits = ", ".join(f"{name} by {how}" for name, how in probe.enforced.items())
    more = (*((f"limits: {limits}",) if limits else ()), *probe.notes)
    return Row("sandbox", probe.backend, True, f"works, {probe.version}".rstrip(", "), more)


def _tools(name: str, sweep: SweepConfig) -> Iterator[Row]:
    """The programs that a sweep starts, as bubblewrap finds them: in an image they are looked for when it runs."""
    commands = [sweep.check, sweep.test, *[rung.run for rung in sweep.ladder]]
    programs = dict.fromkeys(program for command in commands for program in programs_of(argv(command)))
    beside = os.path.dirname(sys.executable)
    missing = [p for p in programs if shutil.which(p) is None and shutil.which(p, path=beside) is None and "/" not in p]
    said = f"{', '.join(missing)} not found on this machine" if missing else ", ".join(programs)
    if missing and sweep.setup:
        yield Row("tools", f"sweep {name}", True, f"{said}: its setup is to bring what is missing")
        return
    hint = "install it, or add it with setup = [...]; docker has its own in the image"
    yield Row("tools", f"sweep {name}", not missing, said, (hint,) if missing else ())
