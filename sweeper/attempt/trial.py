"""One agent in its sandbox: started, metered, stopped, and what it left captured.

Its way to a model is closed before its layer is judged, so that nothing is spent afterwards.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from sweeper import agents
from sweeper.attempt.job import AgentRun, Job, message_of, ref_of
from sweeper.attempt.way import Bill, Way, clocks_of, forwarded, injected, usage_of, way_of
from sweeper.backlog.paths import to_root
from sweeper.capture import Captured, capture
from sweeper.ground import Ground
from sweeper.ladder.classify import Signs, Traffic, Trouble
from sweeper.logs import end_of, tail
from sweeper.prompt import Briefing, excerpts, render
from sweeper.records import Usage
from sweeper.sandbox.contract import Facts, Name, Role, Spec
from sweeper.workshop import Workshop

if TYPE_CHECKING:  # slow to import, and only paid agents need it
    from sweeper.gateway import Meter

READ_BYTES = 4 << 20  # of an agent's output that its adapter looks at


async def run_agent(
    workshop: Workshop, ground: Ground, job: Job, bill: Bill, index: int = 0
) -> tuple[AgentRun, Captured]:
    """The agent's run and what it changed; `index` tells candidates apart. Raises SandboxFailed, ConfigError."""
    name = Name(workshop.run, job.unit.key, job.number, Role.AGENT, index)
    in_scope = workshop.scope.matcher(job.unit)
    meters: list[Meter] = []
    async with way_of(workshop, job, index, meters, bill) as door:
        if door is not None and door.full:
            signs = Signs(traffic=Traffic(exhausted=door.full))
            return AgentRun(Facts(exit_code=1), signs=signs), Captured("")
        briefing = await briefing_of(workshop, ground, job)
        spec = _spec(workshop, ground, job, name, briefing, door)
        ran = await workshop.sandboxing.backend.run(spec)
    agent = _seen(workshop, job, spec, ran.facts, meters[0] if meters else None)
    workshop.sandboxing.drop_logs(name)
    captured = await capture(
        ran.layer,
        workshop.repo,
        ground.commit,
        ground.snapshot.listing,
        in_scope,
        ref_of(workshop.run, job.unit.key, job.number, index),
        message_of(job, agent),
        time.time(),
        secrets=workshop.secrets,
    )
    return agent, captured


def _spec(
    workshop: Workshop,
    ground: Ground,
    job: Job,
    name: Name,
    briefing: Briefing,
    way: Way | None,
) -> Spec:
    rung = workshop.config.ladder[job.rung]
    start = agents.start(_task(workshop, job, briefing, way.model if way else None))
    door, env, stdin = (way.door if way else None), dict(start.env), start.stdin
    argv, inputs = start.argv, dict(start.inputs)
    if door is not None and rung.inject:
        argv, stdin = injected(argv, stdin, inputs, env, door, rung)
    elif door is not None:
        argv = forwarded(argv, inputs, door)
    limits = workshop.sandboxing.limits
    return workshop.sandboxing.spec(
        name,
        ground.snapshot,
        argv,
        cwd=workshop.config.root,
        stdin=stdin,
        env=env,
        inputs=inputs,
        changes=ground.masks if start.masked else (),
        limits=replace(limits, memory=limits.memory * job.memory_factor),
        clocks=clocks_of(rung),
        door=door.socket.parent if door else None,
        secrets=workshop.secrets if rung.inject else (),
        wanted=workshop.scope.matcher(job.unit),
    )


async def briefing_of(workshop: Workshop, ground: Ground, job: Job) -> Briefing:
    """What the unit's prompt may speak of."""
    root, unit = workshop.config.root, job.unit
    blobs = await workshop.repo.blobs(ground.commit, [os.fsencode(path) for path in unit.paths])
    code = []
    for path in unit.paths:
        lines = [finding.line for finding in unit.findings if finding.path == path]
        code += excerpts(to_root(path, root), blobs.get(os.fsencode(path), b""), lines)
    return Briefing(
        title=unit.title,
        number=job.number,
        files=tuple(to_root(path, root) for path in unit.paths),
        findings=tuple(replace(f, path=to_root(f.path, root)) for f in unit.findings),
        check=workshop.check.argv,
        scope=workshop.scope.globs,
        earlier=job.earlier,
        code=tuple(code),
        lines=unit.lines,
    )


def _task(workshop: Workshop, job: Job, briefing: Briefing, model: agents.Model | None) -> agents.Task:
    rung = workshop.config.ladder[job.rung]
    return agents.Task(
        rung=rung,
        files=briefing.files,
        prompt=render(rung.prompt, briefing, workshop.prompts),
        title=job.unit.title,
        number=job.number,
        model=model,
        usd=rung.usd(workshop.usd_per_attempt) if model else 0.0,
    )


def _seen(workshop: Workshop, job: Job, spec: Spec, facts: Facts, meter: Meter | None) -> AgentRun:
    """What the run came to, by its output and by the gateway's count; no known secret is in it."""
    redact = workshop.redactor
    printed = agents.Printed(
        redact.bytes(end_of(spec.stdout, READ_BYTES)), redact.bytes(end_of(spec.stderr, READ_BYTES))
    )
    left = agents.find(workshop.config.ladder[job.rung].agent).read(printed)
    said = (left.words or left.claimed).encode("utf-8", "replace")
    lines = tail(said) or tail(printed.stderr) or tail(printed.stdout)
    signs = Signs(
        trouble=left.trouble,
        traffic=traffic_of(meter) if meter else None,
        denied=left.denied,
        silent=not printed.stdout.strip() and not printed.stderr.strip(),
    )
    return AgentRun(
        facts,
        lines,
        facts.seconds,
        signs,
        usage_of(meter) if meter else Usage(),
        left.claimed,
        tuple(sorted(meter.refused.items())) if meter else (),
        max(0.0, meter.parked.until - time.time()) if meter and meter.parked else None,
    )


def traffic_of(meter: Meter) -> Traffic:
    return Traffic(
        requests=meter.requests,
        error=Trouble(str(meter.last_error)) if meter.last_error else None,
        failing=meter.failing,
        declined=meter.declined,
        account=Trouble(str(meter.account)) if meter.account else None,
        parked=meter.parked is not None,
        exhausted=meter.exhausted,
    )
