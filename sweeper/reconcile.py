"""Hygiene, first thing in a fire: what dead coordinators left behind is salvaged, given back or removed.

Claims of dead owners are broken after an evidence probe; a sandbox that ended after its owner died has a whole
layer, which is captured, so that the attempt is judged and never run again. A sandbox that still runs is killed:
half a change is no result, and its attempt is recorded as lost when the unit is dispatched again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.attempt.job import ref_of, salvaged_message
from sweeper.capture import capture
from sweeper.ledger.contract import Ledger, Run, StaleClaim
from sweeper.policy import Scope
from sweeper.receipts import spent
from sweeper.records import Unit, Usage
from sweeper.repo import Repo
from sweeper.sandbox.contract import Backend, Handle, Role, Snapshot


@dataclass(frozen=True, slots=True)
class Reconciled:
    """How many claims were broken, layers captured and sandboxes removed."""

    claims: int = 0
    salvaged: int = 0
    reaped: int = 0


async def reconcile(
    ledger: Ledger,
    backend: Backend,
    repo: Repo,
    scope_of: Callable[[Unit], Scope | None],
    secrets: Sequence[bytes] = (),
) -> Reconciled:
    """Give back what dead owners hold. `scope_of`: the scope of a unit's sweep, None if it is not configured now.

    `secrets`: what no capture may hold.
    """
    stale = await ledger.stale_claims()
    salvaged = 0
    if stale:
        agents = [handle for handle in await backend.list() if handle.role == Role.AGENT]
        for claim in stale:
            salvaged += await _salvage(claim, agents, ledger, backend, repo, scope_of, secrets)
            await ledger.break_claim(claim)
    return Reconciled(len(stale), salvaged, await reap(ledger, backend))


async def stands(run: Run, ledger: Ledger, repo: Repo) -> bool:
    """Whether what the run goes on from is here: its tip, and every change that waits for the merge. A ledger that was
    carried into another clone may have left them behind.
    """
    if not await repo.remotes.has(run.tip or run.base):
        return False
    kept = {"", *(await repo.refs(f"refs/sweeper/{run.id}/")).values()}
    waiting = [row.outcome.commit async for _, row in ledger.verified(run.id) if row.outcome]
    return kept.issuperset(waiting)


async def account(ledger: Ledger, logs: Path) -> int:
    """Put down what unfinished attempts have spent by their receipts; how many did. `logs`: of all runs."""
    count = 0
    for row in await ledger.unfinished():
        usage = spent(logs / row.run, row.unit, row.number)
        if usage != row.usage and usage != Usage():
            await ledger.spend(row, usage)
            count += 1
    return count


async def reap(ledger: Ledger, backend: Backend) -> int:
    """Remove exactly the sandboxes that nobody needs any more."""
    dead = [handle for handle in await backend.list() if await _is_left(handle, ledger)]
    return await backend.reap(dead)  # also with none: what is left besides sandboxes goes with them


async def _is_left(handle: Handle, ledger: Ledger) -> bool:
    """One of a coordinator that lives is its own, whatever a clock says: a clock may have been stepped. An agent's of a
    dead coordinator may hold work that was paid for, its own ledger's to salvage: anybody else waits for the deadline.
    """
    alive = await ledger.alive(handle.owner)
    if alive:
        return False
    if alive is False and (handle.role != Role.AGENT or not handle.deadline or await ledger.run(handle.run)):
        return True
    return 0 < handle.deadline < time.time()


async def _salvage(
    stale: StaleClaim,
    agents: Sequence[Handle],
    ledger: Ledger,
    backend: Backend,
    repo: Repo,
    scope_of: Callable[[Unit], Scope | None],
    secrets: Sequence[bytes],
) -> int:
    """Capture the layers of the attempt's sandboxes, as far as they ended by themselves; how many captures that made.

    Each of several candidates has its own: what one was paid for is judged, whatever became of the others.
    """
    attempt = stale.attempt
    if attempt is None or attempt.state != "started":
        return 0
    queued = await ledger.unit(None, attempt.unit)
    run = await ledger.run(attempt.run)
    scope = scope_of(queued.unit) if queued else None
    if queued is None or run is None or scope is None:
        return 0
    base = run.tip or run.base
    if not await repo.remotes.has(base):
        return 0  # rewritten, or of another clone: nothing can be put on it, and its run is not gone on with
    snapshot = Snapshot(base, await repo.listing(base))
    in_scope = scope.matcher(queued.unit)
    captures = 0
    for handle in agents:
        ref = ref_of(attempt.run, attempt.unit, attempt.number, handle.index)
        theirs = (handle.run, handle.unit, handle.attempt)
        if theirs != (attempt.run, attempt.unit, attempt.number) or handle.running or await repo.find_ref(ref):
            continue
        layer = await backend.salvage(handle, snapshot, in_scope)
        if layer is None:
            continue
        message = salvaged_message(queued.unit, attempt.number, attempt.rung)
        captured = await capture(layer, repo, base, snapshot.listing, in_scope, ref, message, time.time(), secrets)
        captures += bool(captured.commit)
    return captures


def describe(done: Reconciled) -> Sequence[str]:
    """Lines for a person; none if nothing was found."""
    lines = []
    if done.claims:
        lines.append(f"{done.claims} claims of a coordinator that died were given back")
    if done.salvaged:
        lines.append(f"{done.salvaged} finished attempts of it were captured and will be judged")
    if done.reaped:
        lines.append(f"{done.reaped} sandboxes that it left were removed")
    return lines
