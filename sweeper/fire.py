"""One fire, read top to bottom: preflight, hygiene, decide, fan out, barrier, one note upward."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from sweeper import agents
from sweeper.branch import set_down
from sweeper.budget import Budget
from sweeper.commands import argv
from sweeper.drain import Drained, EngineLimits, LoopFailed, Why, drain
from sweeper.errors import CheckBroken, ForgeFailed, LedgerFailed, LimitReached, NoSandbox, SweeperError
from sweeper.forge.contract import Published, Rendered
from sweeper.gate.green import Judge
from sweeper.ladder.classify import MONEY
from sweeper.ledger.contract import Ledger, Run
from sweeper.loop import Claims, Loop
from sweeper.order import Hooks, Order, Tools, ladder_digest, scope, workshop
from sweeper.policy import Scope
from sweeper.publish.drafting import Drafting
from sweeper.reconcile import account, describe, reconcile, stands
from sweeper.records import Unit
from sweeper.report.build import build
from sweeper.report.model import SweepReport
from sweeper.sweep.sweep import Sweep

if TYPE_CHECKING:  # slow to import, and only paid agents need it
    from sweeper.gateway import Gateway

DAY = 86400.0
MAX_ROUNDS = "max_rounds"
PUBLISH = "publish"  # the note of a run whose pull request is wanted
DRY_RUN = "dry_run"  # the note of a run that moves no branch: Order.dry_run


@dataclass(frozen=True)
class Fired:
    """What came of a fire. `ended` says why it ended when that is no sweep's own end. `problems`: of
    showing a branch (its run is unfinished then) and of publishing.

    `rendered`: of a dry run, in the place of `pull_requests`.
    """

    reports: Sequence[SweepReport]
    why: Why
    ended: str
    exit_code: int
    pull_requests: Sequence[Published] = ()
    problems: Sequence[SweeperError] = ()
    rendered: Sequence[Rendered] = ()


async def fire(order: Order, tools: Tools, hooks: Hooks) -> Fired:
    """Drain the order's sweeps as far as limits allow. Raises SweeperError with its exit code."""
    ledger = tools.ledger
    await ledger.enter(tools.owner, order.lease)
    taken: list[str] = []
    try:
        for name in order.sweeps:
            await ledger.take_dispatcher(name)
            taken.append(name)
        await _hygiene(order, tools, hooks)
        if tools.publisher is not None:
            await tools.publisher.preflight(taken)
        async with _gateway(order, tools) as gateway:
            limiter = anyio.CapacityLimiter(float("inf"))
            sweeps = [await _decide(name, order, tools, hooks, gateway, limiter) for name in order.sweeps]
            limits = _engine_limits(sweeps, order, limiter)
            try:
                drafts = tools if not order.dry_run else replace(tools, publisher=None)
                drained = await _fan_out(sweeps, limits, drafts, hooks)
            except LoopFailed as failure:
                # the others were served to their end: what they did is reported before the failure is
                served = [sweep for sweep in sweeps if sweep.name not in failure.failures]
                await _finish(served, failure.drained, order, tools, hooks)
                raise
            return await _finish(sweeps, drained, order, tools, hooks)
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
                if (needs := agents.needs(rung)) and not rung.inject:
                    gateway.require(needs.provider, [needs.model], tokens=rung.max_tokens)
        async with gateway:
            yield gateway


async def _hygiene(order: Order, tools: Tools, hooks: Hooks) -> None:
    def scope_of(unit: Unit) -> Scope | None:
        config = order.sweeps.get(unit.sweep)
        return scope(config) if config else None

    await account(tools.ledger, tools.state / "logs")  # before the day's money is added up
    for line in describe(await reconcile(tools.ledger, tools.backend, tools.repo, scope_of, order.known_secrets)):
        hooks.say(line)
    await _drop_old_captures(tools)


async def _drop_old_captures(tools: Tools) -> None:
    """Captured changes and logs are kept as evidence until their sweep has begun a later run."""
    # refs before runs: a run that begins in between has none among these yet
    captured = {name.split("/")[2] for name in await tools.repo.refs("refs/sweeper/")}
    logged = {entry.name for entry in os.scandir(tools.state / "logs")} if (tools.state / "logs").is_dir() else set()
    kept: set[str] = set()
    newest: set[str] = set()
    for run in await tools.ledger.runs(limit=1000):
        if run.sweep not in newest or not run.ended:
            kept.add(run.id)
        newest.add(run.sweep)
    for old in captured - kept:
        await tools.repo.delete_refs(f"refs/sweeper/{old}/")
    for old in logged - kept:
        await anyio.to_thread.run_sync(partial(shutil.rmtree, tools.state / "logs" / old, ignore_errors=True))


async def _decide(
    name: str,
    order: Order,
    tools: Tools,
    hooks: Hooks,
    gateway: Gateway | None,
    limiter: anyio.CapacityLimiter,
) -> Sweep:
    """The sweep's run: the one of equal base and configuration, or a new one."""
    config, digest = order.sweeps[name], order.run_digest(name)
    base = await tools.repo.resolve(order.base)
    run = None if order.fresh else await tools.ledger.latest_run(name, base, digest)
    if run is not None and not await stands(run, tools.ledger, tools.repo):
        hooks.say(f"{name}: run {run.id} has commits that are not in this clone: a new run begins")
        run = None
    if run is None:
        run = Run(id=new_run_id(), sweep=name, base=base, digest=digest, tip=base, created=time.time())
        notes = {"config": config.model_dump(mode="json"), "check": list(argv(config.check))}
        await tools.ledger.create_run(run, notes | {"selected": order.selection is not None})
    else:
        hooks.say(f"{name}: goes on with run {run.id}, round {run.round}")
        if run.ended:
            await tools.ledger.reopen_run(run.id)
            run = replace(run, ended="")
    await tools.ledger.note(run.id, DRY_RUN, order.dry_run)
    if tools.publisher is not None and not order.dry_run:
        await tools.ledger.note(run.id, PUBLISH, True)
    fires = (await tools.ledger.notes(run.id)).get("fires", [])
    await tools.ledger.note(run.id, "fires", [*fires, tools.owner.id])  # whose journals `replay` reads
    sweep = Sweep(
        workshop(name, config, order, tools, run.id, gateway, limiter),
        tools.ledger,
        run,
        ladder_digest=ladder_digest(config.ladder),
        selection=order.selection,
        say=hooks.say,
    )
    await sweep.begin()
    return sweep


