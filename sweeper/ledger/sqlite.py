"""The embedded ledger: one SQLite file. WAL where the file system can carry it, synchronous=FULL always."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sweeper.errors import LedgerFailed
from sweeper.ledger.connection import Trouble
from sweeper.ledger.filesystem import shared_type

# RETURNING came with it.
OLDEST = (3, 35, 0)
OF_ONE_STATEMENT = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError)
# Seconds that a reader waits for a lock (recovery of the log). The writer waits by itself, with jitter.
READER_PATIENCE = 10.0


class SqliteConnection:
    for_update = ""
    skip_locked = ""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    def prepare(self) -> None:
        """A write transaction of SQLite is alone, and its file exists."""

    def rows(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return self._raw.execute(sql, parameters).fetchall()

    def run(self, sql: str, *parameters: Any) -> int:
        return self._raw.execute(sql, parameters).rowcount

    def many(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self._raw.executemany(sql, rows)

    def now(self) -> float:
        return time.time()

    def begin(self) -> None:
        self._raw.execute("BEGIN IMMEDIATE")

    def ticket(self) -> str:
        return ""

    def committed(self, ticket: str) -> bool:
        return False

    def commit(self) -> None:
        self._raw.execute("COMMIT")

    def rollback(self) -> None:
        if self._raw.in_transaction:
            self._raw.execute("ROLLBACK")

    def close(self) -> None:
        self._raw.close()


class SqliteBackend:
    shared_clock = False

    def __init__(self, path: Path) -> None:
        """Raises LedgerFailed if SQLite is too old or the folder cannot be made."""
        if sqlite3.sqlite_version_info < OLDEST:
            raise LedgerFailed(
                f"the ledger needs SQLite {'.'.join(map(str, OLDEST))} or newer;"
                f" this Python has {sqlite3.sqlite_version}",
                hint="use another Python, or a Postgres ledger ([ledger] url)",
            )
        self.where = str(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise LedgerFailed(
                f"cannot make the ledger's folder {path.parent}: {error.strerror}",
                hint="free the place or its permissions, or put the state elsewhere with $SWEEPER_STATE",
            ) from error
        kind = shared_type(path.parent)
        self.single = bool(kind)
        self.notice = (
            f"the ledger {path} is on {kind}, where SQLite's write-ahead log is unsafe: it uses a rollback journal and "
            "admits one process at a time; $SWEEPER_STATE moves it to a local disk"
            if kind
            else ""
        )

    def connect(self, *, reading: bool = False) -> SqliteConnection:
        raw = sqlite3.connect(
            self.where,
            timeout=READER_PATIENCE if reading else 0.0,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            if self.single:
                raw.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._set_journal_mode(raw, "DELETE" if self.single else "WAL")
            raw.execute("PRAGMA synchronous=FULL")
            raw.execute("PRAGMA journal_size_limit=67108864")
            raw.execute(f"PRAGMA query_only={'ON' if reading else 'OFF'}")
        except BaseException:
            raw.close()
            raise
        return SqliteConnection(raw)

    def _set_journal_mode(self, raw: sqlite3.Connection, wanted: str) -> None:
        mode = raw.execute(f"PRAGMA journal_mode={wanted}").fetchone()[0]
        if mode.upper() != wanted:
            raise sqlite3.OperationalError(f"journal mode is {mode}, not {wanted}")

    def trouble(self, error: Exception) -> Trouble | None:
        if not isinstance(error, sqlite3.Error) or isinstance(error, OF_ONE_STATEMENT):
            return None
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        return Trouble.BUSY if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) else Trouble.FATAL

    def failed(self, error: Exception) -> LedgerFailed:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        match code:
            case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
                hint = (
                    f"free space on the disk of {self.where} (or move it with $SWEEPER_STATE), then `sweeper resume`:"
                    " what was stored before is whole"
                )
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                hint = "another process keeps it locked (a backup, a sqlite3 shell?): end that, then `sweeper resume`"
                if self.single:
                    hint = f"{self.notice}; end the other process, then `sweeper resume`"
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                hint = f"the file is damaged: move {self.where} away; merged work is on the sweep's branch"
            case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
                hint = "look at the permissions of the file and its folder, and at the free space of its disk"
            case _:
                hint = "look at the file's disk and permissions, then `sweeper resume`"
        return LedgerFailed(f"the ledger {self.where}: {error}", hint=hint)
