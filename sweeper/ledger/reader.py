"""Reads: their own connections, in their own few threads, so that no read waits for a commit."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sweeper.errors import SweeperError
from sweeper.ledger.connection import Backend, Connection, Trouble
from sweeper.ledger.writer import Writer

T = TypeVar("T")

THREADS = 2
TRIES = 3


class Reader:
    def __init__(self, backend: Backend, writer: Writer) -> None:
        self._backend = backend
        self._writer = writer
        self._idle: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(THREADS, "ledger-reader")

    async def call(self, work: Callable[[Connection], T]) -> T:
        """Raises LedgerFailed. Sees everything that was durable when it was asked."""
        if self._backend.single:
            return await self._writer.call(work)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    def close(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        for left in reversed(range(TRIES)):
            connection: Connection | None = None
            try:
                connection = self._idle.get_nowait() if not self._idle.empty() else self._backend.connect(reading=True)
                value = work(connection)
            except SweeperError:
                if connection is not None:
                    self._idle.put(connection)
                raise
            except Exception as error:
                if connection is not None:
                    connection.close()
                if not left or self._backend.trouble(error) not in (Trouble.GONE, Trouble.BUSY):
                    raise self._backend.failed(error) from error
            else:
                self._idle.put(connection)
                return value
        raise AssertionError("every try returns or raises")
