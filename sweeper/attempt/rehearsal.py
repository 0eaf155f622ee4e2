"""Before money is spent on units: an agent starts, reaches its model through a gateway, and edits a file."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sweeper import agents
from sweeper.attempt.trial import READ_BYTES, traffic_of
from sweeper.attempt.way import PORT, forwarded, patience, usage_of
from sweeper.budget import Budget
from sweeper.config.models import LimitsConfig, RungConfig, SweepConfig
from sweeper.gateway import Gateway, Provider
from sweeper.gateway.contract import Meter
from sweeper.logs import end_of, tail
from sweeper.records import Usage
from sweeper.sandbox.contract import Backend, Clocks, Name, Ran, Role, Spec, Toolchain
from sweeper.sandbox.probing import MiniatureTree

FILE, BEFORE, AFTER = b"rehearsal.txt", b"The colour is red.\n", b"The colour is green.\n"
PROMPT = (
    b"The file rehearsal.txt holds one line. Replace the word red in it by the word green, and change nothing else. "
    b'Then say "done".\n\n```json\n{\n "files": [\n  "rehearsal.txt"\n ]\n}\n```\n'
)
USD = 0.50  # at most
SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Exercise:
    """A small task: a tree of `files`, and a prompt about the one at `path`. `usd`: the money that it may take."""

    files: Mapping[bytes, bytes]
    path: bytes
    prompt: bytes
    clocks: Clocks
    usd: float = USD


@dataclass(frozen=True, slots=True)
class Performed:
    """How the agent ended, what went through its gateway, and what it printed."""

    ran: Ran
    meter: Meter
    printed: agents.Printed


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """`why`: what went wrong, "" if nothing did. `lines`: what the agent said last."""

    why: str
    usage: Usage
    seconds: float
    lines: tuple[str, ...] = ()


async def rehearse(backend: Backend, sweep: SweepConfig, rung: RungConfig, provider: Provider) -> Rehearsed:
    """One agent at one small file. Raises CheckBroken for a program that is missing, SandboxFailed, ConfigError."""
    done = await perform(backend, sweep, rung, provider, Exercise({FILE: BEFORE}, FILE, PROMPT, Clocks(wall=SECONDS)))
    left = agents.find(rung.agent).read(done.printed)
    said = tail((left.words or left.claimed).encode("utf-8", "replace")) or tail(done.printed.stderr)
    data = {entry.path: entry.data for entry in done.ran.layer.entries}
    return Rehearsed(_wrong(done.meter, data.get(FILE)), usage_of(done.meter), done.ran.facts.seconds, said)


async def perform(
    backend: Backend, sweep: SweepConfig, rung: RungConfig, provider: Provider, exercise: Exercise
) -> Performed:
    """One agent at one exercise, behind a gateway of its own. Raises as `rehearse`."""
    needs = agents.needs(rung)
    assert needs is not None, "a rung without a model has nothing to rehearse"
    adapter = agents.find(rung.agent)
    toolchain = Toolchain(
        name=sweep.toolchain,
        image=sweep.image,
        tools=(*adapter.tools(rung), "python3"),
        agents=agents.imaged([rung]),
    )
    snapshot = await backend.prepare(MiniatureTree(exercise.files), toolchain)
    limits = LimitsConfig(usd_per_fire=exercise.usd, usd_per_day=exercise.usd)
    path = os.fsdecode(exercise.path)
    with tempfile.TemporaryDirectory(prefix="sweeper-") as folder:
        async with Gateway([provider], Budget(limits), folder=Path(folder) / "doors") as gateway:
            door = await gateway.open(
                "rehearsal",
                provider=needs.provider,
                models=[needs.model],
                micro_usd=round(exercise.usd * 1_000_000),
                tokens=rung.max_tokens,
                deadline=time.time() + exercise.clocks.wall,
                patience=patience(exercise.clocks),
            )
            model = agents.Model(needs.model, f"http://127.0.0.1:{PORT}", door.token, str(provider.protocol))
            start = agents.start(agents.Task(rung, (path,), exercise.prompt, path, 1, model, exercise.usd))
            inputs = dict(start.inputs)
            spec = Spec(
                name=Name("doctor", rung.agent, 1, Role.PROBE),
                snapshot=snapshot,
                argv=forwarded(start.argv, inputs, door),
                stdout=Path(folder) / "stdout",
                stderr=Path(folder) / "stderr",
                stdin=start.stdin,
                env=start.env,
                inputs=inputs,
                clocks=exercise.clocks,
                door=door.socket.parent,
                wanted=lambda each: each == exercise.path,
                deadline=time.time() + 2 * exercise.clocks.wall,
            )
            ran = await backend.run(spec)
            meter = await gateway.close("rehearsal")
        return Performed(ran, meter, agents.Printed(end_of(spec.stdout, READ_BYTES), end_of(spec.stderr)))


def _wrong(meter: Meter, data: bytes | None) -> str:
    traffic = traffic_of(meter)
    if not meter.requests:
        return "it ended before it called its model"
    if traffic.account or (traffic.error and (traffic.failing or data != AFTER)):
        return f"the model's provider refused: {traffic.account or traffic.error}"
    if data is None:
        return "it reached its model, and changed no file"
    return "" if data == AFTER else "it reached its model, and changed the file in another way than it was told"
