"""The barrier that closes a round: merge, gate, bisect and eject, check again.

A unit that was verified together with others was seen to be fixed with all of them, not yet without one. So the tree
that is merged, whichever of them are on it, is held against that claim as well: a finding that such a unit was given
and that the gate's check still sees turns the tree red, and bisection finds the unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sweeper.gate.gate import Gate, TreeVerdict
from sweeper.gate.green import claims, merge_green
from sweeper.gate.merge import Verified
from sweeper.gate.suite import TestBase
from sweeper.ground import Ground
from sweeper.ledger.contract import AttemptRow, Ledger, Run
from sweeper.records import CheckResult, Evidence, Kind, Outcome, Unit
from sweeper.report import phrases
from sweeper.report.escape import inert
from sweeper.workshop import Workshop


@dataclass(frozen=True, slots=True)
class Waiting:
    """One verified unit at the barrier."""

    unit: Unit = field(repr=False)
    attempt: AttemptRow = field(repr=False)

    @property
    def key(self) -> str:
        return self.unit.key

    @property
    def title(self) -> str:
        return self.unit.title

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
    waiting = [Waiting(q.unit, attempt) async for q, attempt in ledger.verified(run.id)]
    pieces = [
        Verified(
            unit.key,
            unit.outcome.commit,
            _message(workshop, unit),
            unit.unit if unit.outcome.evidence.together > 1 else None,
        )
        for unit in waiting
    ]
    gate = Gate(workshop, ground, tests, run.round, claims(pieces))
    green = await merge_green(workshop, gate, pieces)
    merged, culprits = green.merged, green.culprits
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
    result = green.verdict.result if green.verdict else None
    return Barrier(merged.tip, merged.merged, tuple(sent_on), gate.base, result)


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
    told = notes.get("gate", [])
    if not gate.runs and any(known["round"] == run.round for known in told):
        return  # a resumed barrier that judged nothing new
    earlier = [known for known in told if known["round"] != run.round]
    await ledger.note(run.id, "gate", [*earlier, entry])


def _message(workshop: Workshop, unit: Waiting) -> str:
    outcome = unit.outcome
    lines = [
        f"{workshop.name}: fix {inert(unit.title)}",
        "",
        f"{phrases.count(outcome.evidence.before, 'finding')} before, {outcome.evidence.after} after.",
        "",
        f"Sweeper-Unit: {unit.key}",
        f"Sweeper-Attempt: {outcome.attempt}",
        f"Sweeper-Rung: {outcome.rung + 1}",
    ]
    return "\n".join(lines) + "\n"


def _sent_on(unit: Waiting, kind: Kind, reason: str, lines: tuple[str, ...]) -> Outcome:
    outcome = unit.outcome
    evidence = Evidence(reason=reason, lines=lines, before=outcome.evidence.before, after=outcome.evidence.before)
    return replace(outcome, kind=kind, evidence=evidence)
