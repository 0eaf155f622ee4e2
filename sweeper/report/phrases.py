"""The sentences that every form of a report shares. Untrusted parts are not escaped here."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Iterator

from sweeper.ladder import classify
from sweeper.records import UnitState
from sweeper.report.model import PlannedUnit, SweepPlan, SweepReport, Try, UnitReport
from sweeper.scheduler import Why

NOTHING_MORE = "nothing more to try"  # a run that has ended so has left what a person decides
SHORT = 12  # hex digits of a commit that are shown


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def headline(report: SweepReport) -> str:
    """How the run stands, in a few words."""
    rounds = count(report.rounds, "round")
    if report.drained and report.ended:
        return f"drained in {rounds}"
    left = report.buckets.remaining + report.buckets.appeared
    if not report.ended:
        return f"not finished: {count(left, 'finding')} left in round {report.rounds}"
    return f"{ended(report)}: {count(left, 'finding')} left after {rounds}"


def ended(report: SweepReport) -> str:
    """Why a run has ended; "drained" only where it is."""
    return NOTHING_MORE if report.ended == Why.DRAINED and not report.drained else report.ended


def buckets(report: SweepReport) -> Iterator[tuple[int, str, str]]:
    """(findings, bucket, reason), first the sum and then its parts; a reason is untrusted text."""
    sums = report.buckets
    yield sums.total, "in all", "the first check's, and those given from outside" if sums.already_clean else ""
    yield sums.fixed, "fixed", ""
    if sums.already_clean:
        yield sums.already_clean, "already clean", "given, but not reproduced by the first check"
    for name, reasons in (("held", sums.held), ("open", sums.open), ("skipped", sums.skipped)):
        for reason, number in reasons.items():
            yield number, name, reason


def appeared(report: SweepReport) -> str:
    number = report.buckets.appeared
    return f"{count(number, 'finding')} beyond the first check's, in no bucket above" if number else ""


def attempts(report: SweepReport) -> str:
    """Totals by outcome."""
    parts = [f"{number:,} {kind}" for kind, number in report.outcomes.items()]
    if report.lost:
        parts.append(f"{report.lost:,} lost")
    return ", ".join(parts) or "none"


def cost(report: SweepReport) -> str:
    """Seconds of attempts, tokens and money; what was not used is not mentioned."""
    usage = report.usage
    parts = [f"{report.seconds:,.1f} s of attempts"]
    if usage.input_tokens or usage.output_tokens:
        parts.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    if usage.micro_usd:
        parts.append(f"${usage.micro_usd / 1e6:,.2f}")
    return ", ".join(parts)


def spending(report: SweepReport) -> Iterator[str]:
    """One line for each rung, model and rule that cost something."""
    for line in report.spending:
        if line.by == "rung" or line.usage.micro_usd or line.usage.input_tokens:
            each = f"${line.usd_per_fix:,.4f} a fix" if line.usd_per_fix is not None else "no fix"
            yield (
                f"{line.by} {line.name}: {each}, ${line.usage.micro_usd / 1e6:,.4f} for {line.fixed:,} fixed in "
                f"{count(line.attempts, 'attempt')}, {line.usage.input_tokens:,} tokens in, "
                f"{line.usage.output_tokens:,} out, {line.seconds:,.1f} s"
            )


def gates(report: SweepReport) -> Iterator[tuple[str, tuple[str, ...]]]:
    """One sentence a barrier that judged something, and the titles of the units that it ejected."""
    for gate in report.gates:
        if not (gate.runs or gate.red or gate.ejected):
            continue
        said = f"round {gate.round}: {f'red ({gate.reason})' if gate.red else 'green'}, {count(gate.runs, 'run')}"
        yield said, gate.ejected


def flaky(report: SweepReport) -> tuple[str, ...]:
    """Tests that were seen both green and red on one tree; no unit was blamed for them."""
    return tuple(sorted({test for gate in report.gates for test in gate.flaky}))


def commits(report: SweepReport) -> int:
    return sum(len(unit.merged) for unit in report.units)


def look(report: SweepReport) -> str:
    """The command that shows what the run did."""
    return f"git diff {report.base[:SHORT]}..{(report.branch if not report.dry_run else '') or report.tip[:SHORT]}"


def dry(report: SweepReport) -> str:
    """What a dry run has left undone, "" for any other run."""
    if not report.dry_run:
        return ""
    return f"{count(commits(report), 'commit')}; no branch was moved: `sweeper run` lands them and pays for none again"


def rungs(plan: SweepPlan) -> Iterator[tuple[str, str]]:
    """What can be tried, rung by rung, or why nothing can."""
    for number, rung in enumerate(plan.rungs, 1):
        yield f"rung {number}", rung
    if plan.no_rung:
        yield "no rung", plan.no_rung


def start(plan: SweepPlan, unit: PlannedUnit) -> str:
    """Where a run would begin with the unit."""
    if unit.rung is not None:
        return f"rung {unit.rung + 1}"
    return "no rung" if plan.no_rung else f"held: {unit.hold}"


def expected(plan: SweepPlan) -> Iterator[str]:
    """What each rung will take and where that is known from, and what all of it costs."""
    for one in plan.expected:
        if not one.attempts:
            continue
        parts = [f"{one.attempts:,g} attempt{'' if one.attempts == 1 else 's'}"]
        if one.mended is not None:
            parts.append(f"{one.mended:.0%} of them mend")
        if one.tokens != 0:
            parts.append("tokens without a limit" if one.tokens is None else f"{one.tokens:,} tokens")
        parts += [f"${one.usd:,.2f}"] if one.usd or one.tokens != 0 else []
        parts.append(f"{one.minutes:,.1f} min")
        yield f"rung {one.rung + 1}: {'at most ' if one.at_most else ''}{', '.join(parts)} ({one.basis})"
    if usd := sum(one.usd for one in plan.expected):
        bound = "at most " if any(one.at_most and one.usd for one in plan.expected) else ""
        limit = plan.limits.get("usd_per_fire", "")
        yield f"in all: {bound}${usd:,.2f}" + (f"; a run ends at ${float(limit):,.2f}" if limit else "")


def path_of(unit: UnitReport) -> str:
    """The rungs that a unit tried, with what came of each."""
    return " -> ".join(step(t) for t in unit.tries)


def step(attempt: Try) -> str:
    return f"rung {attempt.rung + 1} {came(attempt)}"


def came(attempt: Try) -> str:
    """An attempt's outcome, and the reason where it says more."""
    return classify.came(attempt.kind or attempt.state, attempt.reason)


