"""One fire, read top to bottom: preflight, hygiene, decide, fan out, barrier, one note upward."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from sweeper import agents
from sweeper.backlog.check import Check, Sandboxing
from sweeper.backlog.child import Parser
from sweeper.backlog.tools import Tool, recognise
from sweeper.budget import Budget
from sweeper.classify import MONEY
from sweeper.config import LimitsConfig, RungConfig, SandboxConfig, SweepConfig, argv
from sweeper.drain import Drained, EngineLimits, LoopFailed, Why, drain
from sweeper.errors import ConfigError, GitFailed
from sweeper.ground import Selection, Workshop
from sweeper.ledger.contract import Ledger, Run
from sweeper.loop import Claims, Loop
from sweeper.policy import Scope
from sweeper.reconcile import describe, reconcile
from sweeper.records import Owner, Unit
from sweeper.repo import Repo
from sweeper.report.build import build
from sweeper.report.model import SweepReport
from sweeper.sandbox.contract import Backend, Clocks, Limits, Toolchain
from sweeper.sweep import Sweep

if TYPE_CHECKING:  # slow to import, and only paid agents need it
    from sweeper.gateway import Gateway, Provider

BRANCH = "sweeper/{sweep}"
DAY = 86400.0
SANDBOX_GRACE = 3600.0  # a sandbox may be reaped by anybody so long after its own clocks must have ended it


@dataclass(frozen=True)
class Order:
    """What is to be done. `digest`: the configuration digest of a sweep by name; equal base and digest resume.

    `providers`: those that the ladders ask for models, with their keys.
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


@dataclass(frozen=True)
class Tools:
    """What it is done with; wired by the command line. `state`: the folder of the ledger, logs and locks."""

    repo: Repo
    ledger: Ledger
    backend: Backend
    parser: Parser
    owner: Owner
    state: Path
    prompts: Path | None = None


@dataclass
class Hooks:
    """How it is watched and stopped."""

    say: Callable[[str], None] = lambda line: None
    on_event: Callable[..., None] | None = None
    cancel: anyio.Event = field(default_factory=anyio.Event)


@dataclass(frozen=True)
class Fired:
    """What came of a fire. `ended` says why it ended when that is no sweep's own end."""

    reports: Sequence[SweepReport]
    why: Why
    ended: str
    exit_code: int


async def fire(order: Order, tools: Tools, hooks: Hooks) -> Fired:
    """Drain the order's sweeps as far as limits allow. Raises SweeperError with its exit code."""
    ledger = tools.ledger
    await ledger.enter(tools.owner, order.lease)
    taken: list[str] = []
    try:
        for name in order.sweeps:
            await ledger.take_dispatcher(name)
            taken.append(name)
        async with _gateway(order, tools) as gateway:
            await _hygiene(order, tools, hooks)
            sweeps = [await _decide(name, order, tools, hooks, gateway) for name in order.sweeps]
            try:
                drained = await _fan_out(sweeps, order, tools, hooks)
            except LoopFailed as failure:
                # the others were served to their end: what they did is reported before the failure is
                served = [sweep for sweep in sweeps if sweep.name not in failure.failures]
                await _finish(served, failure.drained, tools, hooks)
                raise
            return await _finish(sweeps, drained, tools, hooks)
    finally:
        with anyio.CancelScope(shield=True):
            for name in taken:
                await ledger.drop_dispatcher(name)


@asynccontextmanager
async def _gateway(order: Order, tools: Tools) -> AsyncIterator[Gateway | None]:
    """The one that holds the keys while the fire lasts; None where no rung asks a model.

    Raises ConfigError for a model that no budget can hold.
    """
    if not order.providers:
        yield None
        return
    from sweeper.gateway import Gateway

    midnight = time.time() // DAY * DAY
    budget = Budget(order.limits, spent_today=await tools.ledger.spent(midnight))
    # a socket's path must be short
    with tempfile.TemporaryDirectory(prefix="sweeper-") as folder:
        gateway = Gateway(order.providers, budget, folder=Path(folder) / "doors", slots=order.limits.slots)
        for config in order.sweeps.values():
            for rung in config.ladder:
                if needs := agents.needs(rung):
                    gateway.require(needs.provider, [needs.model], tokens=rung.max_tokens)
        async with gateway:
            yield gateway


async def _hygiene(order: Order, tools: Tools, hooks: Hooks) -> None:
    def scope_of(unit: Unit) -> Scope | None:
        config = order.sweeps.get(unit.sweep)
        return scope(config) if config else None

    for line in describe(await reconcile(tools.ledger, tools.backend, tools.repo, scope_of)):
        hooks.say(line)
    await _drop_old_captures(tools)


