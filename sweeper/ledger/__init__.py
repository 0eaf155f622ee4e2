"""The durable state. `open_ledger` is the only way in; nothing outside this room imports a database driver."""

from __future__ import annotations

from pathlib import Path

from sweeper.errors import ConfigError
from sweeper.ledger.connection import Backend
from sweeper.ledger.contract import Ledger
from sweeper.ledger.lease import make_owner
from sweeper.ledger.sql import SqlLedger
from sweeper.ledger.sqlite import SqliteBackend

__all__ = ["Ledger", "make_owner", "open_ledger"]


def open_ledger(url: str, state: Path) -> Ledger:
    """The ledger at `url`: "" is `ledger.sqlite3` in the state folder; `postgresql://...` is a shared one.

    The owners' lock files lie in `state/owners` in both cases. Raises LedgerFailed, and ConfigError on another URL.
    """
    backend: Backend
    if not url:
        backend = SqliteBackend(state / "ledger.sqlite3")
    elif url.startswith(("postgresql://", "postgres://")):
        from sweeper.ledger.postgres import PostgresBackend

        backend = PostgresBackend(url)
    else:
        scheme = url.partition(":")[0]
        raise ConfigError(
            f"[ledger] url: unknown kind of ledger {scheme!r}",
            hint='"" (or no url) is SQLite in the state folder; postgresql://user@host/database is a shared one',
        )
    return SqlLedger(backend, state / "owners")
