"""The cleanup Loop of one sweep: six methods over the ledger, and the claims that go with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sweeper.attempt.attempt import attempt
from sweeper.attempt.job import Job, ref_of
from sweeper.errors import StaleClaim
from sweeper.gate.suite import TestBase, test_base
from sweeper.ground import (
    Ground,
    agreeing_check,
    ground_of,
    prepare,
    stand_on,
    tally,
)
from sweeper.ladder import ladder
from sweeper.ladder.canary import Canary
from sweeper.ladder.pilot import Pilot, Wait
from sweeper.ledger.contract import AttemptRow, Ledger, Queued, Run
from sweeper.loop import Decision, Go, Hold, Idle, Page, Pause, RetryAt, Settled, Slot, Stop
from sweeper.progress import Progress
from sweeper.records import History, Kind, Outcome
from sweeper.report.phrases import SHORT, count
from sweeper.sweep.claims import SweepClaims
from sweeper.sweep.round import Barrier, close_round
from sweeper.sweep.selection import Chosen, Selection, chosen
from sweeper.sweep.siblings import Siblings
from sweeper.sweep.survey import Standing, Surveyed, aside, queue, standing, survey
from sweeper.workshop import Workshop

Say = Callable[[str], None]


class Sweep:
    """One sweep of one fire: `begin` before it is drained, `close` after an early end.

    `ladder_digest` tells one ladder from another: a unit's place does not outlive a change of it.
    """

    def __init__(
        self,
        workshop: Workshop,
        ledger: Ledger,
        run: Run,
        *,
        ladder_digest: str,
        selection: Selection | None = None,
        say: Say = lambda line: None,
    ) -> None:
        self.name = workshop.name
        self.workshop = replace(workshop, progress=Progress(lambda line: say(f"{self.name}: {line}")))
        self.ledger = ledger
        self.run = run
        self.claims = SweepClaims(ledger, run.id)
        self.drained = False
        self._ladder_digest = ladder_digest
        self._selection = selection
        self._chosen: Chosen | None = None
        self._say = say
        self._ground: Ground | None = None
        self._tests: TestBase | None = None
        self._turns = 1
        self._again: dict[str, History] = {}
        self._canary = Canary()
        self._siblings = Siblings(workshop.config.ladder)
        self._pilot = Pilot.of((), (), {})

    @property
    def ground(self) -> Ground:
        assert self._ground is not None, "begin() comes first"
        return self._ground

    @property
    def together(self) -> int:
        """Units that one check may judge: 1 where single files can be checked."""
        workshop = self.workshop
        return 1 if workshop.check.unit_argv else workshop.config.verify_batch

    # --- the six methods ---

    async def select_queue(self, cursor: str | None) -> Page:
        queued, following = await self.ledger.page(self.run.id, self.run.round, cursor)
        units = []
        for unit in queued:
            place: Go | Hold | Wait = self.tier_policy(unit)
            if isinstance(place, Go):
                place = self._pilot.admit(unit.key, place.rung, unit.unit.rules) or place
            if isinstance(place, Hold):
                await self.ledger.hold(unit.key, place.reason)
            elif isinstance(place, Go):
                units.append(unit)
        return Page(tuple(units), following)

    def tier_policy(self, unit: Queued) -> Go | Hold:
        return self._siblings.place(unit, self._history(unit), self.workshop.credentials)

    async def dispatch(self, unit: Queued, rung: int, slot: Slot) -> Outcome:
        claim = self.claims.of(unit)
        row = await self.ledger.start(claim, rung, self.run.round)
        captured: dict[int, str] = {}
        if row.adopted:
            captured = await self._captured(unit.key, row)
            if not captured:
                row = await self.ledger.lose(claim, row.number, row.usage)
        history = self._history(unit)
        job = Job(
            unit=unit.unit,
            rung=row.rung,
            number=row.number,
            earlier=await self._earlier(unit.key, history),
            captured=captured,
            spent=row.usage,
            memory_factor=ladder.memory_factor(history),
        )
        return await attempt(self.workshop, self.ground, job, slot)

    async def _captured(self, key: str, row: AttemptRow) -> dict[int, str]:
        """What a dead coordinator captured of an attempt: candidate -> commit."""
        candidates = self.workshop.config.ladder[row.rung].candidates
        refs = {index: ref_of(self.run.id, key, row.number, index) for index in range(candidates)}
        found = {index: await self.workshop.repo.find_ref(ref) for index, ref in refs.items()}
        return {index: commit for index, commit in found.items() if commit}

    async def land(self, unit: Queued, result: Outcome | Hold | Exception) -> Decision:
        if isinstance(result, Hold):
            await self.ledger.hold(unit.key, result.reason)
            return result
        if isinstance(result, StaleClaim):
            return self._lost(unit)
        if isinstance(result, Exception):
            raise result  # `attempt` returns every failure of a unit, so this one is the ledger's
        history = History((*self._history(unit).outcomes, ladder.entry(result)))
        following = ladder.after(
            history,
            self.workshop.config.ladder,
            result,
            now=time.time(),
            credential=self.workshop.credentials[result.rung],
        )
        try:
            await self.ledger.land(
                self.claims.of(unit), result, following.state, self.run.round + following.round_delta, following.why
            )
        except StaleClaim:
            return self._lost(unit)
        self.claims.landed(unit)
        self._siblings.landed(unit, result, self.ground.baseline.of(unit.unit.paths))
        self._again.pop(unit.key, None)
        if isinstance(following.decision, (RetryAt, Pause)):
            self._again[unit.key] = history
        elif self._pilot.landed(unit.key, result.kind):
            await self.ledger.note(self.run.id, "pilot", self._pilot.counts)
        why = self._canary.landed(result, self.workshop.credentials[result.rung])
        return Stop(why) if why else following.decision

    def _lost(self, unit: Queued) -> Decision:
        self._say(f"{unit.unit.title}: its claim was lost meanwhile; the result is kept as evidence and not merged")
        return Settled()

    async def on_idle(self) -> Idle:
        if self._pilot.settle():
            return Idle.POLL_AGAIN
        barrier = await self.close()
        if self.run.round >= self.workshop.config.max_rounds * self._turns:
            self.drained = not await self._waiting()
            return Idle.STOP
        if not barrier.merged and not await self._waiting():
            self.drained = True
            return Idle.STOP
        await self._open()
        if await self._waiting():
            return Idle.POLL_AGAIN
        self.drained = True
        return Idle.STOP

    # --- before, between and after ---

    async def begin(self) -> None:
        """Stand on the run's tip and open the next round, unless one is under way.

        Raises CheckBroken if the check doesn't work there, SandboxFailed if no sandbox does.
        """
        self._say(f"{self.name}: setting up and checking {self.run.tip[:SHORT]}")
        self._ground = await stand_on(self.workshop, self.run.tip, self.run.round)
        check, why = await agreeing_check(self.workshop, self._ground)
        if why:
            self._say(f"{self.name}: {why}; every change is verified by the whole check")
        await self.ledger.note(self.run.id, "unit_check", why)
        await self.ledger.note(self.run.id, "incomplete", self._ground.result.incomplete)
        self.workshop = replace(self.workshop, check=check)
        self._chosen = await chosen(self.workshop.repo, self.ledger, self.run.id, self.ground, self._selection)
        notes = await self.ledger.notes(self.run.id)
        self._turns = notes.get("turns", 1)
        self._pilot = Pilot.of(self.workshop.config.ladder, self.workshop.credentials, notes.get("pilot", {}))
        if self.run.phase != "fanout":
            await self._open()

    async def close(self) -> Barrier:
        """The barrier of the round under way. Units that were not attempted come again in the next round."""
        if self._tests is None:
            self._tests = await test_base(self.workshop, self.ground)
            await self.ledger.note(self.run.id, "tests", str(self._tests.tests))
        barrier = await close_round(self.workshop, self.ground, self.ledger, self.run, self._tests)
        self._tests = barrier.tests
        self.run = replace(self.run, tip=barrier.tip, phase="check")
        if barrier.merged:
            merged = f"{count(len(barrier.merged), 'unit')} merged, the tree is green"
            self._say(f"{self.name}: round {self.run.round}: {merged}")
        for title, outcome in barrier.sent_on:
            said = f"{title} sent on: {outcome.kind} ({outcome.evidence.reason})"
            self._say(f"{self.name}: round {self.run.round}: {said}")
        if barrier.result is not None:
            snapshot = await prepare(self.workshop, barrier.tip)
            self._ground = await ground_of(self.workshop, snapshot, barrier.result)
        await self._note_findings("last")
        return barrier

    async def leave(self) -> bool:
        """After an early end: the barrier of the round under way. Whether nothing is left to try then."""
        if self.run.phase == "fanout" and not self.drained:
            await self.close()
            await self._waiting()
            surveyed, before = await self._surveyed()
            if not surveyed.parts.units:
                await self._open()
            self.drained = all(unit.key in before.held for unit in surveyed.parts.units)
        return self.drained

    async def _surveyed(self) -> tuple[Surveyed, Standing]:
        before = await standing(self.ledger, self.name)
        return await survey(self.workshop, self.ground, self.run.base, self._chosen, before), before

    async def _open(self) -> None:
        surveyed, _ = await self._surveyed()
        parts = surveyed.parts
        # an empty backlog opens no round of its own, it only settles what was waiting
        number = self.run.round + 1 if parts.units or self.run.round == 0 else self.run.round
        queued = queue(self.ground, parts.units, number, self._ladder_digest)
        later = [unit for unit, _ in parts.waiting]
        queued += queue(self.ground, later, number + 1, self._ladder_digest)
        if self._chosen is not None:
            queued += await aside(self.ledger, self.name, self.ground, {unit.key for unit in queued})
        fresh = self.run.round == 0
        if fresh:
            for line in (surveyed.owned, *surveyed.notes, self.workshop.caution if parts.units else ""):
                if line:
                    self._say(f"{self.name}: {line}")
            self._turns = parts.turns
            await self.ledger.note(self.run.id, "turns", parts.turns)
            await self._note_findings("first")
            await self._note_findings("last")
        await self.ledger.open_round(self.run.id, number, queued, parts.skips, fresh=fresh)
        self.run = replace(self.run, round=number, phase="fanout")
        if parts.units:
            findings = count(sum(len(unit.findings) for unit in parts.units), "finding")
            more = f"; {parts.deferred} more in {count(len(later), 'unit')} whose turn comes later" if later else ""
            self._say(f"{self.name}: round {number}: {findings} in {count(len(parts.units), 'unit')}{more}")

    async def _note_findings(self, name: str) -> None:
        findings = self.ground.baseline.all()
        if self._chosen is not None:
            findings = self._chosen.of(findings)
        await self.ledger.note(self.run.id, name, tally(findings))

    async def _waiting(self) -> bool:
        """Is there a unit to dispatch, now or in the next round? Whatever has come to its ladder's end is held."""
        found = False
        cursor: str | None = None
        while True:
            units, cursor = await self.ledger.page(self.run.id, self.run.round + 1, cursor)
            for unit in units:
                place = self.tier_policy(unit)
                if isinstance(place, Hold):
                    await self.ledger.hold(unit.key, place.reason)
                else:
                    found = True
            if cursor is None:
                return found

    async def _earlier(self, key: str, history: History) -> Sequence[Outcome]:
        """The outcomes since the unit's last reset; a conflict or an ejection stands in its attempt's own row."""
        count = sum(kind not in (Kind.CONFLICT, Kind.EJECTED) for _, kind, _ in history.outcomes)
        if not count:
            return ()
        landed = [row.outcome async for row in self.ledger.attempts(unit=key) if row.outcome is not None]
        return landed[-count:]

    def _history(self, unit: Queued) -> History:
        return self._again.get(unit.key, unit.history)
