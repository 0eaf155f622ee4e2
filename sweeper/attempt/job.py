"""One unit on one rung, and what is known of its agent's run: kept in the commit of its capture."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeper.capture import Captured, recall
from sweeper.ladder.classify import NOTHING, Signs, Traffic, Trouble
from sweeper.records import Outcome, Unit, Usage
from sweeper.sandbox.contract import Clock, Facts
from sweeper.workshop import Workshop

NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Job:
    """One unit on one rung. `captured`: what a dead coordinator captured, candidate -> commit, to be judged only; the
    attempt had `spent` so much.
    """

    unit: Unit
    rung: int
    number: int
    earlier: Sequence[Outcome] = ()
    captured: Mapping[int, str] = field(default_factory=dict)
    spent: Usage = NO_USAGE
    memory_factor: int = 1


@dataclass(frozen=True, slots=True)
class AgentRun:
    """What is known of the agent's run; kept in the capture's commit message, so that a later judge has it too."""

    facts: Facts
    lines: tuple[str, ...] = ()
    seconds: float = 0.0
    signs: Signs = NOTHING
    usage: Usage = NO_USAGE
    claimed: str = ""
    denied: tuple[tuple[str, int], ...] = ()
    retry_after: float | None = None


def ref_of(run: str, unit: str, number: int, index: int = 0) -> str:
    """The durable mark of a captured attempt; of a further candidate `index`."""
    return f"refs/sweeper/{run}/{unit}/{number}" + (f"-{index}" if index else "")


def message_of(job: Job, agent: AgentRun) -> str:
    facts, signs = agent.facts, agent.signs
    traffic = signs.traffic
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
        "usage": [agent.usage.input_tokens, agent.usage.output_tokens, agent.usage.micro_usd],
        "claimed": agent.claimed,
        "gateway": agent.denied,
        "retry_after": agent.retry_after,
        "trouble": signs.trouble,
        "denied": signs.denied,
        "traffic": traffic and dataclasses.astuple(traffic),
    }
    return f"sweeper: attempt {job.number} of {job.unit.key}\n\n{json.dumps(data)}\n"


def salvaged_message(unit: Unit, number: int, rung: int) -> str:
    """The commit message of a capture whose agent's end nobody saw."""
    return message_of(Job(unit, rung, number), AgentRun(Facts(exit_code=0)))


async def recalled(workshop: Workshop, job: Job, index: int) -> tuple[AgentRun, Captured]:
    """The capture of a coordinator that died, with what it knew of the agent's run."""
    captured, message = await recall(workshop.repo, job.captured[index], workshop.scope.matcher(job.unit))
    try:
        return _remembered(json.loads(next(line for line in message.splitlines() if line.startswith("{")))), captured
    except (StopIteration, ValueError, KeyError, TypeError):
        return AgentRun(Facts(exit_code=0)), captured


def _remembered(data: dict[str, Any]) -> AgentRun:
    facts = Facts(data["exit_code"], data["signal"], data["oom"], Clock(data["clock"]) if data["clock"] else None)
    traffic = None
    if data["traffic"]:
        requests, error, account, *more = data["traffic"]
        traffic = Traffic(requests, error and Trouble(error), account and Trouble(account), *more)
    trouble = Trouble(data["trouble"]) if data["trouble"] else None
    return AgentRun(
        facts,
        tuple(data["lines"]),
        data["seconds"],
        Signs(trouble, traffic, tuple(data["denied"])),
        Usage(*data["usage"]),
        data["claimed"],
        tuple((kind, times) for kind, times in data["gateway"]),
        data["retry_after"],
    )
