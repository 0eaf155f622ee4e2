"""One fire from the command line: wired, watched, stoppable, and its report printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import anyio

from sweeper import agents
from sweeper.cli import consent, event, publishing, reading, selection, signals, sweeps, watching, wiring
from sweeper.cli.console import Console
from sweeper.cli.options import Wanted
from sweeper.config.models import Config, SweepConfig
from sweeper.errors import ConfigError
from sweeper.fire import DRY_RUN, PUBLISH, Fired, fire
from sweeper.ledger.contract import Ledger, Run
from sweeper.live import Live
from sweeper.order import Hooks, Order, Tools
from sweeper.plan import plan
from sweeper.repo import Repo
from sweeper.report.document import plan_document, report_document
from sweeper.report.model import SweepPlan
from sweeper.report.text import plan_text, rendered_text, report_text
from sweeper.scheduler import Why


async def run(wanted: Wanted, console: Console, *, as_json: bool = False, live: bool = True) -> int:
    """Fire the sweeps; their report on stdout; the exit code. Raises SweeperError."""
    with signals.caught(console.warn) as caught:
        try:
            fired = await drain_once(wanted, console, caught, live=live)
        except event.DryRun as why:
            console.warn(f"sweeper: {why}; what it would do:")
            await show_plan(wanted, console, as_json=as_json)
            return caught.exit_code if caught.first is not None else 0
        return finish([fired] if fired else [], caught, console, as_json=as_json)


async def drain_once(wanted: Wanted, console: Console, caught: signals.Caught, *, live: bool) -> Fired | None:
    """One fire of the wanted sweeps; None if a signal ended it early. Raises SweeperError."""
    async with wiring.repository() as repo:
        settled = sweeps.settle(wanted, repo.top, console)
        await _spare_and_guard(wanted, settled.sweeps.values(), repo, console)
        providers = wiring.providers(settled.config, settled.sweeps.values(), console)
        await _say_uncommitted(wanted.base, settled.path, repo, console)
        async with wiring.writing(repo, settled.config) as ledger, _bench(repo, ledger, settled, console) as tools:
            order = replace(await _order(wanted, settled, tools, console), providers=providers)
            consent.ask(order, repo.state, console, yes=wanted.yes)
            return await _fired(settled.config, order, tools, caught, console, live=live, publish=wanted.pull_request)


async def _fired(
    config: Config, order: Order, tools: Tools, caught: signals.Caught, console: Console, *, live: bool, publish: bool
) -> Fired | None:
    """One fire, with a publisher where a pull request is wanted; a dry run's is on paper."""
    if order.dry_run != "pr" and (order.dry_run or not publish):
        return await watched(order, tools, caught, console, live=live)
    way = publishing.publisher(
        tools.repo, tools.ledger, config, console, base=order.base, parser=tools.parser, paper=bool(order.dry_run)
    )
    async with way as chosen:
        order = replace(order, secrets=chosen.secrets)
        fired = await watched(order, replace(tools, publisher=chosen.publisher), caught, console, live=live)
        if fired is None or not order.dry_run:
            return fired
        return replace(fired, pull_requests=(), rendered=await chosen.rendered(fired.pull_requests))


async def _spare_and_guard(wanted: Wanted, chosen: Iterable[SweepConfig], repo: Repo, console: Console) -> None:
    """Before a key is looked for and before any sandbox is started. Raises DryRun, ConfigError."""
    started_by = event.event_of(console.environ)
    writes = wanted.pull_request and not wanted.dry_run
    event.spare(started_by, paid=writes or any(agents.needs(rung) for sweep in chosen for rung in sweep.ladder))
    await event.guard(started_by, repo, wanted.base, trusted=wanted.trust_checkout)


async def show_plan(wanted: Wanted, console: Console, *, as_json: bool = False, prompts: bool = False) -> int:
    """Print what `run` would do; 0 if there is nothing to do, else 1. Raises SweeperError."""
    plans, code = await planned(wanted, console, prompts=prompts)
    if plans is not None:
        console.result(plan_document(plans) if as_json else "\n".join(map(plan_text, plans)))
    return code


async def planned(wanted: Wanted, console: Console, *, prompts: bool = False) -> tuple[list[SweepPlan] | None, int]:
    """What `run` would do, None if a signal ended it; 0 if there is nothing to do, else 1. Raises SweeperError."""
    plans: list[SweepPlan] = []
    async with wiring.untouched_repository() as repo, wiring.empty() as nothing:
        settled = sweeps.settle(wanted, repo.top, console, bare=True)
        wiring.forget_keys(settled.config)
        await _say_uncommitted(wanted.base, settled.path, repo, console)
        async with wiring.reading(repo, settled.config) as known:
            with signals.caught(console.warn) as caught, caught.stopping():
                async with _bench(repo, known or nothing, settled, console) as tools:
                    order = await _order(wanted, settled, tools, console)
                    hooks = Hooks(say=console.say, cancel=caught.cancel)
                    plans = await plan(order, tools, hooks, ledger=known, prompts=prompts)
    if caught.first is not None:
        return None, caught.exit_code
    plans = [replace(each, no_rung=str(settled.bare.get(each.sweep, ""))) for each in plans]
    for each in plans:
        if each.no_rung and each.units:
            console.warn("\n  ".join([f"{each.sweep}: {each.no_rung}", *settled.bare[each.sweep].hint.splitlines()]))
    todo = any(each.lands or any(each.no_rung or unit.rung is not None for unit in each.units) for each in plans)
    return plans, int(todo)


def _bench(repo: Repo, ledger: Ledger, settled: sweeps.Settled, console: Console) -> AbstractAsyncContextManager[Tools]:
    return wiring.workbench(repo, ledger, settled.config, list(settled.sweeps.values()), console)


