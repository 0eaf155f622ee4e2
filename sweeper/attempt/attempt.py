"""One claim -> sandboxes -> one outcome. Raises only on cancellation.

An attempt gets a unit, a rung and a snapshot; it never sees the ledger or other units. The order is fixed:
agent -> stop -> layer -> capture -> policy -> verify -> outcome. A captured change is durable (a ref) before it
is judged, so that an attempt whose coordinator died is judged again and never run again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio

from sweeper.attempt.job import AgentRun, Job, recalled
from sweeper.attempt.trial import run_agent
from sweeper.attempt.way import Bill
from sweeper.backlog.child import ChildFailed
from sweeper.capture import Captured
from sweeper.commands import argv
from sweeper.errors import SandboxFailed, SweeperError
from sweeper.gate.suite import unit_test
from sweeper.ground import Ground
from sweeper.ladder.classify import MEMORY, after_verify, before_verify, swaps
from sweeper.logs import MAX_LINES
from sweeper.loop import Slot
from sweeper.policy import Verdict
from sweeper.policy.wire import Refusal, judge_rows, verdict_of
from sweeper.records import MERGEABLE, Evidence, Kind, Outcome, Usage
from sweeper.sandbox.contract import Facts, Name, Role, machine_failed
from sweeper.verify.verifiers import Candidate
from sweeper.verify.verify import Judgement, key_line
from sweeper.workshop import Workshop

CONFIGURATION_CAP = 64 << 10  # bytes of a configuration file that is looked through
UNIT_TESTS = 40  # numbers their sandboxes beyond those of candidates, below those of batches
# Of several candidates without a verified change, which one's outcome is the unit's: what tells most about what to do.
TELLING = (
    Kind.FIXED, Kind.PARTIAL, Kind.REFUSED, Kind.TRANSIENT, Kind.REJECTED, Kind.NOT_FIXED, Kind.TIMED_OUT,
    Kind.NO_CHANGE, Kind.CONTEXT_OVERFLOW, Kind.NEEDS_INPUT, Kind.DECLINED,
)  # fmt: skip


async def attempt(workshop: Workshop, ground: Ground, job: Job, slot: Slot) -> Outcome:
    """The outcome of one attempt on `ground`."""
    began = time.monotonic()
    candidates = workshop.config.ladder[job.rung].candidates
    bill = Bill()
    if job.captured:
        slot.free()
        outcome = await _adopted(workshop, ground, job, bill)
    elif candidates == 1:
        outcome = await _tried(workshop, ground, job, bill, slot.free)
    else:
        outcome = await _race(workshop, ground, job, bill, slot, candidates)
    if not job.captured:
        outcome = replace(outcome, usage=bill.usage, denied=tuple(sorted(bill.denied.items())))
    return replace(workshop.redactor.outcome(outcome), seconds=round(time.monotonic() - began, 3))


async def _tried(
    workshop: Workshop, ground: Ground, job: Job, bill: Bill, stopped: Callable[[], None], index: int = 0
) -> Outcome:
    """One agent's outcome; `stopped` is called as soon as it has stopped, while its change is still to be judged."""
    try:
        if job.captured:
            agent, captured = await recalled(workshop, job, index)
        else:
            try:
                agent, captured = await run_agent(workshop, ground, job, bill, index)
            finally:
                stopped()
        outcome, candidate, reviews = await _before(workshop, ground, job, agent, captured, index)
        del captured  # so that what waits for a verifier holds no content
        if candidate is not None:
            outcome = await _verified(workshop, ground, job, agent, candidate, reviews)
        return replace(
            outcome, usage=agent.usage, claimed=agent.claimed, denied=agent.denied, retry_after=agent.retry_after
        )
    except SandboxFailed as error:
        return _failed(ground, job, error)
    except SweeperError as error:  # git, the ledger or the configuration: no unit's fault, and no later unit's luck
        lines = tuple(line for line in (str(error)[:500], error.hint) if line)
        return _outcome(ground, job, Kind.REFUSED, Evidence(reason="cannot go on", lines=lines))
    except OSError as error:  # this machine's, and no unit's: it has no descriptor, memory or room left
        return _failed(ground, job, machine_failed(error))
    except Exception as error:  # whatever it is, it is this unit's outcome and a human's to look at, not the fire's end
        lines = (f"{type(error).__name__}: {error}"[:500],)
        return _outcome(ground, job, Kind.UNCLASSIFIED, Evidence(reason="internal error", lines=lines))


