"""Which sandboxes a coordinator may remove: it shares engine and cache with those of other repositories."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sweeper.ledger.lease import make_owner
from sweeper.ledger.sql import SqlLedger
from sweeper.reconcile import reap
from sweeper.records import Owner
from sweeper.sandbox.contract import Handle, Role
from tests.ledger.builders import ELSEWHERE, RUN

HOUR = 3600.0


class Engine:
    def __init__(self, handle: Handle) -> None:
        self._handles = [handle]

    async def list(self, owner: str | None = None) -> Sequence[Handle]:
        return self._handles

    async def reap(self, handles: Sequence[Handle]) -> int:
        return len(handles)


async def removed(ledger: SqlLedger, handle: Handle) -> bool:
    engine: Any = Engine(handle)
    return await reap(ledger, engine) == 1


def handle(owner: Owner, *, run: str = "of another ledger", role: str = Role.AGENT, deadline: float = HOUR) -> Handle:
    """`deadline`: seconds from now."""
    return Handle("name", run, "unit", 1, role, owner, time.time() + deadline, running=False)


@pytest.mark.anyio
async def test_c02_a_living_coordinator_s_is_its_own_whatever_the_clock_says(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = replace(make_owner(), id="of another ledger")
    found = handle(neighbour)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 2 * HOUR)
    assert not await removed(ledger, found)
    assert not await removed(ledger, replace(found, owner=ledger._owner or neighbour))


@pytest.mark.anyio
async def test_a_dead_coordinator_s_paid_work_is_its_own_ledger_s_to_salvage(
    ledger: SqlLedger, ended_process: Owner
) -> None:
    assert not await removed(ledger, handle(ended_process))
    assert await removed(ledger, handle(ended_process, deadline=-1.0))
    assert await removed(ledger, handle(ended_process, run=RUN))
    assert await removed(ledger, handle(ended_process, role=Role.VERIFIER))


@pytest.mark.anyio
async def test_one_whose_owner_nobody_can_tell_of_waits_for_its_deadline(ledger: SqlLedger) -> None:
    assert not await removed(ledger, handle(ELSEWHERE))
    assert not await removed(ledger, handle(ELSEWHERE, role=Role.VERIFIER))
    assert await removed(ledger, handle(ELSEWHERE, deadline=-1.0))
