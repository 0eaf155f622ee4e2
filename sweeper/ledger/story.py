"""The SQL of what reports read: attempts, skips, notes, counts, journal, money."""

from __future__ import annotations

import json
from typing import Any

from sweeper.ledger.connection import Connection
from sweeper.ledger.contract import AttemptRow, Counts, JournalRow
from sweeper.ledger.encode import ATTEMPT_COLUMNS, Row, attempt_from, skip_from, to_json
from sweeper.ledger.rounds import sweep_of
from sweeper.records import Skip

# Before the first attempt in the order (unit, number, late).
START: Row = ("", 0, 0)


def attempts(
    connection: Connection, run: str | None, unit: str | None, after: Row, limit: int
) -> tuple[list[AttemptRow], Row]:
    """The next attempts, and the place behind them."""
    conditions, values = ["(unit, number, late) > (?, ?, ?)"], list(after)
    for column, value in (("run", run), ("unit", unit)):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    where = " AND ".join(conditions)
    sql = f"SELECT {ATTEMPT_COLUMNS}, late FROM attempt WHERE {where} ORDER BY unit, number, late LIMIT ?"
    rows = connection.rows(sql, *values, limit)
    return [attempt_from(row[:-1]) for row in rows], (rows[-1][0], rows[-1][1], rows[-1][-1]) if rows else after


def skips(connection: Connection, run: str, round: int) -> list[Skip]:
    sql = "SELECT path, reason, findings FROM skip WHERE run = ? AND round = ? ORDER BY position"
    return [skip_from(row) for row in connection.rows(sql, run, round)]


def note(connection: Connection, run: str, name: str, value: Any) -> None:
    sql = "INSERT INTO note (run, name, value) VALUES (?, ?, ?)"
    replacing = " ON CONFLICT (run, name) DO UPDATE SET value = excluded.value"
    connection.run(sql + replacing, run, name, to_json(value))


def notes(connection: Connection, run: str) -> dict[str, Any]:
    rows = connection.rows("SELECT name, value FROM note WHERE run = ? ORDER BY name", run)
    return {name: json.loads(value) for name, value in rows}


def counts(connection: Connection, run: str) -> Counts:
    units = "SELECT state, count(*) FROM unit WHERE sweep = ? GROUP BY state ORDER BY state"
    outcomes = "SELECT kind, count(*) FROM attempt WHERE run = ? AND state = 'landed' GROUP BY kind ORDER BY kind"
    later = (
        "SELECT count(*) FROM unit WHERE sweep = ? AND state = 'open' AND round > (SELECT round FROM run WHERE id = ?)"
    )
    sweep = sweep_of(connection, run)
    ((number,),) = connection.rows(later, sweep, run)
    return Counts(dict(connection.rows(units, sweep)), dict(connection.rows(outcomes, run)), int(number))


def journal_rows(connection: Connection, fire: str, after: int, limit: int) -> list[JournalRow]:
    sql = "SELECT seq, event, commands FROM journal WHERE fire = ? AND seq > ? ORDER BY seq LIMIT ?"
    rows = connection.rows(sql, fire, after, limit)
    return [JournalRow(seq, json.loads(event), json.loads(commands)) for seq, event, commands in rows]


def latest_fire(connection: Connection) -> str | None:
    rows = connection.rows("SELECT fire FROM journal WHERE seq = 0 ORDER BY written DESC LIMIT 1")
    return str(rows[0][0]) if rows else None


def spent(connection: Connection, since: float) -> int:
    rows = connection.rows("SELECT coalesce(sum(micro_usd), 0) FROM attempt WHERE started >= ?", since)
    return int(rows[0][0])
