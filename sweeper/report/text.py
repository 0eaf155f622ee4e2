"""The report, a plan and a unit's story as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sweeper.forge.contract import Rendered
from sweeper.report import phrases
from sweeper.report.escape import terminal
from sweeper.report.model import SweepPlan, SweepReport, Try, UnitReport

LISTED = 20  # of each group


def report_text(report: SweepReport) -> str:
    """The whole report; of each group of units the first ones."""
    return "\n".join(_report(report)) + "\n"


def _report(report: SweepReport) -> Iterator[str]:
    yield f"{terminal(report.sweep)}: {terminal(phrases.headline(report))}"
    for number, bucket, reason in phrases.buckets(report):
        yield f"  {number:>7,} {bucket}" + (f": {terminal(reason)}" if reason else "")
    if appeared := phrases.appeared(report):
        yield f"  and {appeared}"
    for name, value in _facts(report):
        yield f"  {name:<9} {value}"
    for name, units in phrases.groups(report):
        yield ""
        yield f"{name} ({len(units):,}):"
        for unit in units[:LISTED]:
            yield from _unit_lines(unit)
        if len(units) > LISTED:
            yield f"  ... and {len(units) - LISTED:,} more; `sweeper report --json` has them all"


def _facts(report: SweepReport) -> Iterator[tuple[str, str]]:
    yield "attempts", f"{phrases.attempts(report)}; {phrases.cost(report)}"
    for line in phrases.spending(report):
        yield "spent", terminal(line)
    if report.denied:
        yield "refused", f"by the gateway: {', '.join(f'{times:,} {kind}' for kind, times in report.denied.items())}"
    for said, ejected in phrases.gates(report):
        yield "gate", said + (f"; ejected {', '.join(map(terminal, ejected))}" if ejected else "")
    if flaky := phrases.flaky(report):
        yield "flaky", f"blamed on no unit: {', '.join(map(terminal, flaky))}"
    if report.tests:
        yield "tests", terminal(report.tests)
    if report.unit_check:
        yield "unit check", terminal(report.unit_check)
    if report.incomplete:
        yield "incomplete", terminal(report.incomplete)
    if report.check:
        yield "check", terminal(phrases.command(report.check))
    yield "base", report.base[: phrases.SHORT]
    if report.dry_run:
        yield "dry run", phrases.dry(report)
    elif report.branch:
        yield "branch", f"{terminal(report.branch)}, {phrases.count(phrases.commits(report), 'commit')}"
    if report.branch or report.dry_run:
        yield "look", terminal(phrases.look(report))
    yield "run", terminal(report.run)


def _unit_lines(unit: UnitReport) -> Iterator[str]:
    head = f"  {terminal(unit.title)}"
    if why := phrases.why(unit):
        head += f": {terminal(why)}"
    yield head
    if unit.tries:
        commit = f", commit {unit.merged[-1][: phrases.SHORT]}" if unit.merged else ""
        yield f"      {terminal(phrases.path_of(unit))}{commit}"
    for review in unit.reviews:
        yield f"      review: {terminal(review)}"
    if line := phrases.shown(unit):
        yield f"      {terminal(line)}"


def plan_text(plan: SweepPlan) -> str:
    """What a run would do."""
    return "\n".join(_plan(plan)) + "\n"


def _plan(plan: SweepPlan) -> Iterator[str]:
    yield (
        f"{terminal(plan.sweep)}: {phrases.count(plan.findings, 'finding')} in "
        f"{phrases.count(len(plan.units), 'unit')} at {plan.base[: phrases.SHORT]}"
    )
    read = f" ({terminal(plan.format)})" if plan.format else ""
    yield f"  check     {terminal(phrases.command(plan.check))}{read}"
    if plan.unit_check:
        yield f"  per unit  {terminal(plan.unit_check)}"
    if plan.incomplete:
        yield f"  incomplete  {terminal(plan.incomplete)}"
    if plan.owners:
        yield f"  owners    {terminal(plan.owners)}"
    if plan.not_reproduced:
        yield f"  {phrases.count(plan.not_reproduced, 'given finding')} not reproduced: already clean"
    if plan.resumes:
        yield f"  resumes   run {terminal(plan.resumes)}"
    if plan.lands:
        yield f"  lands     what that run has fixed, up to {plan.lands[: phrases.SHORT]}"
    yield f"  sandbox   {terminal(plan.sandbox)}"
    yield "  limits    " + ", ".join(f"{name} {terminal(value)}" for name, value in plan.limits.items())
    for rung, what in phrases.rungs(plan):
        yield f"  {rung:<8}  {terminal(what)}"
    for line in phrases.expected(plan):
        yield f"  expected  {line}"
    yield from _planned(plan)
    yield from _prompts(plan)
    if plan.skips:
        yield ""
        yield f"skipped ({phrases.count(sum(skip.findings for skip in plan.skips), 'finding')}):"
    for skip in plan.skips[:LISTED]:
        yield f"  {skip.findings:>5,}  {terminal(skip.path) or '-'}  {skip.reason}"
    if len(plan.skips) > LISTED:
        yield f"  ... and {len(plan.skips) - LISTED:,} more paths"


def _planned(plan: SweepPlan) -> Iterator[str]:
    if plan.units:
        yield ""
        yield f"units ({len(plan.units):,}), most work first:"
    for unit in plan.units[:LISTED]:
        rules = ", ".join(unit.rules[:4]) + (", ..." if len(unit.rules) > 4 else "")
        start = phrases.start(plan, unit)
        lines = f" (lines {unit.lines[0]}-{unit.lines[1]})" if unit.lines else ""
        turn = f" after {terminal(unit.waits_for)}" if unit.waits_for else ""
        yield f"  {unit.findings:>5,}  {terminal(unit.title)}{lines}  {terminal(start)}{turn}  {terminal(rules)}"
    if len(plan.units) > LISTED:
        yield f"  ... and {len(plan.units) - LISTED:,} more; `sweeper plan --json` has them all"


def _prompts(plan: SweepPlan) -> Iterator[str]:
    for unit in plan.units:
        if unit.prompt:
            yield ""
            yield f"prompt of {terminal(unit.title)} on rung {unit.prompt_rung + 1}:"
            yield from (f"  | {terminal(line, len(line) + 1)}" for line in unit.prompt.splitlines())


def rendered_text(pull: Rendered) -> str:
    """A pull request of a dry run, with its whole text."""
    lines = [f"pull request, on paper only ({pull.operation}{f', {pull.url}' if pull.url else ''}):"]
    more = f"{', draft' if pull.draft else ''}{f', {terminal(pull.part)}' if pull.part else ''}"
    lines.append(f"  {terminal(pull.branch)} -> {terminal(pull.base)}{more}")
    lines.append(f"  title     {terminal(pull.title)}")
    for name, values in (("labels", pull.labels), ("reviewers", pull.reviewers), ("assignees", pull.assignees)):
        if values:
            lines.append(f"  {name:<9} {', '.join(map(terminal, values))}")
    if pull.milestone:
        lines.append(f"  milestone {terminal(pull.milestone)}")
    lines.append(f"  {phrases.count(len(pull.commits), 'commit')}, up to {pull.head[: phrases.SHORT]}:")
    lines += [f"    {commit[: phrases.SHORT]} {terminal(subject)}" for commit, subject in pull.commits]
    lines += ["", *(f"  | {terminal(line, len(line) + 1)}" for line in pull.body.splitlines())]
    return "\n".join(lines) + "\n"


def story_text(unit: UnitReport, rungs: Mapping[str, Sequence[str]] | None = None) -> str:
    """A unit's whole story. `rungs`: run -> one line for each rung of its ladder."""
    lines = [
        terminal(unit.title),
        f"  unit      {unit.key}",
        f"  state     {unit.state}" + (f": {terminal(unit.why)}" if unit.why else ""),
        f"  findings  {unit.findings:,} ({terminal(', '.join(unit.rules))})",
    ]
    for attempt in unit.tries:
        lines += ["", *_attempt_lines(attempt, (rungs or {}).get(attempt.run, ()))]
    if not unit.tries:
        lines += ["", "  no attempt yet"]
    return "\n".join(lines) + "\n"


