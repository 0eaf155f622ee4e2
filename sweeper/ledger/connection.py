"""What the ledger asks of a database: a connection, and what a driver's error means."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Protocol

from sweeper.errors import LedgerFailed


class Connection(Protocol):
    """One connection, used by one thread at a time. Placeholders are `?` in both databases."""

    @property
    def for_update(self) -> str:
        """Appended to a SELECT whose row the transaction goes on to depend on."""

    @property
    def skip_locked(self) -> str:
        """Appended to a SELECT that leaves out what another transaction has in hand, rather than wait for it."""

    def prepare(self) -> None:
        """Before the schema is looked at: alone for the rest of the transaction, in a place that exists."""

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """All rows of a SELECT, or of a RETURNING."""

    def run(self, sql: str, *parameters: Any) -> int:
        """Execute; returns the number of changed rows."""

    def many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None: ...

    def now(self) -> float:
        """Seconds since the epoch, by the clock that every user of this ledger shares."""

    def begin(self) -> None:
        """Start a write transaction."""

    def ticket(self) -> str:
        """Names the open transaction, so that after a lost connection `committed` can tell; "" where none is lost."""

    def committed(self, ticket: str) -> bool: ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Leave the transaction, if there still is one."""

    def close(self) -> None: ...


class Trouble(enum.Enum):
    """What a driver's error means for the transaction it came in."""

    BUSY = "try the transaction again"
    GONE = "connect again, then try the transaction again"
    FATAL = "give up"


class Backend(Protocol):
    """A place where a ledger lies."""

    @property
    def where(self) -> str:
        """For messages: a path, or a URL without its password."""

    @property
    def single(self) -> bool:
        """One connection is all there may be: reads go through the writer."""

    @property
    def shared_clock(self) -> bool:
        """`now` is the database's clock, not this machine's."""

    @property
    def notice(self) -> str:
        """What a person should know about this place; "" if nothing."""

    def connect(self, *, reading: bool = False) -> Connection:
        """A new connection; one for reading cannot write."""

    def trouble(self, error: Exception) -> Trouble | None:
        """None: the error concerns one statement only, or is not the driver's."""

    def failed(self, error: Exception) -> LedgerFailed:
        """The error as a user reads it: place and way out."""
