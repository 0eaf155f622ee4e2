"""One claim -> sandboxes -> one outcome. Raises only on cancellation.

An attempt gets a unit, a rung and a snapshot; it never sees the ledger or other units. The order is fixed:
agent -> stop -> layer -> capture -> policy -> verify -> outcome. A captured change is durable (a ref) before it
is judged, so that an attempt whose coordinator died is judged again and never run again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sweeper import agents
from sweeper.backlog.child import ChildFailed
from sweeper.backlog.paths import to_root
from sweeper.capture import Captured, capture, recall
from sweeper.classify import after_verify, before_verify
from sweeper.config import RungConfig
from sweeper.errors import SandboxFailed
from sweeper.ground import Ground, Workshop
from sweeper.loop import Slot
from sweeper.policy import Verdict
from sweeper.policy.wire import Refusal, judge_rows, verdict_of
from sweeper.prompt import Briefing, render
from sweeper.records import Evidence, Finding, Kind, Outcome, Unit
from sweeper.sandbox.contract import Clock, Clocks, Facts, Name, Role
from sweeper.verify import Judgement, proves_nothing, verify

TAIL_BYTES = 4000
MAX_LINES = 12


@dataclass(frozen=True, slots=True)
class Job:
    """One unit on one rung. `captured`: the commit of a dead coordinator's capture, to be judged only."""

    unit: Unit
    rung: int
    number: int
    earlier: Sequence[Outcome] = ()
    captured: str = ""
    memory_factor: int = 1


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What is known of the agent's run; kept in the capture's commit message, so that a later judge has it too."""

    facts: Facts
    lines: tuple[str, ...] = ()
    seconds: float = 0.0


def ref_of(run: str, unit: str, number: int) -> str:
    """The durable mark of a captured attempt."""
    return f"refs/sweeper/{run}/{unit}/{number}"


async def attempt(workshop: Workshop, ground: Ground, job: Job, slot: Slot) -> Outcome:
    """The outcome of one attempt on `ground`."""
    began = time.monotonic()
    try:
        if job.captured:
            slot.free()
            agent, captured = await _recall(workshop, job)
        else:
            agent, captured = await _run_agent(workshop, ground, job, slot)
        outcome = await _judge(workshop, ground, job, agent, captured)
    except SandboxFailed as error:
        outcome = _failed(ground, job, error)
    except Exception as error:  # whatever it is, it is this unit's outcome and a human's to look at, not the fire's end
        lines = (f"{type(error).__name__}: {error}"[:500],)
        outcome = _outcome(ground, job, Kind.UNCLASSIFIED, Evidence(reason="internal error", lines=lines))
    return replace(outcome, seconds=round(time.monotonic() - began, 3))


async def _run_agent(workshop: Workshop, ground: Ground, job: Job, slot: Slot) -> tuple[AgentRun, Captured]:
    rung = workshop.config.ladder[job.rung]
    name = Name(workshop.run, job.unit.key, job.number, Role.AGENT)
    in_scope = workshop.scope.matcher(job.unit)
    start = agents.find(rung.agent).start(_task(workshop, job, rung))
    limits = workshop.sandboxing.limits
    spec = workshop.sandboxing.spec(
        name,
        ground.snapshot,
        start.argv,
        cwd=workshop.config.root,
        stdin=start.stdin,
        env=start.env,
        inputs=start.inputs,
        limits=replace(limits, memory=limits.memory * job.memory_factor),
        clocks=Clocks(wall=rung.clocks.wall, first_output=rung.clocks.first_output, idle=rung.clocks.idle),
        wanted=in_scope,
    )
    ran = await workshop.sandboxing.backend.run(spec)
    slot.free()
    agent = AgentRun(ran.facts, tail(spec.stderr) or tail(spec.stdout), ran.facts.seconds)
    workshop.sandboxing.drop_logs(name)
    captured = await capture(
        ran.layer,
        workshop.repo,
        ground.commit,
        ground.snapshot.listing,
        in_scope,
        ref_of(workshop.run, job.unit.key, job.number),
        _message(job, agent),
        time.time(),
    )
    return agent, captured


def _task(workshop: Workshop, job: Job, rung: RungConfig) -> agents.Task:
    root = workshop.config.root
    files = tuple(to_root(path, root) for path in job.unit.paths)
    briefing = Briefing(
        title=job.unit.title,
        number=job.number,
        files=files,
        findings=tuple(replace(f, path=to_root(f.path, root)) for f in job.unit.findings),
        check=workshop.check.argv,
        earlier=job.earlier,
    )
    return agents.Task(
        rung=rung,
        files=files,
        prompt=render(rung.prompt, briefing, workshop.prompts),
        title=job.unit.title,
        number=job.number,
    )


async def _judge(workshop: Workshop, ground: Ground, job: Job, agent: AgentRun, captured: Captured) -> Outcome:
    before = len(ground.baseline.of(job.unit.paths))
    evidence = Evidence(exit_code=agent.facts.exit_code, lines=agent.lines, before=before, after=before)
    touched = bool(captured.commit or captured.refused or captured.out_of_scope)
    early = before_verify(agent.facts, changed=touched)
    if early is not None:
        return _outcome(ground, job, early.kind, replace(evidence, reason=early.reason), facts=agent.facts)
    try:
        verdict = await _policy(workshop, ground, job, captured)
    except ChildFailed as error:
        evidence = replace(evidence, reason="unreadable", lines=(str(error),))
        return _outcome(ground, job, Kind.REJECTED, evidence, commit=captured.commit)
    if verdict.rejections:
        first = verdict.rejections[0]
        evidence = replace(evidence, reason=first.rule, lines=tuple(map(str, verdict.rejections[:MAX_LINES])))
        return _outcome(ground, job, Kind.REJECTED, evidence, commit=captured.commit)
    if not captured.commit:
        return _outcome(ground, job, Kind.NO_CHANGE, replace(evidence, reason="no change"))
    name = Name(workshop.run, job.unit.key, job.number, Role.VERIFIER)
    judged = await verify(workshop.check, name, ground.snapshot, job.unit, ground.baseline, captured.changes)
    kind, reason = after_verify(
        broken=proves_nothing(judged),
        unparsable=bool(judged.unparsable),
        targeted_before=len(job.unit.findings),
        targeted_after=judged.targeted,
        new=len(judged.difference.new),
        clock=agent.facts.clock,
        gone_rules={finding.rule for finding in judged.difference.gone},
        new_rules={finding.rule for finding in judged.difference.new},
    )
    return _outcome(
        ground,
        job,
        kind,
        _evidence(judged, agent, before, reason),
        commit=captured.commit,
        reviews=tuple(str(violation) for violation in verdict.reviews),
    )


async def _policy(workshop: Workshop, ground: Ground, job: Job, captured: Captured) -> Verdict:
    """The rules over the captured bytes, in the limited child. Raises ChildFailed."""
    base = await workshop.repo.blobs(ground.commit, [os.fsencode(change.path) for change in captured.changes])
    rows = await workshop.check.parser.call(
        judge_rows,
        captured.changes,
        {os.fsdecode(path): data for path, data in base.items()},
        job.unit,
        workshop.scope,
        [Refusal(entry.path, entry.reason) for entry in captured.refused],
        captured.out_of_scope,
        tuple(workshop.check.tool.config_files),
        workshop.secrets,
    )
    return verdict_of(rows)


def _evidence(judged: Judgement, agent: AgentRun, before: int, reason: str) -> Evidence:
    lines = [_describe("new", finding) for finding in judged.difference.new]
    lines += [_describe("remains", finding) for finding in judged.difference.remaining]
    if proves_nothing(judged):
        lines = judged.result.why.splitlines()
    return Evidence(
        command=judged.command,
        exit_code=judged.exit_code,
        reason=reason,
        lines=tuple(line[:300] for line in lines[:MAX_LINES]) or agent.lines,
        before=before,
        after=len(judged.difference.remaining) + len(judged.difference.new),
        new=tuple(judged.difference.new[:MAX_LINES]),
    )


def _describe(word: str, finding: Finding) -> str:
    return f"{word}: {finding.path}:{finding.line}: {finding.rule} {finding.message}"


def _outcome(
    ground: Ground,
    job: Job,
    kind: Kind,
    evidence: Evidence,
    *,
    commit: str = "",
    reviews: tuple[str, ...] = (),
    facts: Facts | None = None,
) -> Outcome:
    return Outcome(
        unit=job.unit.key,
        attempt=job.number,
        rung=job.rung,
        kind=kind,
        base=ground.commit,
        commit=commit,
        evidence=evidence,
        reviews=reviews,
        memory_exceeded=facts is not None and facts.oom,
    )


def _failed(ground: Ground, job: Job, error: SandboxFailed) -> Outcome:
    # a fault that no later try can mend is about this machine, not about the unit: the run stops
    kind = Kind.TRANSIENT if error.retryable else Kind.REFUSED
    lines = tuple(line for line in (str(error)[:500], error.hint) if line)
    return _outcome(ground, job, kind, Evidence(reason="sandbox failed", lines=lines))


def tail(path: Path) -> tuple[str, ...]:
    """The last lines of a log, shortened. Control characters are for whoever prints them to escape."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            text = file.read(TAIL_BYTES).decode("utf-8", "backslashreplace")
    except OSError:
        return ()
    return tuple(line[:300] for line in text.splitlines()[-MAX_LINES:] if line.strip())