async def _drop_old_captures(tools: Tools) -> None:
    """Captured changes are kept as evidence until their sweep has ended a later run."""
    kept: set[str] = set()
    newest: set[str] = set()
    for run in await tools.ledger.runs(limit=1000):
        if run.sweep not in newest or not run.ended:
            kept.add(run.id)
        newest.add(run.sweep)
    found = {name.split("/")[2] for name in await tools.repo.refs("refs/sweeper/")}
    for old in found - kept:
        await tools.repo.delete_refs(f"refs/sweeper/{old}/")


async def _decide(name: str, order: Order, tools: Tools, hooks: Hooks, gateway: Gateway | None) -> Sweep:
    """The sweep's run: the one of equal base and configuration, or a new one."""
    config, digest = order.sweeps[name], order.digest(name)
    if order.selection is not None:
        digest = f"{digest} {order.selection.digest}"
    base = await tools.repo.resolve(order.base)
    run = None if order.fresh else await tools.ledger.latest_run(name, base, digest)
    if run is None:
        run = Run(id=new_run_id(), sweep=name, base=base, digest=digest, tip=base, created=time.time())
        await tools.ledger.create_run(run)
        await tools.ledger.note(run.id, "config", config.model_dump(mode="json"))
        await tools.ledger.note(run.id, "check", list(argv(config.check)))
    else:
        hooks.say(f"{name}: goes on with run {run.id}, round {run.round}")
        if run.ended:
            await tools.ledger.reopen_run(run.id)
            run = replace(run, ended="")
    fires = (await tools.ledger.notes(run.id)).get("fires", [])
    await tools.ledger.note(run.id, "fires", [*fires, tools.owner.id])  # whose journals `replay` reads
    sweep = Sweep(
        workshop(name, config, order, tools, run.id, gateway),
        tools.ledger,
        run,
        ladder_digest=ladder_digest(config.ladder),
        selection=order.selection,
        say=hooks.say,
    )
    await sweep.begin()
    return sweep


async def _fan_out(sweeps: Sequence[Sweep], order: Order, tools: Tools, hooks: Hooks) -> Drained:
    now = time.time()
    limits = EngineLimits(
        agents=order.limits.slots,
        verifiers=order.limits.verifiers,
        loop_slots={sweep.name: slots for sweep in sweeps if (slots := sweep.workshop.config.slots)},
        units=order.limits.units_per_fire,
        deadline=now + order.limits.wall if order.limits.wall is not None else None,
        ramp=order.limits.ramp,
    )
    fire_id = tools.owner.id
    loops: list[Loop] = list(sweeps)
    claims: dict[str, Claims] = {sweep.name: sweep.claims for sweep in sweeps}
    return await drain(
        loops,
        claims,
        limits,
        journal=lambda row: tools.ledger.journal(fire_id, row),
        on_event=hooks.on_event,
        cancel=hooks.cancel,
    )


async def _finish(sweeps: Sequence[Sweep], drained: Drained, tools: Tools, hooks: Hooks) -> Fired:
    """Land what is verified, move the branches, report."""
    reports = []
    for sweep in sweeps:
        if drained.why in (Why.LIMIT, Why.STOPPED) and sweep.run.phase == "fanout":
            await sweep.close()
        ended = "" if drained.why is Why.CANCELLED else drained.reason or str(drained.why)
        if ended:
            await tools.ledger.end_run(sweep.run.id, ended)
        await _branch(sweep, tools, hooks)
        reports.append(await build(tools.ledger, replace(sweep.run, ended=ended)))
    return Fired(reports, drained.why, drained.reason, _exit_code(reports, drained))


async def _branch(sweep: Sweep, tools: Tools, hooks: Hooks) -> None:
    """Show the run's tip as a branch. One that somebody else has moved is left alone: we take a name of our own."""
    run, repo, ledger = sweep.run, tools.repo, tools.ledger
    notes = await ledger.notes(run.id)
    if run.tip == run.base or notes.get("branch_of") == run.tip:
        return
    name = notes.get("branch") or BRANCH.format(sweep=sweep.name)
    tip = await _signed(sweep, tools, hooks)
    old = await repo.branch(name)
    if old is not None and not await _ours(old, sweep, tools):
        hooks.say(f"{sweep.name}: {name} holds commits that are not ours; it stays as it is")
        name = f"{BRANCH.format(sweep=sweep.name)}-{run.id}"
        old = await repo.branch(name)
    await repo.update_branch(name, tip, old)
    for key, value in (("branch", name), ("branch_tip", tip), ("branch_of", run.tip)):
        await ledger.note(run.id, key, value)


async def _ours(commit: str, sweep: Sweep, tools: Tools) -> bool:
    """Is a branch's commit one that a run of this sweep put there, or an ancestor of this run's tip?"""
    if await tools.repo.descends(sweep.run.tip, commit):
        return True
    runs = [run for run in await tools.ledger.runs(limit=1000) if run.sweep == sweep.name]
    tips = {run.tip for run in runs} | {(await tools.ledger.notes(run.id)).get("branch_tip") for run in runs}
    return commit in tips


