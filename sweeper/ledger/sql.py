"""The ledger over any SQL backend: each method is one request to the writer or one read."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from sweeper.errors import LedgerFailed
from sweeper.ledger import claims, rounds, schema, story
from sweeper.ledger.connection import Backend, Connection
from sweeper.ledger.contract import AttemptRow, Counts, JournalRow, Queued, Run, StaleClaim
from sweeper.ledger.encode import to_json
from sweeper.ledger.lease import OwnerLock, Renewal, Standing, is_dead, lock_held, proven_alive, since_boot
from sweeper.ledger.reader import Reader
from sweeper.ledger.writer import Writer
from sweeper.records import Claim, Outcome, Owner, Skip, UnitState, Usage

CHUNK = 500


class SqlLedger:
    """See `contract.Ledger`. `locks`: the folder of the owners' lock files."""

    def __init__(self, backend: Backend, locks: Path) -> None:
        """Brings the schema forward. Raises LedgerFailed."""
        self._backend = backend
        self._locks = locks
        self._writer = Writer(backend)
        self._reader = Reader(backend, self._writer)
        self._owner: Owner | None = None
        self._lock: OwnerLock | None = None
        self._renewal: Renewal | None = None
        self._lease = 0.0
        self._closed = False
        try:
            self._writer.submit(partial(schema.migrate, where=backend.where)).result()
        except BaseException:
            self._writer.close()
            raise

    @property
    def notice(self) -> str:
        return self._backend.notice

    # --- life, owner, dispatcher ---

    async def enter(self, owner: Owner, lease: float) -> None:
        if self._owner is not None:
            raise LedgerFailed(f"the owner {self._owner.id} has entered this ledger already")
        # Locked before the row is there, so that no row is ever without its proof of life.
        self._lock = OwnerLock(self._locks, owner.id)
        self._owner, self._lease = owner, lease
        clock = since_boot if self._backend.shared_clock else time.monotonic
        sent = clock()
        await self._writer.call(partial(claims.enter, owner=owner, lease=lease, beat=since_boot()))
        self._renewal = Renewal(lease, sent, self._renew, clock)
        remaining = await self._writer.call(partial(claims.forget_dead, dead=self._dead))
        for path in self._locks.glob("*.lock"):
            # A file of an owner that still matters stays: it is the proof of its death.
            if path.stem not in remaining and lock_held(path) is False:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _renew(self) -> Future[bool]:
        return self._writer.submit(partial(claims.renew, owner=self._me, lease=self._lease, beat=since_boot()))

    def _dead(self, standing: Standing, now: float) -> bool:
        if self._owner is not None and standing.owner.id == self._owner.id:
            return False
        return is_dead(standing, self._locks, now, shared_clock=self._backend.shared_clock)

    @property
    def _me(self) -> str:
        if self._owner is None:
            raise LedgerFailed("no owner has entered this ledger")
        return self._owner.id

    @property
    def lost(self) -> bool:
        return self._renewal is not None and self._renewal.lost

    async def alive(self, owner: Owner) -> bool | None:
        known = await self._reader.call(partial(claims.alive, owner=owner.id, dead=self._dead))
        return known if known is not None else proven_alive(owner, self._locks)

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._close)

    def _close(self) -> None:
        left = False
        try:
            if self._renewal is not None:
                self._renewal.stop()
                self._writer.submit(partial(claims.leave, owner=self._me)).result()
                left = True
        finally:
            try:
                self._reader.close()
                self._writer.close()
            finally:
                if self._lock is not None:
                    # Where the ledger does not say that this owner left, its free lock file has to.
                    self._lock.release(remove=left)

    async def take_dispatcher(self, sweep: str) -> None:
        await self._writer.call(partial(claims.take_dispatcher, sweep=sweep, owner=self._me, dead=self._dead))

    async def drop_dispatcher(self, sweep: str) -> None:
        sql = "DELETE FROM dispatcher WHERE sweep = ? AND owner = ?"
        me = self._me
        await self._writer.call(lambda connection: connection.run(sql, sweep, me))

    # --- runs and rounds ---

    async def create_run(self, run: Run, notes: Mapping[str, Any] | None = None) -> None:
        def create(connection: Connection) -> None:
            rounds.create_run(connection, run)
            for name, value in (notes or {}).items():
                story.note(connection, run.id, name, value)

        await self._writer.call(create)

    async def run(self, id: str) -> Run | None:
        return await self._reader.call(partial(rounds.run, id=id))

    async def latest_run(self, sweep: str, base: str | None = None, digest: str | None = None) -> Run | None:
        return await self._reader.call(partial(rounds.latest_run, sweep=sweep, base=base, digest=digest))

    async def runs(self, limit: int = 20, sweep: str | None = None) -> Sequence[Run]:
        return await self._reader.call(partial(rounds.runs, limit=limit, sweep=sweep))

    async def _dispatch(self, run: str, work: Callable[[Connection], None]) -> None:
        """Write to a run, unless the dispatcher lease of its sweep is another owner's by now."""
        me = self._owner.id if self._owner is not None else ""

        def fenced(connection: Connection) -> None:
            rounds.require_dispatcher(connection, run, me)
            work(connection)

        await self._writer.call(fenced)

    async def open_round(
        self, run: str, number: int, units: Iterable[Queued], skips: Sequence[Skip], *, fresh: bool
    ) -> None:
        stream = iter(units)
        while chunk := list(itertools.islice(stream, CHUNK)):
            await self._dispatch(run, partial(rounds.store_units, run=run, number=number, units=chunk, fresh=fresh))
        await self._dispatch(run, partial(rounds.finish_opening, run=run, number=number, skips=skips))

    async def close_round(
        self, run: str, number: int, tip: str, merged: dict[str, str], ejected: Sequence[Outcome]
    ) -> None:
        work = partial(rounds.close_round, run=run, number=number, tip=tip, merged=merged, ejected=ejected)
        await self._dispatch(run, work)

    async def end_run(self, run: str, why: str) -> None:
        await self._dispatch(run, partial(rounds.set_ended, run=run, why=why or "ended"))

    async def reopen_run(self, run: str) -> None:
        await self._dispatch(run, partial(rounds.set_ended, run=run, why=""))

    # --- queue ---

    async def page(
        self, run: str, round: int, cursor: str | None, limit: int = 200
    ) -> tuple[Sequence[Queued], str | None]:
        return await self._reader.call(partial(rounds.page, run=run, round=round, cursor=cursor, limit=limit))

    async def verified(self, run: str) -> AsyncIterator[tuple[Queued, AttemptRow]]:
        sweep = await self._reader.call(partial(rounds.sweep_of, run=run))

        def chunk(connection: Connection, after: rounds.Place) -> list[tuple[Queued, AttemptRow]]:
            found = rounds.units(connection, sweep, (UnitState.VERIFIED,), run, after, CHUNK)
            return [(queued, rounds.landed_attempt(connection, queued.key)) for queued in found]

        after = rounds.START
        while pairs := await self._reader.call(partial(chunk, after=after)):
            for pair in pairs:
                yield pair
            after = rounds.place_of(pairs[-1][0])

    async def unit(self, sweep: str | None, key_or_title: str) -> Queued | None:
        return await self._reader.call(partial(rounds.unit, sweep=sweep, name=key_or_title))

    async def units(self, sweep: str, *, states: Sequence[UnitState] = ()) -> AsyncIterator[Queued]:
        after = rounds.START
        while found := await self._reader.call(
            partial(rounds.units, sweep=sweep, states=states, run=None, after=after, limit=CHUNK)
        ):
            for queued in found:
                yield queued
            after = rounds.place_of(found[-1])

    async def hold(self, key: str, why: str) -> None:
        await self._writer.call(partial(rounds.hold, key=key, why=why))

    async def release_held(self, key: str) -> bool:
        return await self._writer.call(partial(rounds.release_held, key=key))

    # --- claims and attempts ---

    async def claim(self, key: str, run: str) -> Claim | None:
        me = self._me
        expires = time.time() + (self._renewal.left if self._renewal is not None else 0.0)
        token = await self._writer.call(partial(claims.claim, key=key, run=run, owner=me))
        return None if token is None else Claim(key, me, token, expires)

    async def release(self, claim: Claim) -> None:
        await self._writer.call(partial(claims.release, claim=claim))

    async def start(self, claim: Claim, rung: int, round: int) -> AttemptRow:
        return await self._writer.call(partial(claims.start, claim=claim, rung=rung, round=round))

    async def unfinished(self) -> Sequence[AttemptRow]:
        return await self._reader.call(claims.unfinished)

    async def spend(self, row: AttemptRow, usage: Usage) -> None:
        await self._writer.call(partial(claims.spend, row=row, usage=usage))

    async def lose(self, claim: Claim, number: int, usage: Usage) -> AttemptRow:
        return await self._writer.call(partial(claims.lose, claim=claim, number=number, usage=usage))

    async def land(self, claim: Claim, outcome: Outcome, to: UnitState, round: int, why: str = "") -> None:
        await self._writer.call(partial(claims.land, claim=claim, outcome=outcome, to=to, round=round, why=why))

    async def stale_claims(self) -> Sequence[StaleClaim]:
        me = self._owner.id if self._owner is not None else ""
        return await self._reader.call(partial(claims.stale_claims, me=me, dead=self._dead))

    async def break_claim(self, stale: StaleClaim) -> None:
        await self._writer.call(partial(claims.break_claim, stale=stale, dead=self._dead))

    # --- history, journal, money, report ---

    async def attempts(self, run: str | None = None, unit: str | None = None) -> AsyncIterator[AttemptRow]:
        after = story.START
        while True:
            read = partial(story.attempts, run=run, unit=unit, after=after, limit=CHUNK)
            found, after = await self._reader.call(read)
            for row in found:
                yield row
            if len(found) < CHUNK:
                return

    async def skips(self, run: str, round: int = 1) -> Sequence[Skip]:
        return await self._reader.call(partial(story.skips, run=run, round=round))

    async def note(self, run: str, name: str, value: Any) -> None:
        await self._dispatch(run, partial(story.note, run=run, name=name, value=value))

    async def notes(self, run: str) -> dict[str, Any]:
        return await self._reader.call(partial(story.notes, run=run))

    async def counts(self, run: str) -> Counts:
        return await self._reader.call(partial(story.counts, run=run))

    def journal(self, fire: str, row: JournalRow) -> None:
        self._writer.journal((fire, row.seq, time.time(), to_json(row.event), to_json(row.commands)))

    async def journal_rows(self, fire: str | None = None) -> AsyncIterator[JournalRow]:
        wanted = fire if fire is not None else await self._reader.call(story.latest_fire)
        after = -1
        while wanted is not None:
            found = await self._reader.call(partial(story.journal_rows, fire=wanted, after=after, limit=CHUNK))
            for row in found:
                # Rows are stored in order: behind a gap nothing can be replayed.
                if row.seq != after + 1:
                    return
                after = row.seq
                yield row
            if len(found) < CHUNK:
                return

    async def spent(self, since: float) -> int:
        return await self._reader.call(partial(story.spent, since=since))
