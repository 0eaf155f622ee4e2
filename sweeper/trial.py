"""One agent in its sandbox: started, metered, stopped, and what it left captured.

An agent that asks a model gets a door to the gateway for just so long as its sandbox lives: a unix socket in the
sandbox, which a forwarder turns into a loopback address, and a placeholder for the key. The door is closed before the
layer is judged, so that nothing is spent afterwards.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from sweeper import agents
from sweeper.backlog.paths import to_root
from sweeper.capture import Captured, capture
from sweeper.classify import Signs, Traffic, Trouble
from sweeper.config import RungConfig
from sweeper.ground import Ground, Workshop
from sweeper.job import AgentRun, Job, message_of, ref_of
from sweeper.prompt import Briefing, excerpts, render
from sweeper.receipts import receipt_of
from sweeper.records import Usage
from sweeper.sandbox.contract import DOOR, INPUTS, Clocks, Facts, Name, Role, Spec

if TYPE_CHECKING:  # slow to import, and only paid agents need it
    from sweeper.gateway import Door, Meter

TAIL_BYTES = 4000
READ_BYTES = 4 << 20  # of an agent's output that its adapter looks at
MAX_LINES = 12
PORT = 8790
FORWARDER = "forwarder.py"
PATIENCE = 60.0  # seconds that a call may wait for the provider in silence
NO_USAGE = Usage()
SILENCE = 0.8  # of the agent's own clocks that a silent wait may take


@dataclass(slots=True)
class Bill:
    """What the agents of one attempt have used, also of those that were stopped."""

    usage: Usage = field(default_factory=Usage)
    denied: dict[str, int] = field(default_factory=dict)

    def add(self, meter: Meter) -> None:
        self.usage += usage_of(meter)
        for kind, times in meter.refused.items():
            self.denied[kind] = self.denied.get(kind, 0) + times


async def run_agent(
    workshop: Workshop, ground: Ground, job: Job, bill: Bill, index: int = 0
) -> tuple[AgentRun, Captured]:
    """The agent's run and what it changed; `index` tells candidates apart. Raises SandboxFailed, ConfigError."""
    name = Name(workshop.run, job.unit.key, job.number, Role.AGENT, index)
    in_scope = workshop.scope.matcher(job.unit)
    meters: list[Meter] = []
    async with _door(workshop, job, index, meters, bill) as door:
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
    )
    return agent, captured


@asynccontextmanager
async def _door(
    workshop: Workshop, job: Job, index: int, meters: list[Meter], bill: Bill
) -> AsyncIterator[tuple[Door, agents.Model] | None]:
    rung = workshop.config.ladder[job.rung]
    needs = agents.needs(rung)
    if needs is None or workshop.gateway is None:
        yield None
        return
    attempt = f"{workshop.run} {job.unit.key} {job.number} {index}"
    door = await workshop.gateway.open(
        attempt,
        provider=needs.provider,
        models=[needs.model],
        micro_usd=round(_usd(workshop, rung) * 1_000_000),
        tokens=rung.max_tokens,
        deadline=time.time() + rung.clocks.wall,
        patience=patience(_clocks(rung)),
        receipt=receipt_of(workshop.sandboxing.logs, job.unit.key, job.number, index),
    )
    model = agents.Model(needs.model, f"http://127.0.0.1:{PORT}", door.token, workshop.protocols[needs.provider])
    try:
        yield door, model
    finally:
        with anyio.CancelScope(shield=True):
            meters.append(await workshop.gateway.close(attempt))
            bill.add(meters[-1])


def patience(clocks: Clocks) -> float:
    """Seconds that a call of an agent with these clocks may wait for the provider in silence."""
    return min([PATIENCE, *(SILENCE * clock for clock in (clocks.first_output, clocks.idle) if clock is not None)])


def _clocks(rung: RungConfig) -> Clocks:
    return Clocks(wall=rung.clocks.wall, first_output=rung.clocks.first_output, idle=rung.clocks.idle)


def _usd(workshop: Workshop, rung: RungConfig) -> float:
    return workshop.usd_per_attempt if rung.budget_usd is None else rung.budget_usd


def _spec(
    workshop: Workshop,
    ground: Ground,
    job: Job,
    name: Name,
    briefing: Briefing,
    door: tuple[Door, agents.Model] | None,
) -> Spec:
    rung = workshop.config.ladder[job.rung]
    start = agents.find(rung.agent).start(_task(workshop, job, briefing, door[1] if door else None))
    argv, inputs = start.argv, dict(start.inputs)
    if door:
        argv = forwarded(argv, inputs, door[0])
    limits = workshop.sandboxing.limits
    return workshop.sandboxing.spec(
        name,
        ground.snapshot,
        argv,
        cwd=workshop.config.root,
        stdin=start.stdin,
        env=start.env,
        inputs=inputs,
        changes=ground.masks if start.masked else (),
        limits=replace(limits, memory=limits.memory * job.memory_factor),
        clocks=_clocks(rung),
        door=door[0].socket.parent if door else None,
        wanted=workshop.scope.matcher(job.unit),
    )


def forwarded(argv: Sequence[str], inputs: dict[str, bytes], door: Door) -> tuple[str, ...]:
    """`argv` with the door's socket as a loopback address; the program that makes it one is added to `inputs`."""
    inputs[FORWARDER] = resources.files("sweeper.gateway").joinpath(FORWARDER).read_bytes()
    return ("python3", "-I", f"{INPUTS}/{FORWARDER}", str(PORT), f"{DOOR}/{door.socket.name}", "--", *argv)


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
        usd=_usd(workshop, rung) if model else 0.0,
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


def usage_of(meter: Meter) -> Usage:
    return Usage(meter.tokens.total_input, meter.tokens.output, meter.micro_usd)


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


def end_of(path: Path, most: int = TAIL_BYTES) -> bytes:
    """The last bytes of a log, none where there is no log."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most))
            return file.read(most)
    except OSError:
        return b""


def tail(printed: bytes) -> tuple[str, ...]:
    """The last lines of a log, shortened. Control characters are for whoever prints them to escape."""
    text = printed[-TAIL_BYTES:].decode("utf-8", "backslashreplace")
    return tuple(line[:300] for line in text.splitlines()[-MAX_LINES:] if line.strip())
