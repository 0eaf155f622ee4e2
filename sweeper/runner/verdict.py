"""What a step ends with: its status in a word, its counts, and whether it fails. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sweeper.forge.contract import Published
from sweeper.report.model import SweepPlan, SweepReport
from sweeper.report.phrases import count
from sweeper.runner.words import Annotation

STATUS: Mapping[int, str] = {
    0: "drained",
    1: "remaining",
    2: "configuration",
    3: "check-broken",
    4: "no-sandbox",
    5: "limit",
    6: "forge",
    7: "busy",
    130: "cancelled",
    143: "cancelled",
}
DRY_RUN = "dry-run"
FAIL_ON = ("error", "held", "remaining", "never")
ENDS = (0, 1, 5)  # ends in good order: whether they fail a step is `fail-on`'s to say


@dataclass(frozen=True, slots=True)
class Verdict:
    """`code`: sweeper's own exit code. Counts are findings, None where nothing is known of them. `usd`: dollars."""

    status: str
    code: int
    fixed: int | None = None
    remaining: int | None = None
    held: int | None = None
    usd: float = 0.0


def of_run(reports: Sequence[SweepReport], code: int, *, dry: bool = False) -> Verdict:
    """The verdict on a fire that reported; `dry`: one that moved no branch."""
    status = DRY_RUN if dry and code in ENDS else STATUS.get(code, "internal")
    if not reports:
        return Verdict(status, code)
    sums = [report.buckets for report in reports]
    return Verdict(
        status,
        code,
        fixed=sum(each.fixed for each in sums),
        remaining=sum(each.remaining + each.appeared for each in sums),
        held=sum(sum(each.held.values()) for each in sums),
        usd=sum(report.usage.micro_usd for report in reports) / 1e6,
    )


def of_plan(plans: Sequence[SweepPlan], code: int) -> Verdict:
    """The verdict on a dry run: nothing was fixed."""
    return Verdict(
        DRY_RUN,
        code,
        fixed=0,
        remaining=sum(plan.findings for plan in plans),
        held=sum(unit.findings for plan in plans for unit in plan.units if unit.rung is None),
    )


def exit_code(verdict: Verdict, fail_on: str) -> int:
    """The step's exit code. `fail_on`: "error": whatever is no end in good order; "held", "remaining": that too, where
    findings are held, or left at all; "never": only what was cancelled."""
    if verdict.status == "cancelled":
        return verdict.code
    if fail_on == "never":
        return 0
    if verdict.code not in ENDS:
        return verdict.code
    wrong = {"held": verdict.held, "remaining": verdict.remaining}.get(fail_on, 0)
    return (verdict.code or 1) if wrong else 0


def outputs(verdict: Verdict, published: Sequence[Published], report: str) -> dict[str, str]:
    """The step's outputs; "" for what is not known. `report`: the path of the JSON report, "" if there is none."""
    first = published[0] if published else None
    counts = {"fixed-count": verdict.fixed, "remaining-count": verdict.remaining, "held-count": verdict.held}
    return {
        "status": verdict.status,
        "exit-code": str(verdict.code),
        **{name: "" if count is None else str(count) for name, count in counts.items()},
        "cost-usd": f"{verdict.usd:.4f}",
        "report-path": report,
        "pull-request-number": str(first.number) if first else "",
        "pull-request-url": first.url if first else "",
        "pull-request-operation": first.operation if first else "none",
        "pull-request-head-sha": first.head if first else "",
        "pull-request-branch": first.branch if first else "",
        "pull-request-numbers": ",".join(str(each.number) for each in published),
    }


def remarks(reports: Sequence[SweepReport], problems: Sequence[tuple[str, str]]) -> list[Annotation]:
    """What a person should see: problems, units that wait for a decision, changes marked for review."""
    found = [Annotation("error", "\n".join(filter(None, problem)), title="sweeper") for problem in problems]
    for report in reports:
        for unit in report.units:
            file = unit.paths[0] if len(unit.paths) == 1 else ""
            if unit.state == "held":
                rules = ", ".join(unit.rules)
                said = (
                    f"{unit.title}: {count(unit.findings, 'finding')} held: {unit.why or 'a human decides'} ({rules})"
                )
                found.append(Annotation("warning", said, title=f"{report.sweep}: held", path=file, line=unit.line))
            for review in unit.reviews:
                said = f"{unit.title}: {review}"
                found.append(Annotation("notice", said, title=f"{report.sweep}: review", path=file))
    return found