def counted(attempt: Try) -> str:
    """Findings before an attempt and after it, as far as they could be counted."""
    if attempt.reason in classify.UNCOUNTED:
        return f"{attempt.before:,} before, not counted after: {attempt.reason}"
    return f"{attempt.before:,} before, {attempt.after:,} after"


def checks(attempt: Try) -> str:
    """The whole checks that a change was in, and with how many others the last one judged it."""
    others = f"together with {count(attempt.together - 1, 'other')}" if attempt.together > 1 else "alone"
    first = f", after {', '.join(attempt.checks[:-1])} left it in doubt" if len(attempt.checks) > 1 else ""
    return f"{attempt.checks[-1]}, {others}{first}"


def evidence(unit: UnitReport) -> str:
    """The first key line of the newest attempt."""
    return next((line for t in reversed(unit.tries[-1:]) for line in t.lines), "")


def why(unit: UnitReport) -> str:
    """Why a unit is not done; "" where it is, or where its part on the branch says enough."""
    if unit.held:
        return unit.why or f"{count(unit.findings, 'finding')} left of {', '.join(unit.rules)}"
    return "" if unit.merged else unit.why


def shown(unit: UnitReport) -> str:
    """The evidence of a unit that is not done, as `why`."""
    return evidence(unit) if unit.held or not unit.merged else ""


def command(argv: tuple[str, ...]) -> str:
    return shlex.join(argv)


def when(epoch: float) -> str:
    return dt.datetime.fromtimestamp(epoch, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if epoch else "-"


GROUPS: tuple[tuple[str, frozenset[UnitState]], ...] = (
    ("held, a human decides", frozenset({UnitState.HELD})),
    ("not settled", frozenset({UnitState.OPEN, UnitState.CLAIMED, UnitState.VERIFIED})),
    ("settled", frozenset({UnitState.SETTLED})),
)


def groups(report: SweepReport) -> Iterator[tuple[str, list[UnitReport]]]:
    """The units in the order in which a person wants them: those marked for review first.

    A held one stands among the held whatever is on the branch of it.
    """
    marked = [unit for unit in report.units if unit.reviews]
    if marked:
        yield "on the branch, marked for review", marked
    for name, states in GROUPS:
        some = [unit for unit in report.units if unit.state in states and (unit.held or not unit.reviews)]
        if some:
            yield name, some