async def _race(workshop: Workshop, ground: Ground, job: Job, bill: Bill, slot: Slot, candidates: int) -> Outcome:
    """Several agents at the same unit: the first verified change wins, and the others are stopped."""
    running = candidates
    ended: list[Outcome] = []
    limiter = anyio.CapacityLimiter(slot.weight)

    def stopped() -> None:
        nonlocal running
        running -= 1
        if not running:
            slot.free()

    async def one(index: int, everybody: anyio.CancelScope) -> None:
        async with limiter:
            outcome = await _tried(workshop, ground, job, bill, stopped, index)
        ended.append(outcome)
        if outcome.kind in (Kind.FIXED, Kind.REFUSED):
            everybody.cancel()

    async with anyio.create_task_group() as group:
        for index in range(candidates):
            group.start_soon(one, index, group.cancel_scope)
    slot.free()
    return _most_telling(ended)


async def _adopted(workshop: Workshop, ground: Ground, job: Job, bill: Bill) -> Outcome:
    """What a dead coordinator's agents left, each judged as its own; none is run again, and all were paid for."""
    ended: list[Outcome] = []
    for index in sorted(job.captured):
        ended.append(await _tried(workshop, ground, job, bill, lambda: None, index))
        if ended[-1].kind in (Kind.FIXED, Kind.REFUSED):
            break
    # a capture knows what its own agent used, the receipts what all of them did
    return replace(_most_telling(ended), usage=job.spent) if job.spent != Usage() else _most_telling(ended)


def _most_telling(ended: Sequence[Outcome]) -> Outcome:
    order = {kind: place for place, kind in enumerate(TELLING)}
    return min(ended, key=lambda outcome: order.get(outcome.kind, len(order)))


async def _before(
    workshop: Workshop, ground: Ground, job: Job, agent: AgentRun, captured: Captured, index: int
) -> tuple[Outcome, Candidate | None, tuple[str, ...]]:
    """The outcome so far; with a candidate, and the policy's reviews, where the verifier decides."""
    evidence = _unjudged(ground, job, agent)
    early = before_verify(agent.facts, changed=captured.touched, signs=agent.signs)
    if early is not None:
        evidence = replace(evidence, reason=early.reason)
        return _outcome(ground, job, early.kind, evidence, facts=agent.facts), None, ()
    try:
        verdict = await _policy(workshop, ground, job, captured)
    except ChildFailed as error:
        evidence = replace(evidence, reason="unreadable", lines=(str(error),))
        return _outcome(ground, job, Kind.REJECTED, evidence, commit=captured.commit), None, ()
    if verdict.rejections:
        first = verdict.rejections[0]
        evidence = replace(evidence, reason=first.rule, lines=tuple(map(str, verdict.rejections[:MAX_LINES])))
        return _outcome(ground, job, Kind.REJECTED, evidence, commit=captured.commit), None, ()
    outcome = _outcome(ground, job, Kind.NO_CHANGE, replace(evidence, reason="no change"))
    if not captured.commit:
        return outcome, None, ()
    candidate = Candidate(
        name=Name(workshop.run, job.unit.key, job.number, Role.VERIFIER, index),
        check=workshop.check.with_memory(job.memory_factor),
        snapshot=ground.snapshot,
        baseline=ground.baseline,
        unread=ground.unread,
        unit=job.unit,
        commit=captured.commit,
        changes=captured.changes,
        seconds=ground.seconds,
        # nobody waits for a candidate that the winner of its race may stop, or for one that needs more memory
        alone=job.memory_factor > 1 or workshop.config.ladder[job.rung].candidates > 1,
    )
    return outcome, candidate, (*map(str, verdict.reviews), *workshop.marks(job.rung))


