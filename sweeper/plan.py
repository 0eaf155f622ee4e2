"""What a run would do: the check is run and partitioned, no agent is started and nothing is changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sweeper import agents
from sweeper.attempt.job import Job
from sweeper.attempt.trial import briefing_of
from sweeper.commands import argv
from sweeper.config.models import LimitsConfig, RungConfig, SweepConfig
from sweeper.ground import Ground, agreeing_check, stand_on
from sweeper.ladder import ladder
from sweeper.ladder.forecast import Past, forecast
from sweeper.ledger.contract import Ledger, Queued, Run
from sweeper.loop import Go
from sweeper.order import Hooks, Order, Tools, ladder_digest, workshop
from sweeper.prompt import render
from sweeper.records import History, Unit, UnitState
from sweeper.report.model import PlannedUnit, SweepPlan
from sweeper.sweep.selection import choose
from sweeper.sweep.survey import queue, standing, survey
from sweeper.workshop import Workshop

RUNS = 50  # newest runs of a sweep that its prices come from
SAME = ("agent", "run", "provider", "model", "prompt", "candidates")  # what makes a rung of another run the same one


async def plan(
    order: Order, tools: Tools, hooks: Hooks, *, ledger: Ledger | None, prompts: bool = False
) -> list[SweepPlan]:
    """One plan a sweep. `ledger` is only read, and None where there is none yet. Raises SweeperError.

    `prompts`: with each unit's prompt, of the first rung from its place on that asks a model.
    """
    return [await _plan(name, order, tools, hooks, ledger, prompts) for name in order.sweeps]


async def _plan(name: str, order: Order, tools: Tools, hooks: Hooks, ledger: Ledger | None, prompts: bool) -> SweepPlan:
    config = order.sweeps[name]
    base = await tools.repo.resolve(order.base)
    run = None if order.fresh or ledger is None else await ledger.latest_run(name, base, order.run_digest(name))
    shop = workshop(name, config, order, tools, f"plan-{tools.owner.id[:12]}")
    ground = await stand_on(shop, run.tip if run else base, 0)
    check, why = await agreeing_check(shop, ground)
    chosen, missing = await choose(tools.repo, ground, order.selection) if order.selection else (None, [])
    before = await standing(ledger, name)
    surveyed = await survey(replace(shop, check=check), ground, base, chosen, before)
    turns = [*((unit, "") for unit in surveyed.parts.units), *surveyed.parts.waiting]
    places = queue(ground, [unit for unit, _ in turns], 1, ladder_digest(config.ladder))
    planned = [await _planned(queued, config, ledger, fresh=run is None) for queued in places]
    units = [replace(unit, waits_for=first) for unit, (_, first) in zip(planned, turns, strict=True)]
    if prompts:
        units = [await _prompted(planned, unit, shop, ground) for planned, (unit, _) in zip(units, turns, strict=True)]
    starts = Counter(unit.rung for unit in units if unit.rung is not None)
    slots = min(order.limits.slots, config.slots or order.limits.slots)
    paid = [agents.needs(rung) is not None for rung in config.ladder]
    past = await _past(name, config.ladder, ledger) if ledger is not None else {}
    plain = [f"rung {number}: {words}" for number, rung in enumerate(config.ladder, 1) if (words := _injected(rung))]
    for note in (why, ground.result.incomplete, *surveyed.notes, *plain, shop.caution if units else ""):
        if note:
            hooks.say(f"{name}: {note}")
    return SweepPlan(
        sweep=name,
        base=ground.commit,
        check=check.argv,
        format=ground.result.format,
        findings=len(ground.baseline.all()),
        units=tuple(units),
        skips=surveyed.parts.skips,
        rungs=tuple(_line(rung) for rung in config.ladder),
        limits=_limits(order.limits),
        sandbox=tools.backend.name,
        not_reproduced=len(missing),
        unit_check=" ".join(check.unit_argv) or "the whole check",
        incomplete=ground.result.incomplete,
        resumes=run.id if run else "",
        lands=await _lands(run, ledger) if run is not None and ledger is not None else "",
        owners=surveyed.owned,
        expected=forecast(config.ladder, paid, starts, past, order.limits, slots),
    )


async def _lands(run: Run, ledger: Ledger) -> str:
    return run.tip if run.tip != run.base and (await ledger.notes(run.id)).get("branch_of") != run.tip else ""


async def _past(name: str, ladder: Sequence[RungConfig], ledger: Ledger) -> dict[int, Past]:
    """What this sweep's attempts on each of these rungs took, in runs whose ladder had that rung."""
    places = {_same(rung.model_dump(mode="json")): number for number, rung in reversed(list(enumerate(ladder)))}
    past: dict[int, Past] = {}
    for run in await ledger.runs(RUNS, sweep=name):
        then = (await ledger.notes(run.id)).get("config", {}).get("ladder", [])
        now = {number: places[key] for number, rung in enumerate(then) if (key := _same(rung)) in places}
        async for row in ledger.attempts(run=run.id):
            number = now.get(row.rung)
            if number is not None and row.state != "started":
                outcome = row.outcome
                kind, seconds = (outcome.kind, outcome.seconds) if outcome else (None, 0.0)
                past[number] = past.get(number, Past()).plus(kind, row.usage, seconds)
    return past


def _same(rung: Mapping[str, Any]) -> str:
    return repr([argv(rung["run"]) if key == "run" else rung.get(key) for key in SAME])


async def _planned(queued: Queued, config: SweepConfig, ledger: Ledger | None, *, fresh: bool) -> PlannedUnit:
    """Where a run would find the unit: what a round's opening gives a new history, begins on the first rung."""
    unit = queued.unit
    known = await ledger.unit(unit.sweep, unit.key) if ledger is not None else None
    if known is not None and (known.state is UnitState.SETTLED or (fresh and known.place != queued.place)):
        known = None
    planned = PlannedUnit(unit.key, unit.title, len(unit.findings), unit.rules, lines=unit.lines)
    if known is not None and known.state is UnitState.HELD:
        return replace(planned, rung=None, hold=known.why)
    place = ladder.place(known.history if known else History(), config.ladder)
    return (
        replace(planned, rung=place.rung) if isinstance(place, Go) else replace(planned, rung=None, hold=place.reason)
    )


async def _prompted(planned: PlannedUnit, unit: Unit, shop: Workshop, ground: Ground) -> PlannedUnit:
    ladder = shop.config.ladder
    first = len(ladder) if planned.rung is None else planned.rung
    asking = [number for number in range(first, len(ladder)) if agents.needs(ladder[number])]
    if not asking:
        return planned
    briefing = await briefing_of(shop, ground, Job(unit, asking[0], 1))
    text = render(ladder[asking[0]].prompt, briefing, shop.prompts).decode("utf-8", "replace")
    return replace(planned, prompt=text, prompt_rung=asking[0])


def _line(rung: RungConfig) -> str:
    tries = f", {rung.attempts} attempts" if rung.attempts > 1 else ""
    needs = agents.needs(rung)
    what = f"{needs.model}, prompt {rung.prompt}" if needs and not rung.run else " ".join(argv(rung.run))
    injected = f"; {words}" if (words := _injected(rung)) else ""
    return f"{rung.agent}: {what}{tries}, at most {rung.clocks.wall:.0f} s{injected}"


def _injected(rung: RungConfig) -> str:
    return f"PLAIN INJECTION: {words}" if (words := agents.injection(rung)) else ""


def _limits(limits: LimitsConfig) -> dict[str, str]:
    return {name: str(value) for name, value in limits.model_dump().items() if value is not None}
