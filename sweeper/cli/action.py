"""The GitHub Action's two steps, started by action/main.py: `run`, and `after`, which runs whatever came of it.

Inputs come in by the environment alone; everything that is printed stands between stop-commands and its token.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio import to_thread

from sweeper.cli import entry, event, firing, reap, signals, wiring
from sweeper.cli.console import Console
from sweeper.cli.options import Wanted
from sweeper.errors import SweeperError
from sweeper.fire import Fired
from sweeper.forge.contract import Published, Rendered
from sweeper.report.document import plan_document, report_document
from sweeper.report.model import SweepPlan, SweepReport
from sweeper.report.text import plan_text, rendered_text, report_text
from sweeper.runner import files, summary, verdict, words
from sweeper.runner.inputs import Inputs, read
from sweeper.runner.verdict import Verdict

TOKEN = "ACTION_TOKEN"  # of both steps, so that the second one starts what a killed first one has stopped


@dataclass
class End:
    """What a step has to say at its end. `problems`: (what, way out). `why`: of a plan, "" for a run.

    `spared`: the dry run took a run's place, because nothing may be paid for or written here.
    """

    code: int = 0
    reports: Sequence[SweepReport] = ()
    published: Sequence[Published] = ()
    problems: list[tuple[str, str]] = field(default_factory=list)
    rendered: Sequence[Rendered] = ()
    dry: bool = False
    plans: Sequence[SweepPlan] = ()
    why: str = ""
    spared: bool = False
    document: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.why and self.code in verdict.ENDS:
            return verdict.of_plan(self.plans, self.code)
        return verdict.of_run(self.reports, self.code, dry=self.dry)


def main(argv: Sequence[str] | None = None) -> int:
    """One step; its exit code."""
    os.dup2(sys.stdout.fileno(), sys.stderr.fileno())  # one stream: nothing is read after the token that came before it
    given = list(sys.argv[1:] if argv is None else argv)
    token = os.environ.pop(TOKEN, "") or secrets.token_hex(16)
    console = Console()
    print(words.stop(token), flush=True)  # noqa: T201
    try:
        if given == ["after"]:
            return _after(console)
        end, fail_on = _run(console)
        lines = _tell(end, console)
        code = 0 if end.spared and end.code in verdict.ENDS else verdict.exit_code(end.verdict, fail_on)
    finally:
        print(words.start(token), flush=True)  # noqa: T201
    print("\n".join(lines), flush=True)  # noqa: T201
    return code


def _run(console: Console) -> tuple[End, str]:
    """The sweeps drained, or planned; never raises."""
    fail_on = "error"
    try:
        inputs = read(console.environ)
        fail_on = inputs.fail_on
        os.chdir(inputs.folder or ".")
        return anyio.run(_steps, inputs, Console({**console.environ, **inputs.environ})), fail_on
    except OSError as problem:
        return End(2, problems=[(f"the input working-directory: {problem}", "a folder of the checkout")]), fail_on
    except Exception as problem:
        return _failed(problem, console), fail_on


def _failed(problem: Exception, console: Console) -> End:
    code = entry.failed(problem, console)
    cause = entry.known(problem)
    said = (str(cause), cause.hint) if cause else (f"internal error: {type(problem).__name__}", "the log has more")
    return End(code, problems=[said])


async def _steps(inputs: Inputs, console: Console) -> End:
    dry = inputs.dry_run
    if dry == "plan":
        return await _planned(Wanted(**inputs.run), console, "it was asked for")
    wanted = Wanted(**inputs.run, dry_run=dry, pull_request=inputs.pull_request and not dry)
    with signals.caught(console.warn) as caught:
        try:
            await _bring(console)
            fired = await firing.drain_once(wanted, console, caught, live=False)
        except event.DryRun as why:
            return await _planned(wanted, console, str(why), spared=True)
        end = _end(fired, caught.exit_code if caught.first is not None else None, dry=bool(dry))
        await _keep(console)
    for report in end.reports:
        console.result(report_text(report))
    for pull in end.rendered:
        console.result(rendered_text(pull))
    return end


def _end(fired: Fired | None, cancelled: int | None, *, dry: bool) -> End:
    if fired is None:
        return End(cancelled or 0)
    code = fired.exit_code if cancelled is None else cancelled
    pulls, rendered = fired.pull_requests, fired.rendered
    ended = fired.ended or str(fired.why)
    return End(
        code,
        fired.reports,
        pulls,
        [(str(problem), problem.hint) for problem in fired.problems],
        rendered=rendered,
        dry=dry,
        document=report_document(fired.reports, ended=ended, exit_code=code, pull_requests=pulls, rendered=rendered),
    )


async def _planned(wanted: Wanted, console: Console, why: str, *, spared: bool = False) -> End:
    console.warn(f"sweeper: {why}; what it would do:")
    plans, code = await firing.planned(wanted, console)
    for plan in plans or ():
        console.result(plan_text(plan))
    return End(code, plans=plans or (), why=why, spared=spared, document=plan_document(plans or ()))


async def _bring(console: Console) -> None:
    """The commits that a carried state folder names, into a clone that has not got them."""
    async with wiring.repository() as repo:
        try:
            found = await to_thread.run_sync(repo.remotes.carried(repo.state).load)
        except SweeperError as problem:
            console.warn(f"sweeper: commits of earlier runs were not brought back: {problem}")
            console.warn("  they stand on a commit that is not here: fetch-depth: 0 has the whole history")
            return
        for ref, commit in found.items():
            if ref.startswith("refs/heads/"):
                await repo.update_branch(ref.removeprefix("refs/heads/"), commit, None)
            else:
                await repo.create_ref(ref, commit)


async def _keep(console: Console) -> None:
    async with wiring.repository() as repo:
        try:
            await to_thread.run_sync(repo.remotes.carried(repo.state).save)
        except SweeperError as problem:
            console.warn(f"sweeper: the run's commits were not put beside the ledger: {problem}")


def _tell(end: End, console: Console) -> list[str]:
    """Summary, outputs and report are written; the lines that are commands, to be printed last."""
    environ: Mapping[str, str] = console.environ
    path = ""
    if end.document:
        try:
            path = files.write_report(environ, end.document)
        except OSError as problem:
            console.warn(f"sweeper: the report was not written: {problem}")

    def made(most: int) -> str:
        if end.why:
            return summary.of_plan(end.plans, end.why, most)
        return summary.of_run(end.reports, end.published, end.problems, most, end.rendered)

    for wrong in (
        files.write_summary(environ, made),
        files.write_outputs(environ, verdict.outputs(end.verdict, end.published, path)),
    ):
        if wrong:
            console.warn(f"sweeper: the runner was not told everything: {wrong}")
    return words.commands(verdict.remarks(end.reports, end.problems))


def _after(console: Console) -> int:
    """What a cancelled or killed run left is removed and put beside the ledger; never fails a job by itself."""
    with suppress(Exception):
        os.chdir(console.environ.get("INPUT_WORKING_DIRECTORY") or ".")
    config = console.environ.get("INPUT_CONFIG", "")
    try:
        for name, number in anyio.run(reap.reaped, console, Path(config) if config else None).items():
            console.say(f"{name}: {number:,} removed")
        anyio.run(_keep, console)
    except Exception as problem:
        entry.failed(problem, console)
    return 0
