"""The report as Markdown, fit for a pull request or a job summary: untrusted text stands in code spans only."""

from __future__ import annotations

from collections.abc import Iterator

from sweeper.forge.contract import Rendered
from sweeper.report import phrases
from sweeper.report.escape import code
from sweeper.report.model import SweepPlan, SweepReport, UnitReport

LISTED = 50


def report_markdown(report: SweepReport, *, listed: int = LISTED) -> str:
    """The whole report; of each group of units the first `listed`."""
    return "\n".join(_report(report, listed)) + "\n"


def _report(report: SweepReport, listed: int) -> Iterator[str]:
    yield f"## {code(report.sweep)}: {_ended(report)}"
    yield ""
    for number, bucket, reason in phrases.buckets(report):
        indent = "" if bucket == "in all" else "  "
        yield f"{indent}- **{number:,}** {bucket}" + (f": {code(reason)}" if reason else "")
    if appeared := phrases.appeared(report):
        yield f"- and {appeared}"
    yield ""
    yield from _facts(report)
    for name, units in phrases.groups(report):
        yield ""
        yield f"### {name[0].upper()}{name[1:]} ({len(units):,})"
        yield ""
        for unit in units[:listed]:
            yield from _unit_lines(unit)
        if len(units) > listed:
            yield f"- and {len(units) - listed:,} more"


def _ended(report: SweepReport) -> str:
    said = phrases.headline(report)
    return said if report.drained or not report.ended else said.replace(report.ended, code(report.ended), 1)


def _facts(report: SweepReport) -> Iterator[str]:
    yield f"- Attempts: {phrases.attempts(report)}; {phrases.cost(report)}"
    for line in phrases.spending(report):
        yield f"- Spent by {code(line)}"
    if report.denied:
        yield f"- Refused by the gateway: {', '.join(f'{times:,} {kind}' for kind, times in report.denied.items())}"
    for said, ejected in phrases.gates(report):
        yield f"- Gate: {said}" + (f"; ejected {', '.join(map(code, ejected))}" if ejected else "")
    if flaky := phrases.flaky(report):
        yield f"- Flaky tests, blamed on no unit: {', '.join(map(code, flaky))}"
    for name, text in (("Tests", report.tests), ("Unit check", report.unit_check), ("Incomplete", report.incomplete)):
        if text:
            yield f"- {name}: {code(text)}"
    if report.check:
        yield f"- Check it again: {code(phrases.command(report.check))}"
    if report.dry_run:
        yield f"- Dry run: {phrases.dry(report)}"
    if report.branch or report.dry_run:
        yield f"- Look at it: {code(phrases.look(report))}, {phrases.count(phrases.commits(report), 'commit')}"
    yield f"- Run {code(report.run)} on base {code(report.base[: phrases.SHORT])}"


def _unit_lines(unit: UnitReport) -> Iterator[str]:
    line = f"- {code(unit.title)}"
    if why := phrases.why(unit):
        line += f": {code(why)}"
    if unit.tries:
        line += f"; {code(phrases.path_of(unit))}"
    if unit.merged:
        line += f", commit {unit.merged[-1][: phrases.SHORT]}"
    yield line
    for review in unit.reviews:
        yield f"  - review: {code(review)}"
    if evidence := phrases.shown(unit):
        yield f"  - {code(evidence)}"


def plan_markdown(plan: SweepPlan, *, listed: int = LISTED) -> str:
    """What a run would do; the first `listed` units and skipped paths."""
    return "\n".join(_plan(plan, listed)) + "\n"


def _plan(plan: SweepPlan, listed: int) -> Iterator[str]:
    found, units = phrases.count(plan.findings, "finding"), phrases.count(len(plan.units), "unit")
    yield f"## {code(plan.sweep)}: {found} in {units}"
    yield ""
    yield f"- Check: {code(phrases.command(plan.check))}, on base {code(plan.base[: phrases.SHORT])}"
    for name, text in (
        ("Incomplete", plan.incomplete),
        ("Owners", plan.owners),
        ("Resumes run", plan.resumes),
        ("Lands what that run has fixed, up to", plan.lands[: phrases.SHORT]),
    ):
        if text:
            yield f"- {name}: {code(text)}"
    for rung, what in phrases.rungs(plan):
        yield f"- {rung.capitalize()}: {code(what)}"
    for line in phrases.expected(plan):
        yield f"- Expected on {line}" if line.startswith("rung") else f"- Expected {line}"
    for name, value in plan.limits.items():
        yield f"- Limit {code(name)}: {code(value)}"
    if plan.units and listed:
        yield ""
        yield "### Units, most work first"
        yield ""
    for unit in plan.units[:listed]:
        start = phrases.start(plan, unit)
        found = phrases.count(unit.findings, "finding")
        yield f"- {code(unit.title)}: {found}, {code(start)}; {code(', '.join(unit.rules))}"
    if len(plan.units) > listed:
        yield f"- and {len(plan.units) - listed:,} more units"
    if plan.skips:
        yield ""
        yield f"### Skipped ({phrases.count(sum(skip.findings for skip in plan.skips), 'finding')})"
        yield ""
    for skip in plan.skips[:listed]:
        yield f"- {code(skip.path or '-')}: {phrases.count(skip.findings, 'finding')}, {code(str(skip.reason))}"
    if len(plan.skips) > listed:
        yield f"- and {len(plan.skips) - listed:,} more paths"


def rendered_markdown(pull: Rendered, *, listed: int = LISTED) -> str:
    """A pull request of a dry run with its whole text, which was neutralised when it was made."""
    what = f"{pull.operation}{', draft' if pull.draft else ''}"
    lines = [f"## Pull request, on paper only ({what}): {code(pull.title)}", ""]
    lines.append(f"- From {code(pull.branch)} to {code(pull.base)}" + (f", {code(pull.part)}" if pull.part else ""))
    for name, values in (("Labels", pull.labels), ("Reviewers", pull.reviewers), ("Assignees", pull.assignees)):
        if values:
            lines.append(f"- {name}: {', '.join(map(code, values))}")
    if pull.milestone:
        lines.append(f"- Milestone: {code(pull.milestone)}")
    for commit, subject in pull.commits[:listed]:
        lines.append(f"- {commit[: phrases.SHORT]} {code(subject)}")
    if len(pull.commits) > listed:
        lines.append(f"- and {len(pull.commits) - listed:,} more commits")
    return "\n".join([*lines, "", pull.body, "", "---", ""])