def _attempt_lines(attempt: Try, rungs: Sequence[str]) -> Iterator[str]:
    rung = f": {rungs[attempt.rung]}" if attempt.rung < len(rungs) else ""
    yield f"  attempt {attempt.number}, round {attempt.round} of run {terminal(attempt.run)}"
    yield f"    rung      {attempt.rung + 1}{terminal(rung)}"
    yield f"    started   {phrases.when(attempt.started)}, took {attempt.seconds:,.1f} s"
    yield f"    outcome   {terminal(phrases.came(attempt))}"
    if not attempt.kind:
        return
    yield f"    findings  {phrases.counted(attempt)}"
    if attempt.command:
        yield f"    judged by {terminal(phrases.command(attempt.command))}, exit code {attempt.exit_code}"
    if len(attempt.checks) > 1 or attempt.together > 1:
        yield f"    checks    {phrases.checks(attempt)}"
    for line in attempt.lines:
        yield f"    evidence  {terminal(line)}"
    for review in attempt.reviews:
        yield f"    review    {terminal(review)}"
    if attempt.commit:
        yield f"    captured  git show {attempt.commit[: phrases.SHORT]}"
    if attempt.state == "stale":
        yield "    kept as evidence only: the claim was lost meanwhile"
    if attempt.merged:
        yield f"    merged    git show {attempt.merged[: phrases.SHORT]}"
    usage = attempt.usage
    if usage.input_tokens or usage.output_tokens or usage.micro_usd:
        tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
        yield f"    cost      {tokens}, ${usage.micro_usd / 1e6:,.4f}"
    for kind, times in attempt.denied.items():
        yield f"    refused   by the gateway: {terminal(kind)}, {times:,} times"
    if attempt.claimed:
        yield f"    the agent said (not evidence): {terminal(attempt.claimed)}"
