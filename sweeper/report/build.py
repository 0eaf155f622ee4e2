"""The report of a run, from the ledger alone: what its outcomes and its first and newest check say."""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sweeper.ledger.contract import AttemptRow, Ledger, Queued, Run
from sweeper.records import Skip, UnitState, Usage
from sweeper.report.model import Buckets, GateVerdict, SweepReport, Try, UnitReport
from sweeper.report.spending import Tried, spending

Tally = Mapping[str, Mapping[str, int]]  # path -> rule -> findings

STATES = {
    UnitState.OPEN: "not settled when the run ended",
    UnitState.CLAIMED: "being attempted",
    UnitState.VERIFIED: "verified, waits for the merge",
    UnitState.SETTLED: "settled, reported by the newest check again",
}
UNKNOWN = "in no unit yet"


async def build(ledger: Ledger, run: Run) -> SweepReport:
    """The report of `run` as the ledger has it now. Raises LedgerFailed."""
    notes = await ledger.notes(run.id)
    attempts: dict[str, list[AttemptRow]] = {}
    async for row in ledger.attempts(run=run.id):
        attempts.setdefault(row.unit, []).append(row)
    units: list[Queued] = []
    async for queued in ledger.units(run.sweep):
        if queued.key in attempts or (queued.state is not UnitState.SETTLED and concerns(notes, queued)):
            units.append(queued)
    rows = [row for own in attempts.values() for row in own]
    skips = tuple(await ledger.skips(run.id))
    return SweepReport(
        sweep=run.sweep,
        run=run.id,
        base=run.base,
        tip=run.tip or run.base,
        branch=notes.get("branch", ""),
        rounds=run.round,
        ended=run.ended,
        buckets=sort_findings(notes, units, skips),
        units=tuple(sorted((_unit(u, attempts.get(u.key, ())) for u in units), key=_order)),
        skips=skips,
        outcomes=dict(sorted(Counter(str(row.outcome.kind) for row in rows if row.outcome).items())),
        lost=sum(row.state == "lost" for row in rows),
        gates=tuple(_gate(row) for row in notes.get("gate", ())),
        usage=sum((row.usage for row in rows), Usage()),
        seconds=round(sum(row.outcome.seconds for row in rows if row.outcome), 3),
        check=tuple(notes.get("check", ())),
        tests=notes.get("tests", ""),
        unit_check=notes.get("unit_check", ""),
        incomplete=notes.get("incomplete", ""),
        dry_run=notes.get("dry_run", ""),
        spending=spending(list(_tried(units, attempts)), notes.get("config", {}).get("ladder", ())),
        denied=dict(sum((Counter(dict(row.outcome.denied)) for row in rows if row.outcome), Counter[str]())),
    )


def concerns(notes: Mapping[str, Any], queued: Queued) -> bool:
    """Is it this run's? One whose findings were handed in leaves those units alone that were given earlier."""
    known = [notes.get("first", {}), notes.get("last", {})]
    mine = any(finding.rule in tally.get(finding.path, {}) for finding in queued.unit.findings for tally in known)
    return mine or not notes.get("selected")


def _tried(units: Sequence[Queued], attempts: Mapping[str, Sequence[AttemptRow]]) -> Iterable[Tried]:
    for queued in units:
        findings = Counter(finding.rule for finding in queued.unit.findings)
        for row in attempts.get(queued.key, ()):
            if row.outcome:
                yield Tried(row.rung, row.outcome.usage, row.outcome.seconds, bool(row.merged), findings)
            elif row.usage != Usage():
                yield Tried(row.rung, row.usage, 0.0, False, findings)


async def story(ledger: Ledger, queued: Queued) -> UnitReport:
    """One unit with every attempt of every run."""
    return _unit(queued, [row async for row in ledger.attempts(unit=queued.key)])


