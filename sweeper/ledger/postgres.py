"""The ledger that several machines share: a schema of its own in a Postgres database, through psycopg 3."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sweeper.errors import ConfigError, LedgerFailed
from sweeper.ledger.connection import Trouble

try:
    import psycopg
except ImportError as missing:
    raise ConfigError(
        "a postgresql:// ledger needs the driver psycopg, which is not installed",
        hint='pip install "sweeper-runner[postgres]"',
    ) from missing

SCHEMA = "sweeper"
# Any number of ours: neither a schema nor a table can be made by two at once.
CREATION_LOCK = 0x5EEE9E2
CONNECT_TIMEOUT = 10
SESSION = (
    f"SET search_path TO {SCHEMA}",
    "SET lock_timeout TO '10s'",
    # A process that is stopped in a transaction would block all others.
    "SET idle_in_transaction_session_timeout TO '60s'",
    "SET synchronous_commit TO on",
)
# Deadlock, serialisation failure, lock_timeout, too many clients, server starting up or shutting down.
TRY_AGAIN = frozenset({"40P01", "40001", "55P03"})
CONNECT_AGAIN = frozenset({"53300", "57P01", "57P02", "57P03", "25P03", "08000", "08003", "08006"})


@lru_cache(maxsize=256)
def translated(sql: str) -> str:
    """Our own constant SQL with psycopg's placeholders."""
    return sql.replace("?", "%s")


class PostgresConnection:
    for_update = " FOR UPDATE"
    # A group of claims that waited for rows of another group could deadlock with it.
    skip_locked = " FOR UPDATE SKIP LOCKED"

    def __init__(self, raw: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._raw = raw

    def prepare(self) -> None:
        self._raw.execute("SELECT pg_advisory_xact_lock(%s)", (CREATION_LOCK,))
        if not self.rows("SELECT 1 FROM pg_namespace WHERE nspname = ?", SCHEMA):
            self._raw.execute(f"CREATE SCHEMA {SCHEMA}")

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._raw.execute(translated(sql), parameters).fetchall()

    def run(self, sql: str, *parameters: Any) -> int:
        return self._raw.execute(translated(sql), parameters or None).rowcount

    def many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            with self._raw.cursor() as cursor:
                cursor.executemany(translated(sql), rows)

    def now(self) -> float:
        return float(self.rows("SELECT extract(epoch FROM clock_timestamp())")[0][0])

    def begin(self) -> None:
        self._raw.execute("BEGIN")

    def ticket(self) -> str:
        return str(self.rows("SELECT txid_current()")[0][0])

    def committed(self, ticket: str) -> bool:
        while (state := self.rows("SELECT txid_status(?)", int(ticket))[0][0]) == "in progress":
            self._raw.execute("SELECT pg_sleep(0.05)")
        return bool(state == "committed")

    def commit(self) -> None:
        self._raw.execute("COMMIT")

    def rollback(self) -> None:
        self._raw.execute("ROLLBACK")

    def close(self) -> None:
        self._raw.close()


class PostgresBackend:
    single = False
    shared_clock = True
    notice = ""

    def __init__(self, url: str) -> None:
        self._url = url
        self.where = without_password(url)

    def connect(self, *, reading: bool = False) -> PostgresConnection:
        raw = psycopg.connect(
            self._url, autocommit=True, connect_timeout=CONNECT_TIMEOUT, application_name="sweeper ledger"
        )
        try:
            for statement in SESSION:
                raw.execute(statement)
            if reading:
                raw.execute("SET default_transaction_read_only TO on")
        except BaseException:
            raw.close()
            raise
        return PostgresConnection(raw)

    def trouble(self, error: Exception) -> Trouble | None:
        if not isinstance(error, psycopg.Error) or isinstance(error, (psycopg.IntegrityError, psycopg.DataError)):
            return None
        if error.sqlstate in TRY_AGAIN:
            return Trouble.BUSY
        # Without a state the server did not say it: the connection broke, or could not be made.
        if error.sqlstate in CONNECT_AGAIN or (error.sqlstate is None and isinstance(error, psycopg.OperationalError)):
            return Trouble.GONE
        return Trouble.FATAL

    def failed(self, error: Exception) -> LedgerFailed:
        state = getattr(error, "sqlstate", None) or ""
        text = " ".join(str(error).split())
        if state.startswith("53"):
            hint = "the database server is out of disk, memory or connections: free some, then `sweeper resume`"
        elif state.startswith(("28", "42501")):
            hint = "the user in [ledger] url must be able to log in, and to create a schema in that database"
        elif state == "3D000":
            hint = "create the database, or correct the name in [ledger] url"
        else:
            hint = "see that the server in [ledger] url answers (psql reaches it?), then `sweeper resume`"
        return LedgerFailed(f"the ledger {self.where}: {text}", hint=hint)


def without_password(url: str) -> str:
    url = re.sub(r"(?<=://)([^:@/?#]*):[^@]*@", r"\1@", url)
    return re.sub(r"((?:ssl)?password)=[^&]*", r"\1=***", url)
