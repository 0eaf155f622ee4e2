"""The SQLite ledger beside a model of a few dictionaries: any order of calls leaves both in the same state."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from sweeper.errors import LedgerFailed, StaleClaim
from sweeper.ledger.sql import SqlLedger
from sweeper.records import Claim, Kind, UnitState, Usage
from tests.ledger.builders import RUN, SWEEP, TIP, Place, all_of, crash, key, outcome, queued, run_row

T = TypeVar("T")

UNITS = 4
NUMBERS = st.integers(0, UNITS - 1)
LANDINGS = st.sampled_from([UnitState.OPEN, UnitState.VERIFIED, UnitState.SETTLED, UnitState.HELD])
KINDS = st.sampled_from([Kind.FIXED, Kind.PARTIAL, Kind.NOT_FIXED])


@dataclass
class Attempt:
    round: int
    state: str
    token: int
    kind: Kind | None = None
    merged: str = ""


@dataclass
class Modelled:
    state: UnitState = UnitState.OPEN
    round: int = 1
    token: int = 0
    place: str = "place"
    history: list[Kind] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    late: set[tuple[int, int]] = field(default_factory=set)

    def stands(self, claim: Claim) -> bool:
        return self.state == UnitState.CLAIMED and self.token == claim.token

    def landed(self) -> int | None:
        return max((i for i, attempt in enumerate(self.attempts, 1) if attempt.state == "landed"), default=None)

    def started(self) -> int | None:
        return next((i for i, attempt in enumerate(self.attempts, 1) if attempt.state == "started"), None)


class LedgerMachine(RuleBasedStateMachine):
    claims: Bundle[Claim] = Bundle("claims")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.place = Place("", self.folder / "state")
        self.loop = asyncio.new_event_loop()
        self.ledger: SqlLedger = self.run(self.place.entered())
        self.run(self.ledger.create_run(run_row(RUN)))
        self.round = 1
        self.units = {key(i): Modelled() for i in range(UNITS)}
        self.run(self.ledger.open_round(RUN, 1, [queued(i) for i in range(UNITS)], [], fresh=True))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            self.run(self.ledger.aclose())
            self.loop.close()
            shutil.rmtree(self.folder)

    # --- claims ---

    @rule(target=claims, number=NUMBERS)
    def claim(self, number: int) -> Any:
        unit = self.units[key(number)]
        claim = self.run(self.ledger.claim(key(number), RUN))
        assert (claim is not None) == (unit.state == UnitState.OPEN)
        if claim is None:
            return multiple()
        unit.state, unit.token = UnitState.CLAIMED, unit.token + 1
        assert claim.token == unit.token
        return claim

    @rule(claim=claims)
    def release(self, claim: Claim) -> None:
        self.run(self.ledger.release(claim))
        unit = self.units[claim.unit]
        if unit.stands(claim):
            unit.state = UnitState.OPEN

    @rule(claim=claims)
    def start(self, claim: Claim) -> None:
        unit = self.units[claim.unit]
        if not unit.stands(claim):
            with pytest.raises(StaleClaim):
                self.run(self.ledger.start(claim, 0, self.round))
            return
        row = self.run(self.ledger.start(claim, 0, self.round))
        number = unit.started()
        if number is not None and unit.attempts[number - 1].round != self.round:
            unit.attempts[number - 1].state = "lost"
            number = None
        assert row.adopted == (number is not None)
        if number is None:
            unit.attempts.append(Attempt(self.round, "started", claim.token))
            number = len(unit.attempts)
        unit.attempts[number - 1].token = claim.token
        assert (row.number, row.token, row.state) == (number, claim.token, "started")

    @rule(claim=claims)
    def lose(self, claim: Claim) -> None:
        unit = self.units[claim.unit]
        number = unit.started()
        if not unit.stands(claim) or number is None:
            with pytest.raises(LedgerFailed):
                self.run(self.ledger.lose(claim, number or 1, Usage()))
            return
        row = self.run(self.ledger.lose(claim, number, Usage(micro_usd=1)))
        unit.attempts[number - 1].state = "lost"
        unit.attempts.append(Attempt(unit.attempts[number - 1].round, "started", claim.token))
        assert row.number == len(unit.attempts)

    @rule(claim=claims, to=LANDINGS, kind=KINDS)
    def land(self, claim: Claim, to: UnitState, kind: Kind) -> None:
        unit = self.units[claim.unit]
        number = unit.started()
        # A late result is of an attempt that was started: nobody makes one up.
        attempt = number or len(unit.attempts) + unit.stands(claim)
        if not attempt:
            return
        due = self.round + 1 if to == UnitState.OPEN and kind == Kind.NOT_FIXED else self.round
        landing = self.ledger.land(claim, outcome(claim.unit, attempt, kind), to, due)
        if not unit.stands(claim):
            with pytest.raises(StaleClaim):
                self.run(landing)
            unit.late.add((attempt, claim.token))
            return
        if number is not None and unit.attempts[number - 1].token != claim.token:
            # It was never adopted under this claim.
            with pytest.raises(LedgerFailed):
                self.run(landing)
            return
        self.run(landing)
        if number is None:
            unit.attempts.append(Attempt(self.round, "", claim.token))
        landed = unit.attempts[attempt - 1]
        landed.state, landed.kind = "landed", kind
        unit.state, unit.round = to, due
        unit.history.append(kind)

    # --- people, rounds, deaths ---

    @rule(number=NUMBERS)
    def hold(self, number: int) -> None:
        self.run(self.ledger.hold(key(number), "by hand"))
        if self.units[key(number)].state == UnitState.OPEN:
            self.units[key(number)].state = UnitState.HELD

    @rule(number=NUMBERS)
    def release_held(self, number: int) -> None:
        unit = self.units[key(number)]
        assert self.run(self.ledger.release_held(key(number))) == (unit.state == UnitState.HELD)
        if unit.state == UnitState.HELD:
            unit.state, unit.history = UnitState.OPEN, []

    @rule(ejected=st.sets(NUMBERS))
    def close_round(self, ejected: set[int]) -> None:
        verified = [unit for unit, _ in self.run(all_of(self.ledger.verified(RUN)))]
        assert [unit.key for unit in verified] == [k for k, u in self.units.items() if u.state == UnitState.VERIFIED]
        out = {key(number) for number in ejected}
        merged = {unit.key: f"{unit.key}-merged" for unit in verified if unit.key not in out}
        numbers = {name: unit.landed() or 1 for name, unit in self.units.items()}
        sent_on = [outcome(unit, numbers[unit], Kind.EJECTED) for unit in sorted(out)]
        self.run(self.ledger.close_round(RUN, self.round, TIP, merged, sent_on))
        for name, unit in self.units.items():
            if unit.state != UnitState.VERIFIED:
                continue
            landed = unit.attempts[numbers[name] - 1]
            partial = landed.kind == Kind.PARTIAL
            if name in merged:
                landed.merged = merged[name]
                unit.state = UnitState.OPEN if partial else UnitState.SETTLED
                unit.round = self.round + 1 if partial else self.round
            else:
                unit.state, unit.round = UnitState.OPEN, self.round + 1
                unit.history.append(Kind.EJECTED)
                landed.kind = Kind.EJECTED

    @rule(numbers=st.sets(NUMBERS), fresh=st.booleans(), place=st.sampled_from(["place", "edited"]))
    def open_round(self, numbers: set[int], fresh: bool, place: str) -> None:
        self.round += 1
        found = [queued(number, place=place) for number in numbers]
        self.run(self.ledger.open_round(RUN, self.round, found, [], fresh=fresh))
        for name, unit in self.units.items():
            if name not in {queued.key for queued in found}:
                if unit.state != UnitState.SETTLED:
                    unit.state, unit.token = UnitState.SETTLED, unit.token + 1
                continue
            reset = unit.state == UnitState.SETTLED or (fresh and unit.place != place)
            if reset:
                unit.history = []
            if unit.state == UnitState.VERIFIED or (reset and unit.state != UnitState.CLAIMED):
                unit.state = UnitState.OPEN
            unit.round, unit.place = self.round, place

    @rule()
    def die_and_come_back(self) -> None:
        crash(self.ledger)
        self.ledger = self.run(self.place.entered())
        stale = self.run(self.ledger.stale_claims())
        assert {s.claim.unit for s in stale} == {k for k, u in self.units.items() if u.state == UnitState.CLAIMED}
        for claim in stale:
            number = self.units[claim.claim.unit].started()
            assert (claim.attempt and claim.attempt.number) == number
            self.run(self.ledger.break_claim(claim))
            self.units[claim.claim.unit].state = UnitState.OPEN

    @rule(claim=consumes(claims))
    def forget(self, claim: Claim) -> None:
        """Keeps the bundle from filling with old claims only."""

    @invariant()
    def same(self) -> None:
        if not hasattr(self, "units"):
            return
        found = {unit.key: unit for unit in self.run(all_of(self.ledger.units(SWEEP)))}
        assert set(found) == set(self.units)
        for name, unit in self.units.items():
            stored = found[name]
            assert (stored.state, stored.round, stored.place) == (unit.state, unit.round, unit.place)
            assert [kind for _, kind, _ in stored.history.outcomes] == unit.history
            rows = self.run(all_of(self.ledger.attempts(unit=name)))
            own = [
                (r.number, r.state, r.token, r.merged, r.outcome and r.outcome.kind) for r in rows if r.state != "stale"
            ]
            assert own == [(i, a.state, a.token, a.merged, a.kind) for i, a in enumerate(unit.attempts, 1)]
            assert {(row.number, row.token) for row in rows if row.state == "stale"} == unit.late
        due = {unit.key for unit in self.run(self.ledger.page(RUN, self.round, None))[0]}
        assert due == {k for k, u in self.units.items() if u.state == UnitState.OPEN and u.round <= self.round}


LedgerMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestLedgerMachine = LedgerMachine.TestCase