async def _order(wanted: Wanted, settled: sweeps.Settled, tools: Tools, console: Console) -> Order:
    return Order(
        sweeps=settled.sweeps,
        digest=settled.digest,
        base=wanted.base,
        fresh=wanted.fresh,
        selection=await selection.read(wanted, settled.sweeps, tools, console.say),
        limits=settled.config.limits,
        sandbox=settled.config.sandbox,
        lease=settled.config.dispatcher.lease,
        dry_run=wanted.dry_run,
    )


async def resume(wanted: Wanted, console: Console, *, as_json: bool = False, live: bool = True) -> int:
    """Go on with each sweep's newest run that was not drained, as it was started; its report. Raises SweeperError."""
    try:
        return await _resume(wanted, console, as_json=as_json, live=live)
    except event.DryRun as why:
        console.warn(f"sweeper: {why}; `sweeper plan` shows it")
        return 0


async def _resume(wanted: Wanted, console: Console, *, as_json: bool, live: bool) -> int:
    fired: list[Fired] = []
    with signals.caught(console.warn) as caught:
        async with wiring.repository() as repo:
            config = sweeps.settings(wanted, repo.top, console)
            for (base, dry_run), runs in (await _unfinished(wanted, repo, config)).items():
                chosen = {run.sweep: sweep for run, sweep in runs}
                await _spare_and_guard(replace(wanted, base=base, dry_run=dry_run), chosen.values(), repo, console)
                digests = {run.sweep: run.digest for run, _ in runs}
                order = Order(
                    sweeps=chosen,
                    digest=digests.__getitem__,
                    base=base,
                    limits=config.limits,
                    sandbox=config.sandbox,
                    lease=config.dispatcher.lease,
                    providers=wiring.providers(config, chosen.values(), console),
                    dry_run=dry_run,
                )
                async with (
                    wiring.writing(repo, config) as ledger,
                    wiring.workbench(repo, ledger, config, list(chosen.values()), console) as tools,
                ):
                    consent.ask(order, repo.state, console, yes=wanted.yes)
                    wishes = [(await ledger.notes(run.id)).get(PUBLISH, False) for run, _ in runs]
                    publish = wanted.pull_request or any(wishes)
                    one = await _fired(config, order, tools, caught, console, live=live, publish=publish)
                if one is not None:
                    fired.append(one)
                if caught.first is not None:
                    break
    if not fired and caught.first is None:
        console.say("no run is unfinished: nothing to resume; `sweeper run` looks again")
    return finish(fired, caught, console, as_json=as_json)


async def _unfinished(
    wanted: Wanted, repo: Repo, config: Config
) -> dict[tuple[str, str], list[tuple[Run, SweepConfig]]]:
    """(base, kind of dry run) -> the runs that can go on so, with the configuration that they were started with."""
    found: dict[tuple[str, str], list[tuple[Run, SweepConfig]]] = {}
    async with wiring.reading(repo, config) as ledger:
        if ledger is None or not await ledger.runs(1):
            raise ConfigError(f"no sweep was run in {repo.top} yet", hint="`sweeper run` starts one")
        for run in (await reading.newest(ledger, wanted.sweeps)).values():
            if run.ended == Why.DRAINED:
                continue
            notes = await ledger.notes(run.id)
            as_started = run, SweepConfig.model_validate(notes["config"])
            # whoever asks for a pull request asks for a real one
            dry_run = "" if wanted.pull_request else notes.get(DRY_RUN, "")
            found.setdefault((run.base, dry_run), []).append(as_started)
    return found


async def watched(order: Order, tools: Tools, caught: signals.Caught, console: Console, *, live: bool) -> Fired | None:
    """Fire under a view; None if a signal ended it before there was anything to report."""
    before = console.sink
    hooks = Hooks(say=console.say, cancel=caught.cancel)
    fired: Fired | None = None
    with watching.view(console, live=live) as view, caught.stopping():
        console.sink = view.say
        hooks.on_event = view.on_event
        try:
            async with anyio.create_task_group() as group:
                if isinstance(view, Live):
                    group.start_soon(watching.ticking, view, list(order.sweeps), tools.ledger)
                fired = await fire(order, tools, hooks)
                group.cancel_scope.cancel()
        finally:
            console.sink = before
    return fired


def finish(fired: Sequence[Fired], caught: signals.Caught, console: Console, *, as_json: bool) -> int:
    """Print the reports; the exit code: of several fires the gravest."""
    code = caught.exit_code if caught.first is not None else max((each.exit_code for each in fired), default=0)
    reports = [report for each in fired for report in each.reports]
    published = [pull for each in fired for pull in each.pull_requests]
    rendered = [pull for each in fired for pull in each.rendered]
    if as_json:
        ended = "; ".join(dict.fromkeys(each.ended or str(each.why) for each in fired))
        console.result(
            report_document(reports, ended=ended, exit_code=code, pull_requests=published, rendered=rendered)
        )
    elif reports:
        parts = [*map(report_text, reports), publishing.lines(published), *map(rendered_text, rendered)]
        console.result("\n".join(filter(None, parts)))
    for problem in (problem for each in fired for problem in each.problems):
        console.warn("\n  ".join([f"sweeper: {problem}", *problem.hint.splitlines()]))
    if caught.first is not None:
        console.warn("interrupted; nothing is lost: `sweeper resume` goes on from here")
    return code


async def _say_uncommitted(base: str, configuration: Path | None, repo: Repo, console: Console) -> None:
    """The configuration is read from the work tree: its own edits do count."""
    if base != "HEAD":
        return
    dirty = [path for path in await repo.is_dirty() if configuration is None or repo.top / path != configuration]
    if dirty:
        console.say(f"uncommitted edits are not included: {dirty[0]}" + (" and others" if len(dirty) > 1 else ""))