async def _verified(
    workshop: Workshop, ground: Ground, job: Job, agent: AgentRun, candidate: Candidate, reviews: tuple[str, ...]
) -> Outcome:
    judged = await workshop.verifiers.judge(candidate)
    commit, new = candidate.commit, judged.difference.new
    if judged.facts.oom or judged.facts.clock:
        reason = MEMORY if judged.facts.oom else f"the verifier's {judged.facts.clock} clock"
        evidence = replace(_unjudged(ground, job, agent), reason=reason, checks=judged.checks)
        return _outcome(ground, job, Kind.TRANSIENT, evidence, commit=commit)
    kind, reason = after_verify(
        broken=judged.result.broken,
        unparsable=bool(judged.unparsable),
        vanished=bool(judged.vanished),
        targeted_before=len(job.unit.findings),
        targeted_after=judged.targeted,
        new=len(new),
        clock=agent.facts.clock,
        swapped=swaps(judged.difference.gone, new),
        rules={finding.rule for finding in new},
        facts=agent.facts,
        signs=agent.signs,
    )
    evidence = _evidence(ground, job, judged, agent, reason)
    if kind in MERGEABLE and argv(workshop.config.unit_test):
        return await _tested(workshop, ground, job, candidate, _outcome(ground, job, kind, evidence), reviews)
    return _outcome(ground, job, kind, evidence, commit=commit, reviews=reviews)


async def _tested(
    workshop: Workshop, ground: Ground, job: Job, candidate: Candidate, fixed: Outcome, reviews: tuple[str, ...]
) -> Outcome:
    """The outcome of a verified change after the unit's own test."""
    name = replace(candidate.name, index=UNIT_TESTS + 2 * candidate.name.index)
    changes = tuple(await workshop.repo.changes_of(candidate.commit))
    async with workshop.verifiers.limiter:
        run = await unit_test(workshop, ground, name, job.unit, changes)
    if run is None:
        reviews = (*reviews, "unit_test: red on the base too, so it proves nothing")
    elif not run.passed:
        evidence = replace(fixed.evidence, reason="unit test", lines=run.lines)
        return replace(fixed, kind=Kind.NOT_FIXED, evidence=evidence, commit=candidate.commit)
    return replace(fixed, commit=candidate.commit, reviews=reviews)


async def _policy(workshop: Workshop, ground: Ground, job: Job, captured: Captured) -> Verdict:
    """The rules over the captured bytes, in the limited child. Raises ChildFailed."""
    base = await workshop.repo.blobs(ground.commit, [os.fsencode(change.path) for change in captured.changes])
    context = await workshop.repo.blobs(ground.commit, ground.configuration, CONFIGURATION_CAP)
    config, check = workshop.config, workshop.check
    own = (config.check, config.unit_check, config.test, config.unit_test)
    commands = [word for command in own for word in argv(command)]
    rows = await workshop.check.parser.call(
        judge_rows,
        captured.changes,
        {os.fsdecode(path): data for path, data in base.items()},
        job.unit,
        workshop.scope,
        {
            "refused": [Refusal(entry.path, entry.reason) for entry in captured.refused],
            "out_of_scope": captured.out_of_scope,
            "check_config_files": (*workshop.check.tool.config_files, *workshop.steering),
            "secrets": workshop.secrets,
            "command": (*check.argv, *commands),
            "context": {os.fsdecode(path): data for path, data in context.items()},
            "root": check.root,
            "severities": dict(workshop.severities),
        },
    )
    return verdict_of(rows)


def _unjudged(ground: Ground, job: Job, agent: AgentRun) -> Evidence:
    before = len(ground.baseline.of(job.unit.paths))
    return Evidence(exit_code=agent.facts.exit_code, lines=agent.lines, before=before, after=before)


def _evidence(ground: Ground, job: Job, judged: Judgement, agent: AgentRun, reason: str) -> Evidence:
    remaining = [finding for finding in judged.difference.remaining if finding.path in job.unit.paths]
    lines = [judged.result.unread_line(path) for path in judged.unparsable]
    by_word = (("vanished", judged.vanished), ("new", judged.difference.new), ("remains", remaining))
    lines += [key_line(word, finding) for word, findings in by_word for finding in findings]
    if judged.result.broken:
        lines = judged.result.why.splitlines()
    before = len(ground.baseline.of(job.unit.paths))
    return Evidence(
        command=judged.command,
        exit_code=judged.facts.exit_code,
        reason=reason,
        lines=tuple(line[:300] for line in lines[:MAX_LINES]) or agent.lines,
        before=before,
        after=before if judged.result.broken or judged.unparsable else len(remaining) + len(judged.difference.new),
        new=tuple(judged.difference.new[:MAX_LINES]),
        checks=judged.checks,
        together=judged.together,
    )


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