def sort_findings(notes: Mapping[str, Any], units: Sequence[Queued], skips: Sequence[Skip]) -> Buckets:
    """Put every finding of the first check into one bucket.

    `notes`: "first" and "last" are {path: {rule: findings}} of the first and the newest check, "not_reproduced" the
    same for what was given from outside. Without "last" nothing has been merged yet: it is the first.
    """
    first: Tally = notes.get("first", {})
    last: Tally = notes.get("last", first)
    holders = _holders(units)
    reasons = _skip_reasons(skips)
    totals: Counter[str] = Counter()
    remaining: dict[str, Counter[str]] = {"held": Counter(), "open": Counter(), "skipped": Counter()}
    for path, rule in dict.fromkeys((*_pairs(first), *_pairs(last))):
        before, after = first.get(path, {}).get(rule, 0), last.get(path, {}).get(rule, 0)
        totals["first"] += before
        totals["fixed"] += max(0, before - after)
        totals["appeared"] += max(0, after - before)
        left = min(before, after)
        for bucket, reason, held in holders.get((path, rule), ()):
            taken = min(left, held)
            remaining[bucket][reason] += taken
            left -= taken
        if left and (path, rule) in holders:
            bucket, reason, _ = holders[path, rule][-1]
            remaining[bucket][reason] += left
        elif left:
            skipped = reasons.get(_plain(path))
            remaining["skipped" if skipped else "open"][skipped or UNKNOWN] += left
    return Buckets(
        first=totals["first"],
        fixed=totals["fixed"],
        already_clean=sum(sum(rules.values()) for rules in notes.get("not_reproduced", {}).values()),
        held=_sorted(remaining["held"]),
        open=_sorted(remaining["open"]),
        skipped=_sorted(remaining["skipped"]),
        appeared=totals["appeared"],
    )


def _pairs(tally: Tally) -> Iterable[tuple[str, str]]:
    return ((path, rule) for path, rules in tally.items() for rule in rules)


def _holders(units: Sequence[Queued]) -> dict[tuple[str, str], list[tuple[str, str, int]]]:
    """(path, rule) -> (bucket, reason, findings) of the units that have it, those not settled first."""
    holders: dict[tuple[str, str], list[tuple[str, str, int]]] = {}
    for queued in sorted(units, key=lambda q: q.state is UnitState.SETTLED):
        held = queued.state is UnitState.HELD
        reason = queued.why or "held" if held else STATES[queued.state]
        for pair, count in Counter((f.path, f.rule) for f in queued.unit.findings).items():
            holders.setdefault(pair, []).append(("held" if held else "open", reason, count))
    return holders


def _skip_reasons(skips: Sequence[Skip]) -> dict[str, str]:
    return {_plain(skip.path): str(skip.reason) for skip in skips}


def _plain(path: str) -> str:
    return os.path.normpath(path) if path else ""


def _sorted(reasons: Counter[str]) -> dict[str, int]:
    return {reason: count for reason, count in reasons.most_common() if count}


def _unit(queued: Queued, attempts: Iterable[AttemptRow]) -> UnitReport:
    return UnitReport(
        key=queued.key,
        title=queued.unit.title,
        state=queued.state,
        why=queued.why,
        findings=len(queued.unit.findings),
        rules=queued.unit.rules,
        tries=tuple(_try(row) for row in sorted(attempts, key=lambda row: row.number)),
        paths=queued.unit.paths,
        line=min((finding.line for finding in queued.unit.findings if finding.line), default=0),
    )


def _try(row: AttemptRow) -> Try:
    place = {"number": row.number, "run": row.run, "round": row.round, "rung": row.rung, "state": row.state}
    outcome = row.outcome
    if outcome is None:
        return Try(**place, started=row.started)  # type: ignore[arg-type]
    evidence = outcome.evidence
    return Try(
        **place,  # type: ignore[arg-type]
        kind=str(outcome.kind),
        reason=evidence.reason,
        command=evidence.command,
        exit_code=evidence.exit_code,
        lines=evidence.lines,
        before=evidence.before,
        after=evidence.after,
        base=outcome.base,
        commit=outcome.commit,
        merged=row.merged,
        started=row.started,
        seconds=outcome.seconds,
        usage=outcome.usage,
        reviews=outcome.reviews,
        claimed=outcome.claimed,
        denied=dict(outcome.denied),
        checks=evidence.checks,
        together=evidence.together,
    )


def _gate(row: Mapping[str, Any]) -> GateVerdict:
    ejected, flaky = tuple(row.get("ejected", ())), tuple(row.get("flaky", ()))
    return GateVerdict(row["round"], row["runs"], row["red"], row.get("reason", ""), ejected, flaky)


def _order(unit: UnitReport) -> tuple[bool, int, str, str]:
    """What needs a person first: review-marked, held, open, then the settled."""
    rank = {UnitState.HELD: 0, UnitState.SETTLED: 2}
    return (not unit.reviews, rank.get(unit.state, 1), unit.title, unit.key)
