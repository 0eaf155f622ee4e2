"""The group-committing writer: one thread, one connection, one transaction for all who wait.

A request is a function of a connection. It may run more than once (a busy or lost database makes the whole
transaction run again), so it has no effect but its SQL. Each runs in a savepoint: one that raises undoes itself alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio

from sweeper.errors import LedgerFailed, SweeperError
from sweeper.ledger.connection import Backend, Connection, Trouble

T = TypeVar("T")

# Requests in one transaction: bounds how long another process waits for the lock.
GROUP = 256
# Seconds that a transaction is tried again while the database is locked or away.
PATIENCE = 30.0
LONGEST_PAUSE = 0.05
# Seconds that a journal row waits for a transaction to travel with.
JOURNAL_DELAY = 0.1

JOURNAL_SQL = (
    "INSERT INTO journal (fire, seq, written, event, commands) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (fire, seq) DO NOTHING"
)


@dataclass(frozen=True, slots=True)
class Refused:
    """A request's result that is committed, and raised to whoever asked."""

    error: SweeperError


@dataclass(frozen=True, slots=True)
class Request:
    work: Callable[[Connection], Any]
    future: asyncio.Future[Any] | Future[Any]


Settled = tuple[Request, Any, BaseException | None]


class Writer:
    """`call` from coroutines, `submit` from threads, `journal` from anywhere."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._wake = threading.Condition()
        self._queue: deque[Request] = deque()
        self._journal: list[tuple[Any, ...]] = []
        self._journal_due = 0.0
        self._closing = False
        self._connection: Connection | None = None
        # Of a commit whose answer was lost: what names it, and its results should it have happened.
        self._unsure: tuple[str, list[Settled]] | None = None
        self._failure: LedgerFailed | None = None
        self._thread = threading.Thread(target=self._main, name="ledger-writer", daemon=True)
        self._thread.start()

    async def call(self, work: Callable[[Connection], T]) -> T:
        """The request's result, durable. Shielded: once asked, the caller learns what became of it."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(Request(work, future))
        with anyio.CancelScope(shield=True):
            await future
        return future.result()

    def submit(self, work: Callable[[Connection], T]) -> Future[T]:
        future: Future[T] = Future()
        self._put(Request(work, future))
        return future

    def journal(self, row: tuple[Any, ...]) -> None:
        with self._wake:
            self._journal.append(row)
            if len(self._journal) == 1:
                self._journal_due = time.monotonic() + JOURNAL_DELAY
                self._wake.notify()

    def close(self) -> None:
        """Everything asked so far is written. Raises LedgerFailed if the last journal rows could not be."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()
        if self._journal and self._failure is not None:
            raise self._failure

    def _put(self, request: Request) -> None:
        with self._wake:
            if self._closing:
                raise LedgerFailed(f"the ledger {self._backend.where} is closed")
            self._queue.append(request)
            if len(self._queue) == 1:
                self._wake.notify()

    def _main(self) -> None:
        while True:
            with self._wake:
                while not (self._queue or self._closing):
                    if not self._journal:
                        self._wake.wait()
                    elif (left := self._journal_due - time.monotonic()) > 0:
                        self._wake.wait(left)
                    else:
                        break
                group = [self._queue.popleft() for _ in range(min(GROUP, len(self._queue)))]
                rows, self._journal = self._journal, []
                if not group and not rows and self._closing:
                    break
            self._write(group, rows)
            with self._wake:
                if self._closing and not self._queue and self._journal:
                    break
        if self._connection is not None:
            self._connection.close()

    def _write(self, group: list[Request], rows: list[tuple[Any, ...]]) -> None:
        deadline = time.monotonic() + PATIENCE
        pause = 0.001
        while True:
            try:
                settled = self._transaction(group, rows)
                break
            except Exception as error:
                trouble = self._backend.trouble(error)
                self._leave(trouble)
                if trouble not in (Trouble.BUSY, Trouble.GONE) or time.monotonic() > deadline:
                    self._failure = self._backend.failed(error)
                    self._failure.__cause__ = error
                    self._unsure = None
                    with self._wake:
                        self._journal[:0] = rows
                        self._journal_due = time.monotonic() + JOURNAL_DELAY
                    settled = [(request, None, self._backend.failed(error)) for request in group]
                    break
            time.sleep(random.uniform(0, pause))
            pause = min(LONGEST_PAUSE, pause * 2)
        deliver(settled)

    def _transaction(self, group: list[Request], rows: list[tuple[Any, ...]]) -> list[Settled]:
        connection = self._connection = self._connection or self._backend.connect()
        if self._unsure is not None:
            ticket, settled = self._unsure
            if connection.committed(ticket):
                self._unsure = None
                return settled
            self._unsure = None
        connection.begin()
        if rows:
            connection.many(JOURNAL_SQL, rows)
        settled = [self._one(connection, request) for request in group]
        if ticket := connection.ticket():
            self._unsure = (ticket, settled)
        connection.commit()
        self._unsure = None
        return settled

    def _one(self, connection: Connection, request: Request) -> Settled:
        connection.run("SAVEPOINT request")
        try:
            value = request.work(connection)
        except Exception as error:
            if self._backend.trouble(error) is not None:
                raise
            connection.run("ROLLBACK TO SAVEPOINT request")
            connection.run("RELEASE SAVEPOINT request")
            return request, None, error if isinstance(error, SweeperError) else self._backend.failed(error)
        connection.run("RELEASE SAVEPOINT request")
        if isinstance(value, Refused):
            return request, None, value.error
        return request, value, None

    def _leave(self, trouble: Trouble | None) -> None:
        connection = self._connection
        if connection is None:
            return
        if trouble is not Trouble.GONE:
            with contextlib.suppress(Exception):
                connection.rollback()
                return
        # The transaction cannot be left, so the connection is; that rolls back too.
        self._connection = None
        with contextlib.suppress(Exception):
            connection.close()


def deliver(settled: list[Settled]) -> None:
    """Hand results to their waiters: one wake-up per event loop, not one per request."""
    loops: dict[asyncio.AbstractEventLoop, list[Settled]] = {}
    for entry in settled:
        future = entry[0].future
        if isinstance(future, asyncio.Future):
            loops.setdefault(future.get_loop(), []).append(entry)
        else:
            resolve([entry])
    for loop, entries in loops.items():
        try:
            loop.call_soon_threadsafe(resolve, entries)
        except RuntimeError:
            # The loop is closed: nobody waits any more, and what was asked is stored.
            continue


def resolve(settled: list[Settled]) -> None:
    for request, value, error in settled:
        if request.future.done():
            continue
        if error is not None:
            request.future.set_exception(error)
        else:
            request.future.set_result(value)