def _engine_limits(sweeps: Sequence[Sweep], order: Order, limiter: anyio.CapacityLimiter) -> EngineLimits:
    """The limits of this fan-out.

    Where one check may judge many units, these wait for it without a sandbox of their own: then the engine lets two
    batches wait or be judged, and `limiter` alone holds how many sandboxes verify.
    """
    verifiers = order.limits.verifiers
    if (most := max(sweep.together for sweep in sweeps)) > 1:
        limiter.total_tokens = verifiers or order.limits.slots
        verifiers = max(limiter.total_tokens, 2 * most)
    return EngineLimits(
        agents=order.limits.slots,
        verifiers=verifiers,
        loop_slots={sweep.name: slots for sweep in sweeps if (slots := sweep.workshop.config.slots)},
        units=order.limits.units_per_fire,
        deadline=time.time() + order.limits.wall if order.limits.wall is not None else None,
        ramp=order.limits.ramp,
    )


async def _fan_out(sweeps: Sequence[Sweep], limits: EngineLimits, tools: Tools, hooks: Hooks) -> Drained:
    fire_id = tools.owner.id
    loops: list[Loop] = list(sweeps)
    if tools.publisher is not None:
        loops = [Drafting(sweep, tools.publisher, hooks.say) for sweep in sweeps]
    claims: dict[str, Claims] = {sweep.name: sweep.claims for sweep in sweeps}
    stop = anyio.Event()
    failure: LoopFailed | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_until, hooks.cancel, stop)
        group.start_soon(_watch_lease, tools.ledger, stop)
        try:
            drained = await drain(
                loops,
                claims,
                limits,
                journal=lambda row: tools.ledger.journal(fire_id, row),
                on_event=hooks.on_event,
                cancel=stop,
            )
        except LoopFailed as problem:  # raised in here it would come out as a group
            failure = problem
        group.cancel_scope.cancel()
    if tools.ledger.lost:
        raise LedgerFailed(
            "the lease on the ledger could not be renewed in time: another coordinator may go on",
            hint="`sweeper resume` goes on from here; nothing is lost",
        )
    if failure is not None:
        raise failure
    return drained


async def _until(cancel: anyio.Event, stop: anyio.Event) -> None:
    await cancel.wait()
    stop.set()


async def _watch_lease(ledger: Ledger, stop: anyio.Event) -> None:
    """A coordinator whose lease is lost may be taken for dead by another one, so it stops."""
    while True:
        await anyio.sleep(1)
        if ledger.lost:
            stop.set()
            return


async def _finish(sweeps: Sequence[Sweep], drained: Drained, order: Order, tools: Tools, hooks: Hooks) -> Fired:
    """Land what is verified, move the branches (a dry run: none), report."""
    reports = []
    problems: list[SweeperError] = []
    if drained.why in (Why.LIMIT, Why.STOPPED):
        left = [sweep.name for sweep in sweeps if not await sweep.leave()]
        drained = drained if left else replace(drained, why=Why.DRAINED, reason="")  # it was the last landing's to pass
    for sweep in sweeps:
        ended = "" if drained.why is Why.CANCELLED else drained.reason or str(drained.why)
        if drained.why is Why.DRAINED and not sweep.drained:
            ended = MAX_ROUNDS
        # shown first: a run that ended is not gone on with, so whoever dies in between must leave an unfinished one
        if problem := await set_down(sweep.run, tools.repo, tools.ledger, hooks.say, dry_run=bool(order.dry_run)):
            problems.append(problem)
            ended = ""
        if ended:
            await tools.ledger.end_run(sweep.run.id, ended)
        reports.append(await build(tools.ledger, replace(sweep.run, ended=ended)))
    code = max((_exit_code(reports, drained), *(problem.exit_code for problem in problems)))
    published: list[Published] = []
    if tools.publisher is not None and drained.why is not Why.CANCELLED:
        for sweep, report in zip(sweeps, reports, strict=True):
            try:
                published += await tools.publisher.publish(
                    replace(sweep.run, ended=report.ended), Judge(sweep.workshop)
                )
            except SweeperError as problem:  # what was verified is on the branch here, whatever the forge says
                problems.append(problem)
                code = problem.exit_code if isinstance(problem, ForgeFailed) else ForgeFailed.exit_code
    return Fired(reports, drained.why, drained.reason, code, published, problems)


def _exit_code(reports: Sequence[SweepReport], drained: Drained) -> int:
    if drained.why is Why.LIMIT or drained.reason.startswith(MONEY):
        return LimitReached.exit_code
    if any(report.ended == MAX_ROUNDS for report in reports):
        return LimitReached.exit_code
    if drained.why is Why.STOPPED:
        return NoSandbox.exit_code if "sandbox" in drained.reason else CheckBroken.exit_code
    return 0 if all(report.drained for report in reports) else 1


def new_run_id() -> str:
    """Sorts by time; unique without asking anybody."""
    return f"{time.strftime('%Y%m%d%H%M%S', time.gmtime())}{secrets.token_hex(3)}"
