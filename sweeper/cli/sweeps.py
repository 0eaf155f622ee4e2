"""Command line and configuration -> the sweeps to run."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from sweeper.backlog.tools import GENERIC, recognise
from sweeper.cli.console import Console
from sweeper.cli.options import Wanted
from sweeper.commands import argv
from sweeper.config import file as configfile
from sweeper.config.models import Config, SweepConfig
from sweeper.errors import ConfigError
from sweeper.order import with_default_ladder

PAID = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY"}  # agents that end a ladder of itself, and their keys


@dataclass(frozen=True)
class Settled:
    """The configuration with the command line in it, and the sweeps to run, with their ladders.

    `bare`: sweeps without a rung though none is written, and why; the way out is each one's hint.
    """

    config: Config
    sweeps: Mapping[str, SweepConfig]
    path: Path | None = None
    bare: Mapping[str, ConfigError] = field(default_factory=dict)

    def digest(self, sweep: str) -> str:
        return configfile.digest(self.config.model_copy(update={"sweep": dict(self.sweeps)}), sweep)


def settle(wanted: Wanted, top: Path, console: Console, *, bare: bool = False) -> Settled:
    """Raises ConfigError for a sweep that there is not, or none at all, and unless `bare` for one without a rung."""
    loaded = _load(wanted, top, console)
    if wanted.check:
        sweeps = {_name(wanted): _ad_hoc(wanted)}
        if loaded.config.sweep and not wanted.sweeps:
            console.detail(f"sweeper: the check of the command line is run, not the sweeps of {loaded.path}")
        config = loaded.config
    else:
        names = _names(wanted.sweeps, loaded, top)
        changes = {f"sweep.{name}.{key}": value for name in names for key, value in _changes(wanted).items()}
        overrides = _limits(wanted) | changes
        config = configfile.load(top, explicit=wanted.config, environ=console.environ, overrides=overrides).config
        sweeps = {_called(name, wanted): config.sweep[name] for name in names}
    in_image = config.sandbox.backend == "docker"
    laddered = {
        name: with_default_ladder(sweep, paid(console.environ, in_image=in_image)) for name, sweep in sweeps.items()
    }
    without = {
        name: ConfigError(
            f"no ladder is configured and {argv(sweep.check)[0]!r} has no fixer of its own",
            hint=f'--fix "fixer {{files}}" gives a rung, and so does run = "fixer {{files}}" below '
            f"[[sweep.{name}.ladder]]\n{_agents(console.environ)}\n`ladder = []` holds everything for a person",
        )
        for name, sweep in sweeps.items()
        if not laddered[name].ladder and "ladder" not in sweep.model_fields_set
    }
    if without and not bare:
        raise next(iter(without.values()))
    return Settled(config, laddered, loaded.path, without)


def paid(environ: Mapping[str, str], *, in_image: bool) -> list[str]:
    """Agents that a ladder may end with: their key is set, and their program is here or comes in an image."""
    return [
        agent
        for agent, key in PAID.items()
        if configfile.credential(environ, key) and (in_image or shutil.which(agent, path=environ.get("PATH")))
    ]


def _agents(environ: Mapping[str, str]) -> str:
    """What is missing to end a ladder with one of the agents."""
    here = [agent for agent in PAID if shutil.which(agent, path=environ.get("PATH"))]
    keys = [agent for agent, key in PAID.items() if configfile.credential(environ, key)]
    if here:
        return "an agent is a rung too: " + ", or ".join(f"{agent} is here, export {PAID[agent]}" for agent in here)
    if keys:
        missing = ", or ".join(f"{PAID[agent]} is set, install {agent} or take --sandbox docker" for agent in keys)
        return f"an agent is a rung too: {missing}"
    return f"an agent is a rung too: install one of {', '.join(PAID)} and export {' or '.join(PAID.values())}"


def settings(wanted: Wanted, top: Path, console: Console) -> Config:
    """The configuration with the limits of the command line in it."""
    return _load(wanted, top, console).config


def _load(wanted: Wanted, top: Path, console: Console) -> configfile.Loaded:
    loaded = configfile.load(top, explicit=wanted.config, environ=console.environ, overrides=_limits(wanted))
    if loaded.ignored:
        console.warn(f"sweeper: no such setting, ignored: {', '.join(loaded.ignored)}")
    return loaded


def _limits(wanted: Wanted) -> dict[str, Any]:
    return {
        "limits.slots": wanted.slots,
        "limits.units_per_fire": wanted.units_per_fire,
        "limits.wall": wanted.wall,
        "sandbox.backend": wanted.sandbox,
    }


def _changes(wanted: Wanted) -> dict[str, Any]:
    """What the command line says about a sweep, key -> value."""
    given = {
        "format": wanted.format,
        "test": wanted.test,
        "partition": wanted.partition,
        "max_rounds": wanted.max_rounds,
        "slots": wanted.slots,
        "setup": list(wanted.setup) or None,
        "ladder": [{"run": command} for command in wanted.fix] or None,
    }
    return {key: value for key, value in given.items() if value is not None}


def _names(asked: Sequence[str], loaded: configfile.Loaded, top: Path) -> list[str]:
    config = loaded.config
    if not config.sweep:
        way_out = f"add a [sweep.NAME] to {loaded.path}" if loaded.path else "`sweeper init` writes a sweeper.toml"
        raise ConfigError(
            f"no sweep is configured for {top}",
            hint=f"{way_out}; without one give the check: sweeper run -- ruff check .",
        )
    unknown = [name for name in asked if name not in config.sweep]
    if unknown:
        known = ", ".join(config.sweep)
        raise ConfigError(f"there is no sweep {unknown[0]!r}", hint=f"configured are: {known}")
    return list(dict.fromkeys(asked)) or list(config.sweep)


def _ad_hoc(wanted: Wanted) -> SweepConfig:
    check = wanted.check if isinstance(wanted.check, str) else list(wanted.check)
    try:
        return SweepConfig.model_validate({"check": check, **_changes(wanted)})
    except ValidationError as problem:
        error = problem.errors(include_url=False)[0]
        key = ".".join(map(str, error["loc"]))
        what = error["msg"].removeprefix("Value error, ")
        raise ConfigError(
            f"the command line: {key} = {error['input']!r}: {what}", hint="see `sweeper run --help`"
        ) from None


def _name(wanted: Wanted) -> str:
    """A sweep of the command line is called as its one SWEEP argument says, else as its tool."""
    if len(wanted.sweeps) > 1:
        raise ConfigError("a check of the command line is one sweep", hint=f"name one of {', '.join(wanted.sweeps)}")
    if wanted.sweeps:
        return _called(wanted.sweeps[0], wanted)
    words = argv(wanted.check)
    tool = recognise(words)
    name = tool.name if tool is not GENERIC else PurePosixPath(words[0]).name
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", os.fsencode(name).decode("ascii", "replace")).strip(".-_")[:58] or "check"
    return _called(plain, wanted)


def _called(name: str, wanted: Wanted) -> str:
    """Given findings are a part of what a check finds: a sweep of their own, so that the whole one keeps its branch,
    and its units their places.
    """
    return f"{name}-given" if wanted.source else name