async def _signed(sweep: Sweep, tools: Tools, hooks: Hooks) -> str:
    """The tip with the user's signatures, if they have commits signed."""
    run, repo = sweep.run, tools.repo
    if not repo.signs:
        return run.tip
    try:
        return await repo.sign(run.base, run.tip)
    except GitFailed as error:
        hooks.say(f"{sweep.name}: the commits are NOT signed, although commit.gpgSign is set: {error}")
        return run.tip


def _exit_code(reports: Sequence[SweepReport], drained: Drained) -> int:
    if drained.why is Why.LIMIT or drained.reason.startswith(MONEY):
        return 5
    return 0 if all(report.drained for report in reports) else 1


def scope(config: SweepConfig) -> Scope:
    return Scope(globs=tuple(config.scope), allow=tuple(config.allow))


def workshop(
    name: str, config: SweepConfig, order: Order, tools: Tools, run: str, gateway: Gateway | None = None
) -> Workshop:
    """Everything that the attempts of one sweep share. Raises ConfigError for a ladder that can't work."""
    written = argv(config.check)
    tool = recognise(written)
    sandboxing = Sandboxing(
        tools.backend,
        logs=tools.state / "logs" / run,
        limits=_limits(order.sandbox),
        fire=tools.owner.id,
        deadline=time.time() + (order.limits.wall or 0.0) + _longest(config) + SANDBOX_GRACE,
    )
    check = Check(
        sandboxing,
        tools.parser,
        tool,
        # never as it was written: a check that repairs, hides or prints for people would prove nothing
        tuple(tool.check(written)),
        argv(config.unit_check) or tuple(tool.unit_check(written)),
        root=config.root,
        format=config.format,
    )
    return Workshop(
        name=name,
        run=run,
        config=config,
        sandboxing=sandboxing,
        toolchain=toolchain(config, check),
        repo=tools.repo,
        check=check,
        scope=scope(config),
        prompts=tools.prompts,
        secrets=tuple(provider.key.encode("utf-8", "surrogateescape") for provider in order.providers),
        gateway=gateway,
        protocols={provider.name: str(provider.protocol) for provider in order.providers},
        usd_per_attempt=order.limits.usd_per_attempt,
    )


def toolchain(config: SweepConfig, check: Check) -> Toolchain:
    """Every program that check, agents and tests start."""
    wanted = [check.argv[0]]
    wanted += [check.unit_argv[0]] if check.unit_argv else []
    wanted += [argv(config.test)[0]] if argv(config.test) else []
    for rung in config.ladder:
        wanted += agents.find(rung.agent).tools(rung)
        wanted += ["python3"] if agents.needs(rung) else []  # for the forwarder
    return Toolchain(
        name=config.toolchain,
        image=config.image,
        tools=tuple(dict.fromkeys(wanted)),
        setup=tuple(argv(line) for line in config.setup),
        agents=agents.imaged(config.ladder),
    )


def with_default_ladder(config: SweepConfig, paid: Sequence[str] = ()) -> SweepConfig:
    """Without a ladder: the check's own fixer, safe before unsafe, then the first of the agents `paid`.

    Raises ConfigError if there is neither.
    """
    if config.ladder:
        return config
    command = argv(config.check)
    tool: Tool = recognise(command)
    fixers = tool.fixers(command)
    rungs = [RungConfig(run=list(fixer)) for fixer in fixers] + [RungConfig(agent=agent) for agent in paid[:1]]
    if not rungs:
        raise ConfigError(
            f"no ladder is configured and {command[0]!r} has no fixer of its own",
            hint='add a rung: [[sweep.NAME.ladder]] agent = "command", run = "fixer {files}"; or export '
            "ANTHROPIC_API_KEY or OPENAI_API_KEY where claude or codex is installed",
        )
    return config.model_copy(update={"ladder": rungs})


def ladder_digest(ladder: Sequence[RungConfig]) -> str:
    return "\n".join(rung.model_dump_json() for rung in ladder)


def new_run_id() -> str:
    """Sorts by time; unique without asking anybody."""
    return f"{time.strftime('%Y%m%d%H%M%S', time.gmtime())}{secrets.token_hex(3)}"


def _limits(config: SandboxConfig) -> Limits:
    return Limits(config.memory, config.pids, config.cpus, config.disk, config.output)


def _longest(config: SweepConfig) -> float:
    return max((rung.clocks.wall for rung in config.ladder), default=Clocks().wall)


__all__ = ["Fired", "Hooks", "Order", "Tools", "fire", "with_default_ladder"]
