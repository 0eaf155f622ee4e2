"""What a fire is told: which sweeps, with what tools; and what the attempts of one sweep share."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio

from sweeper import agents, prompt
from sweeper.backlog.check import Check
from sweeper.backlog.child import Parser
from sweeper.backlog.tools import GENERIC, recognise
from sweeper.backlog.tools.commandline import unwrap
from sweeper.commands import argv
from sweeper.config.models import LimitsConfig, RungConfig, SandboxConfig, SweepConfig
from sweeper.errors import ConfigError
from sweeper.forge.contract import Published
from sweeper.gate.green import Judge
from sweeper.ledger.contract import Ledger, Run
from sweeper.policy import RULES, TEST_CONFIG, Level, Scope
from sweeper.records import Owner
from sweeper.repo import Repo
from sweeper.sandbox.contract import Backend, Limits, Toolchain
from sweeper.sandbox.sandboxing import Sandboxing
from sweeper.sweep.selection import Selection
from sweeper.verify.verifiers import Verifiers
from sweeper.workshop import Workshop

if TYPE_CHECKING:  # slow to import, and only paid agents need it
    from sweeper.gateway import Gateway, Provider

LOCAL_FOLDERS = ("node_modules/.bin", ".venv/bin")


@dataclass(frozen=True)
class Order:
    """What is to be done. `digest`: the configuration digest of a sweep by name; equal base and digest resume.

    `providers`: those that the ladders ask for models, with their keys. `secrets`: whatever else no change may hold.
    `dry_run`: what is done without moving a branch: "fix" the fire alone, "pr" the pull requests on paper too; "" for
    a run that lands what it fixes.
    """

    sweeps: Mapping[str, SweepConfig]
    digest: Callable[[str], str]
    base: str = "HEAD"
    fresh: bool = False
    selection: Selection | None = None
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    sandbox: SandboxConfig = field(default_factory=SandboxConfig)
    lease: float = 60.0
    providers: tuple[Provider, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)
    dry_run: str = ""

    @property
    def known_secrets(self) -> tuple[bytes, ...]:
        """What no change, outcome or log may hold: the providers' keys and `secrets`."""
        keys = (provider.key for provider in self.providers)
        return tuple(secret.encode("utf-8", "surrogateescape") for secret in (*keys, *self.secrets))

    def run_digest(self, name: str) -> str:
        """What tells this sweep's run from another one on the same base: its configuration and what was handed in."""
        return f"{self.digest(name)} {self.selection.digest}" if self.selection else self.digest(name)


class Publisher(Protocol):
    """How a run's tip becomes pull requests."""

    async def preflight(self, sweeps: Sequence[str]) -> None:
        """Before anything is spent. Raises ForgeFailed, DispatcherBusy."""

    async def publish(self, run: Run, judge: Judge) -> Sequence[Published]:
        """The pull requests as they were read back; `run.ended` says whether more is to come. Raises SweeperError."""


@dataclass(frozen=True)
class Tools:
    """What it is done with; wired by the command line. `state`: the folder of the ledger, logs and locks.

    `publisher`: None where no pull request is wanted.
    """

    repo: Repo
    ledger: Ledger
    backend: Backend
    parser: Parser
    owner: Owner
    state: Path
    prompts: Path | None = None
    publisher: Publisher | None = None


@dataclass
class Hooks:
    """How it is watched and stopped."""

    say: Callable[[str], None] = lambda line: None
    on_event: Callable[..., None] | None = None
    cancel: anyio.Event = field(default_factory=anyio.Event)


def scope(config: SweepConfig) -> Scope:
    return Scope(globs=tuple(config.scope), allow=tuple(config.allow))


def workshop(
    name: str,
    config: SweepConfig,
    order: Order,
    tools: Tools,
    run: str,
    gateway: Gateway | None = None,
    limiter: anyio.CapacityLimiter | None = None,
) -> Workshop:
    """Everything that the attempts of one sweep share; all of a fire share `limiter`, the verifiers at once.

    Raises ConfigError for a ladder that can't work.
    """
    for rung in config.ladder:
        prompt.find(rung.prompt, tools.prompts)
    written = argv(config.check)
    tool = recognise(written)
    sandboxing = Sandboxing(
        tools.backend,
        logs=tools.state / "logs" / run,
        limits=_limits(order.sandbox),
        fire=tools.owner.id,
    )
    check = Check(
        sandboxing,
        tools.parser,
        tool,
        # never as it was written: a check that repairs, hides or prints for people would prove nothing
        tuple(tool.check(written)),
        argv(config.unit_check) or tuple(tool.unit_check(written)),
        # whoever lets suppressions pass by configuration need not have the gate eject them
        tuple(tool.without_suppressions(tool.check(written))) if suppressions_reject(config) else (),
        root=config.root,
        format=config.format,
        pattern=config.pattern,
        project_wide=config.project_wide,
    )
    return Workshop(
        name=name,
        run=run,
        config=config,
        sandboxing=sandboxing,
        toolchain=toolchain(config),
        repo=tools.repo,
        check=check,
        scope=scope(config),
        verifiers=Verifiers(tools.repo, limiter, config.verify_batch),
        steering=steering(config),
        severities=severities(name, config),
        prompts=tools.prompts,
        secrets=order.known_secrets,
        gateway=gateway,
        protocols={provider.name: str(provider.protocol) for provider in order.providers},
        usd_per_attempt=order.limits.usd_per_attempt,
    )


