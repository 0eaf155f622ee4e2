"""The barrier that closes a round: merge, gate, bisect and eject, check again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from sweeper.bisect import GREEN, RED, Culprits, GateBroken, Verdict, find_culprits
from sweeper.gate import Gate, TreeVerdict, first_of
from sweeper.ground import Ground, Workshop, prepare
from sweeper.ledger.contract import AttemptRow, Ledger, Run
from sweeper.merge import Merged, merge
from sweeper.records import Change, CheckResult, Evidence, Kind, Outcome
from sweeper.report.escape import terminal
from sweeper.suite import TestBase

Seen = dict[frozenset[str], TreeVerdict]

PARALLEL_PROBES = 2
SEARCHES = 4
UNCHANGED = TreeVerdict(False)  # of the ground itself: green, and nothing is learned of its findings


@dataclass(frozen=True, slots=True)
class Waiting:
    """One verified unit at the barrier."""

    key: str
    title: str
    attempt: AttemptRow = field(repr=False)

    @property
    def outcome(self) -> Outcome:
        assert self.attempt.outcome is not None  # VERIFIED units have a landed attempt
        return self.attempt.outcome


@dataclass(frozen=True, slots=True)
class Barrier:
    """What a barrier did. `result` is the check on the new tip, stamped; None where nothing was merged.

    `tests`: the yardstick, with the flaky tests that it learned of.
    """

    tip: str
    merged: dict[str, str]
    sent_on: tuple[tuple[str, Outcome], ...]
    tests: TestBase
    result: CheckResult | None = field(repr=False, default=None)


async def close_round(workshop: Workshop, ground: Ground, ledger: Ledger, run: Run, tests: TestBase) -> Barrier:
    """Merge the round's verified units in unit order, keep the tree green, and make the result durable.

    Deterministic: the same verified units give the same commits, so a coordinator that died in here just does it
    again. Raises SandboxFailed if the gate can't run.
    """
    waiting = [Waiting(q.key, q.unit.title, attempt) async for q, attempt in ledger.verified(run.id)]
    gate = Gate(workshop, ground, tests, run.round)
    merged, verdict, culprits = await _merge_green(workshop, gate, waiting)
    sent_on = []
    for unit in waiting:
        if unit.key in merged.conflicts:
            sent_on.append((unit.title, _sent_on(unit, Kind.CONFLICT, "conflict", merged.conflicts[unit.key])))
        elif unit.key in culprits:
            red = culprits[unit.key]
            sent_on.append((unit.title, _sent_on(unit, Kind.EJECTED, red.reason, red.lines)))
    # a unit whose change the tip has already is done like a merged one, only without a commit of its own
    done = merged.merged | dict.fromkeys(merged.empty, merged.tip)
    await ledger.close_round(run.id, run.round, merged.tip, done, [outcome for _, outcome in sent_on])
    await _note_gate(ledger, run, gate, culprits, sent_on)
    return Barrier(merged.tip, merged.merged, tuple(sent_on), gate.base, verdict.result if verdict else None)


async def _note_gate(
    ledger: Ledger, run: Run, gate: Gate, culprits: dict[str, TreeVerdict], sent_on: Sequence[tuple[str, Outcome]]
) -> None:
    """What the report says of this round's gate."""
    entry = {
        "round": run.round,
        "runs": gate.runs,
        "red": bool(culprits),
        "reason": next((verdict.reason for verdict in culprits.values()), ""),
        "ejected": [title for title, outcome in sent_on if outcome.kind is Kind.EJECTED],
        "flaky": sorted(gate.base.flaky),
    }
    notes = await ledger.notes(run.id)
    earlier = [known for known in notes.get("gate", []) if known["round"] != run.round]
    await ledger.note(run.id, "gate", [*earlier, entry])


async def _merge_green(
    workshop: Workshop, gate: Gate, waiting: Sequence[Waiting]
) -> tuple[Merged, TreeVerdict | None, dict[str, TreeVerdict]]:
    """The merge of the largest green set that bisection finds, its verdict, and the culprits with theirs."""
    merged = await _merge(workshop, gate.ground, waiting)
    if not merged.merged:
        return merged, None, {}
    verdict = await _judge_and_prepare(workshop, gate, merged)
    if verdict.red:
        verdict = await gate.confirm(await _changes(workshop, gate.ground, merged), verdict)
    if not verdict.red:
        return merged, verdict, {}
    mergeable = [unit for unit in waiting if unit.key in merged.merged]
    found, seen = await _search(workshop, gate, mergeable, verdict)
    culprits = {unit.key: _nearest(seen, unit.key)[1] for unit in found.ejected}
    kept = await _merge(workshop, gate.ground, found.kept)
    green = None  # nothing was merged: the ground and what was found on it stay as they are
    if kept.merged:
        green = seen.get(frozenset(unit.key for unit in found.kept)) or await _judge(workshop, gate, kept)
    # whoever fits only without the culprits was never judged with the rest: uncharged, next round
    left = {
        u.key: merged.conflicts.get(u.key, ()) for u in waiting if u.key not in culprits and u.key not in kept.merged
    }
    return replace(kept, empty=(), conflicts=left), green, culprits