def _message(job: Job, agent: AgentRun) -> str:
    facts = agent.facts
    data: dict[str, Any] = {
        "unit": job.unit.key,
        "attempt": job.number,
        "rung": job.rung,
        "lines": agent.lines,
        "seconds": agent.seconds,
        "exit_code": facts.exit_code,
        "signal": facts.signal,
        "oom": facts.oom,
        "clock": facts.clock,
    }
    return f"sweeper: attempt {job.number} of {job.unit.key}\n\n{json.dumps(data)}\n"


def salvaged_message(unit: Unit, number: int, rung: int) -> str:
    """The commit message of a capture whose agent's end nobody saw."""
    return _message(Job(unit, rung, number), AgentRun(Facts(exit_code=0)))


async def _recall(workshop: Workshop, job: Job) -> tuple[AgentRun, Captured]:
    """The capture of a coordinator that died, with what it knew of the agent's run."""
    captured, message = await recall(workshop.repo, job.captured, workshop.scope.matcher(job.unit))
    try:
        data = json.loads(next(line for line in message.splitlines() if line.startswith("{")))
        facts = Facts(data["exit_code"], data["signal"], data["oom"], Clock(data["clock"]) if data["clock"] else None)
        return AgentRun(facts, tuple(data["lines"]), data["seconds"]), captured
    except (StopIteration, ValueError, KeyError, TypeError):
        return AgentRun(Facts(exit_code=0)), captured