def suppressions_reject(config: SweepConfig) -> bool:
    return config.policy.get("suppression", RULES["suppression"].severity) == Level.REJECT


def severities(name: str, config: SweepConfig) -> dict[str, Level]:
    """The sweep's own severities. Raises ConfigError for a rule that is none, or is the same everywhere."""
    for rule in config.policy:
        if rule not in RULES:
            near = difflib.get_close_matches(rule, RULES, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "The rules are in docs/policy.md."
            raise ConfigError(f"sweep.{name}.policy: there is no rule {rule!r}", hint=hint)
        if RULES[rule].firm:
            raise ConfigError(
                f"sweep.{name}.policy: the severity of {rule!r} can't be changed",
                hint="`allow` and `scope` of the sweep say which paths may be changed.",
            )
    return {rule: Level(level) for rule, level in config.policy.items()}


def steering(config: SweepConfig) -> tuple[str, ...]:
    """Files that decide what check and tests say: what their commands name, and what a test run reads by itself."""
    commands = [argv(command) for command in (config.check, config.unit_check, config.test, config.unit_test)]
    named = {posixpath.basename(word) for command in commands for word in _read_by(command)}
    if argv(config.test):
        named |= set(TEST_CONFIG)
        named |= {"Makefile", "makefile", "GNUmakefile"} if "make" in argv(config.test) else set()
    return tuple(sorted(named - {"", ".", ".."}))


def _read_by(command: Sequence[str]) -> list[str]:
    """The files that a command line names for more than to be looked at.

    A known linter's plain words are what it checks; of any other program each may be a script that it runs.
    """
    if recognise(command).name != GENERIC.name:
        options = [word.partition("=") for word in command]
        after = [second for first, second in pairwise(command) if first.startswith("-") and "conf" in first]
        return after + [value for option, _, value in options if option.startswith("-") and "conf" in option and value]
    return [word for word in command[1:] if "." in word and not word.startswith("-")]


def toolchain(config: SweepConfig) -> Toolchain:
    """Every program that check, agents and tests start. Raises ConfigError for a ladder that can't work."""
    written = argv(config.check)
    tool = recognise(written)
    commands = [tool.check(written), argv(config.unit_check) or tool.unit_check(written)]
    commands += [argv(config.test), argv(config.unit_test)]
    # A shell that hands a list of files to the tool is started as well as the tool.
    wanted = [words[0] for command in commands if command for words in (command, unwrap(command).words)]
    for rung in config.ladder:
        wanted += agents.find(rung.agent).tools(rung)
        wanted += ["python3"] if agents.needs(rung) else []  # for the forwarder
    return Toolchain(
        name=config.toolchain,
        image=config.image,
        tools=tuple(dict.fromkeys(wanted)),
        setup=tuple(argv(line) for line in config.setup),
        local=local_folders(config) if config.setup else (),
        agents=agents.imaged(config.ladder),
    )


def local_folders(config: SweepConfig) -> tuple[str, ...]:
    """Where package managers put programs in the work tree: below the sweep's root first, then below the top."""
    roots = dict.fromkeys([config.root.strip("/"), "."])
    return tuple(posixpath.normpath(f"{root}/{folder}") for root in roots for folder in LOCAL_FOLDERS)


def with_default_ladder(config: SweepConfig, paid: Sequence[str] = ()) -> SweepConfig:
    """Without a ladder: the check's own fixer, safe before unsafe, then the first of the agents `paid`.

    A ladder that is written as empty stays so: what the check finds is held for a person. Empty also where there is
    neither.
    """
    if config.ladder or "ladder" in config.model_fields_set:
        return config
    command = argv(config.check)
    fixers = recognise(command).fixers(command)
    rungs = [RungConfig(run=list(fixer)) for fixer in fixers] + [RungConfig(agent=agent) for agent in paid[:1]]
    return config.model_copy(update={"ladder": rungs})


def ladder_digest(ladder: Sequence[RungConfig]) -> str:
    return "\n".join(rung.model_dump_json() for rung in ladder)


def _limits(config: SandboxConfig) -> Limits:
    return Limits(config.memory, config.pids, config.cpus, config.disk, config.output)