async def _search(
    workshop: Workshop, gate: Gate, units: Sequence[Waiting], whole: TreeVerdict
) -> tuple[Culprits[Waiting], Seen]:
    """The culprits, every one with a verdict that stood a second look, and what was seen of all sets.

    A flaky test misleads a search: once one is recognised, the search begins anew without it.
    """
    seen: Seen = {}

    async def good(probed: Sequence[Waiting]) -> Verdict:
        probe = await _merge(workshop, gate.ground, probed)
        seen[frozenset(unit.key for unit in probed)] = answer = await _judge(workshop, gate, probe)
        return RED if answer.red else GREEN

    for _ in range(SEARCHES):
        seen.clear()
        seen[frozenset(unit.key for unit in units)] = whole
        found = await find_culprits(units, good, parallel=PARALLEL_PROBES)
        if await _confirmed(workshop, gate, units, found, seen):
            return found, seen
    raise GateBroken(
        f"the tests misled {SEARCHES} searches for the units that break them: they are flaky",
        hint="mend the flaky tests that the report names, or leave them out of `test`",
    )


async def _confirmed(
    workshop: Workshop, gate: Gate, units: Sequence[Waiting], found: Culprits[Waiting], seen: Seen
) -> bool:
    for culprit in found.ejected:
        keys, verdict = _nearest(seen, culprit.key)
        if len(keys) == len(units):
            continue  # the whole was confirmed before the search
        merged = await _merge(workshop, gate.ground, [unit for unit in units if unit.key in keys])
        if not (await gate.confirm(await _changes(workshop, gate.ground, merged), verdict)).red:
            return False
    return True


async def _judge_and_prepare(workshop: Workshop, gate: Gate, merged: Merged) -> TreeVerdict:
    """The verdict; meanwhile the merged commit is made ready, as the next round will most likely stand on it."""
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(prepare, workshop, merged.tip)
            verdict = await _judge(workshop, gate, merged)
    except ExceptionGroup as several:
        raise first_of(several) from several
    return verdict


def _nearest(seen: Seen, key: str) -> tuple[frozenset[str], TreeVerdict]:
    """The smallest red set with this unit in it and its verdict: the best evidence there is against the unit."""
    red = ((units, verdict) for units, verdict in seen.items() if key in units and verdict.red)
    return min(red, key=lambda each: len(each[0]))


async def _merge(workshop: Workshop, ground: Ground, units: Sequence[Waiting]) -> Merged:
    verified = [(unit.key, unit.outcome.commit, _message(workshop, unit)) for unit in units]
    return await merge(workshop.repo, ground.commit, verified)


async def _judge(workshop: Workshop, gate: Gate, merged: Merged) -> TreeVerdict:
    if merged.tip == gate.ground.commit:
        return UNCHANGED
    return await gate.judge(await _changes(workshop, gate.ground, merged))


async def _changes(workshop: Workshop, ground: Ground, merged: Merged) -> tuple[Change, ...]:
    return tuple(await workshop.repo.changes_between(ground.commit, merged.tip))


def _message(workshop: Workshop, unit: Waiting) -> str:
    outcome = unit.outcome
    lines = [
        f"{workshop.name}: fix {terminal(unit.title)}",
        "",
        f"{outcome.evidence.before} findings before, {outcome.evidence.after} after.",
        "",
        f"Sweeper-Unit: {unit.key}",
        f"Sweeper-Attempt: {outcome.attempt}",
        f"Sweeper-Rung: {outcome.rung}",
    ]
    return "\n".join(lines) + "\n"


def _sent_on(unit: Waiting, kind: Kind, reason: str, lines: tuple[str, ...]) -> Outcome:
    outcome = unit.outcome
    evidence = Evidence(reason=reason, lines=lines, before=outcome.evidence.before, after=outcome.evidence.before)
    return replace(outcome, kind=kind, evidence=evidence)
