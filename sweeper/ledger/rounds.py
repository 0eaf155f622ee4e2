"""The SQL of runs, rounds and the queue. Every function runs inside one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sweeper.errors import ConfigError, LedgerFailed, StaleClaim
from sweeper.ledger.connection import Connection
from sweeper.ledger.contract import AttemptRow, Queued, Run
from sweeper.ledger.encode import (
    ATTEMPT_COLUMNS,
    RUN_COLUMNS,
    UNIT_COLUMNS,
    attempt_from,
    body_to,
    head,
    history_line,
    outcome_to,
    queued_from,
    run_from,
    to_bytes,
    to_json,
    to_text,
)
from sweeper.records import Kind, Outcome, Skip, UnitState

UNITS = f"SELECT {UNIT_COLUMNS} FROM unit JOIN body ON body.unit = unit.key"
# Before the first of every stream that is ordered by (head, title, key).
START = (b"", b"", "")
Place = tuple[bytes, bytes, str]


# --- runs ---


def create_run(connection: Connection, run: Run) -> None:
    connection.run(
        "INSERT INTO run (id, sweep, base, digest, round, tip, phase, ended, created, position) VALUES"
        " (?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(position), 0) + 1 FROM run))",
        *(run.id, run.sweep, run.base, run.digest, run.round, run.tip or run.base, run.phase, to_json(run.ended)),
        run.created,
    )


def latest_run(connection: Connection, sweep: str, base: str | None, digest: str | None) -> Run | None:
    conditions, values = ["sweep = ?"], [sweep]
    for column, value in (("base", base), ("digest", digest)):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    where = " AND ".join(conditions)
    rows = connection.rows(f"SELECT {RUN_COLUMNS} FROM run WHERE {where} ORDER BY position DESC LIMIT 1", *values)
    return run_from(rows[0]) if rows else None


def run(connection: Connection, id: str) -> Run | None:
    rows = connection.rows(f"SELECT {RUN_COLUMNS} FROM run WHERE id = ?", id)
    return run_from(rows[0]) if rows else None


def runs(connection: Connection, limit: int, sweep: str | None) -> list[Run]:
    where, values = (" WHERE sweep = ?", [sweep]) if sweep is not None else ("", [])
    rows = connection.rows(f"SELECT {RUN_COLUMNS} FROM run{where} ORDER BY position DESC LIMIT ?", *values, limit)
    return [run_from(row) for row in rows]


def set_ended(connection: Connection, run: str, why: str) -> None:
    connection.run("UPDATE run SET ended = ? WHERE id = ?", to_json(why), run)


def sweep_of(connection: Connection, run: str) -> str:
    """Raises LedgerFailed if there is no such run."""
    rows = connection.rows("SELECT sweep FROM run WHERE id = ?", run)
    if not rows:
        raise LedgerFailed(f"the ledger has no run {run}", hint="`sweeper status` lists the runs")
    return str(rows[0][0])


def require_dispatcher(connection: Connection, run: str, owner: str) -> None:
    """Raises errors.StaleClaim if the dispatcher lease of the run's sweep is another owner's."""
    sweep = sweep_of(connection, run)
    # Mine is locked too: nobody takes it over between this look and the commit.
    rows = connection.rows(f"SELECT owner FROM dispatcher WHERE sweep = ?{connection.for_update}", sweep)
    if rows and rows[0][0] != owner:
        raise StaleClaim(
            f"the dispatcher lease of sweep {sweep!r} is not held by this coordinator any more",
            hint="another coordinator runs the sweep and goes on from what was stored; `sweeper status` shows it",
        )


# --- rounds ---


def store_units(connection: Connection, run: str, number: int, units: Iterable[Queued], fresh: bool) -> None:
    """One chunk of a round's backlog."""
    reset = "unit.state = 'settled'" + (" OR unit.place <> excluded.place" if fresh else "")
    # A verified unit whose findings are here again was never merged: its run was given up.
    opened = f"({reset} OR unit.state = 'verified') AND unit.state <> 'claimed'"
    mark = _mark(connection, run, number)
    rows: list[tuple[Any, ...]] = []
    bodies: list[tuple[str, str]] = []
    for queued in units:
        unit, title = queued.unit, to_bytes(queued.unit.title)
        turn = max(number, queued.round)
        rows.append((unit.key, unit.sweep, title, head(title), -len(unit.findings), turn, queued.place, run, mark))
        bodies.append((unit.key, body_to(unit)))
    connection.many(
        "INSERT INTO unit (key, sweep, title, head, rank, state, round, place, why, history, run, owner, token, mark)"
        " VALUES (?, ?, ?, ?, ?, 'open', ?, ?, '\"\"', '', ?, '', 0, ?) ON CONFLICT (key) DO UPDATE SET"
        " title = excluded.title, head = excluded.head, rank = excluded.rank, round = excluded.round,"
        " place = excluded.place, mark = excluded.mark,"
        f" history = CASE WHEN {reset} THEN '' ELSE unit.history END,"
        f" why = CASE WHEN {opened} THEN '\"\"' ELSE unit.why END,"
        f" state = CASE WHEN {opened} THEN 'open' ELSE unit.state END",
        rows,
    )
    connection.many(
        "INSERT INTO body (unit, content) VALUES (?, ?) ON CONFLICT (unit) DO UPDATE SET content = excluded.content",
        bodies,
    )


def _mark(connection: Connection, run: str, number: int) -> str:
    """What tells the units of this opening from those of the one before, also where that had the same number: a round
    whose end left no backlog is opened once more, and then settles what was waiting."""
    (known,) = connection.rows("SELECT round FROM run WHERE id = ?", run)
    return f"{run}/{number}" + ("+" if known[0] >= number else "")


def finish_opening(connection: Connection, run: str, number: int, skips: Sequence[Skip]) -> None:
    """Settle what is gone, store the skips, and only then say in the run's row that the round is open."""
    connection.run(
        "UPDATE unit SET state = 'settled', why = ?, owner = '', token = token + 1"
        " WHERE sweep = ? AND mark <> ? AND state <> 'settled'",
        *(to_json("gone"), sweep_of(connection, run), _mark(connection, run, number)),
    )
    connection.run("DELETE FROM skip WHERE run = ? AND round = ?", run, number)
    connection.many(
        "INSERT INTO skip (run, round, position, path, reason, findings) VALUES (?, ?, ?, ?, ?, ?)",
        [(run, number, i, to_json(s.path), s.reason.value, s.findings) for i, s in enumerate(skips)],
    )
    connection.run("UPDATE run SET round = ?, phase = 'fanout' WHERE id = ?", number, run)


def close_round(
    connection: Connection, run: str, number: int, tip: str, merged: dict[str, str], ejected: Sequence[Outcome]
) -> None:
    leave = "UPDATE unit SET state = ?, round = ? WHERE key = ? AND state = 'verified'"
    for key, commit in merged.items():
        rows = connection.rows(
            "SELECT number, kind FROM attempt WHERE unit = ? AND late = 0 AND state = 'landed'"
            " ORDER BY number DESC LIMIT 1",
            key,
        )
        partial = bool(rows) and rows[0][1] == Kind.PARTIAL.value
        state, next_round = (UnitState.OPEN, number + 1) if partial else (UnitState.SETTLED, number)
        if connection.run(leave, state.value, next_round, key) and rows:
            sql = "UPDATE attempt SET merged = ? WHERE unit = ? AND number = ? AND late = 0"
            connection.run(sql, commit, key, rows[0][0])
    for outcome in ejected:
        eject(connection, outcome, number + 1)
    connection.run("UPDATE run SET tip = ?, phase = 'check' WHERE id = ?", tip, run)


def eject(connection: Connection, outcome: Outcome, next_round: int) -> None:
    """The barrier's word on a verified attempt replaces the attempt's own: what was spent on it stays."""
    kind, reason = outcome.kind, outcome.evidence.reason
    line, why = history_line(outcome.rung, kind, reason), to_json(f"{kind.value}: {reason}")
    left = connection.run(
        "UPDATE unit SET state = 'open', round = ?, history = history || ?, why = ?"
        " WHERE key = ? AND state = 'verified'",
        *(next_round, line, why, outcome.unit),
    )
    if left:
        connection.run(
            "UPDATE attempt SET kind = ?, outcome = ? WHERE unit = ? AND number = ? AND late = 0 AND state = 'landed'",
            *(kind.value, outcome_to(outcome), outcome.unit, outcome.attempt),
        )


# --- queue ---


def page(
    connection: Connection, run: str, round: int, cursor: str | None, limit: int
) -> tuple[list[Queued], str | None]:
    # Rounds in front of ranks lets one index range serve the page; a round's opening leaves no earlier ones behind.
    first_round, first_rank, first_key = cursor.split(":", 2) if cursor else ("-1", "0", "")
    rows = connection.rows(
        f"{UNITS} WHERE unit.state = 'open' AND unit.sweep = ? AND unit.round <= ?"
        " AND (unit.round, unit.rank, unit.key) > (?, ?, ?)"
        " ORDER BY unit.round, unit.rank, unit.key LIMIT ?",
        *(sweep_of(connection, run), round, int(first_round), int(first_rank), first_key, limit + 1),
    )
    found = [queued_from(row) for row in rows[:limit]]
    if len(rows) <= limit:
        return found, None
    last = found[-1]
    return found, f"{last.round}:{-len(last.unit.findings)}:{last.key}"


def units(
    connection: Connection, sweep: str, states: Sequence[UnitState], run: str | None, after: Place, limit: int
) -> list[Queued]:
    """The next units in unit order: title, then key."""
    conditions, values = ["unit.sweep = ?"], [sweep]
    if states:
        conditions.append(f"unit.state IN ({', '.join('?' * len(states))})")
        values += [state.value for state in states]
    if run is not None:
        conditions.append("unit.run = ?")
        values.append(run)
    rows = connection.rows(
        f"{UNITS} WHERE {' AND '.join(conditions)} AND (unit.head, unit.title, unit.key) > (?, ?, ?)"
        " ORDER BY unit.head, unit.title, unit.key LIMIT ?",
        *(*values, *after, limit),
    )
    return [queued_from(row) for row in rows]


def place_of(queued: Queued) -> Place:
    title = to_bytes(queued.unit.title)
    return head(title), title, queued.key


def landed_attempt(connection: Connection, unit: str) -> AttemptRow:
    rows = connection.rows(
        f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE unit = ? AND late = 0 AND state = 'landed'"
        " ORDER BY number DESC LIMIT 1",
        unit,
    )
    return attempt_from(rows[0])


def unit(connection: Connection, sweep: str | None, name: str) -> Queued | None:
    """By key, by title, or by a prefix of the key. Raises ConfigError if that is several."""
    if not name:
        return None
    title = to_bytes(name)
    where, values = ("unit.sweep = ? AND ", [sweep]) if sweep is not None else ("", [])
    ways: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("unit.key = ?", (name,)),
        ("unit.head = ? AND unit.title = ?", (head(title), title)),
        ("substr(unit.key, 1, ?) = ?", (len(name), name)),
    )
    for condition, parameters in ways:
        if "\0" in name and isinstance(parameters[-1], str):
            continue
        sql = f"{UNITS} WHERE {where}{condition} ORDER BY unit.key LIMIT 4"
        rows = connection.rows(sql, *values, *parameters)
        if len(rows) > 1:
            some = ", ".join(f"{row[0]} ({row[1]}: {to_text(row[2])!r})" for row in rows[:3])
            raise ConfigError(f"{name!r} names several units: {some}", hint="give more of the unit's key")
        if rows:
            return queued_from(rows[0])
    return None


def hold(connection: Connection, key: str, why: str) -> None:
    connection.run("UPDATE unit SET state = 'held', why = ? WHERE key = ? AND state = 'open'", to_json(why), key)


def release_held(connection: Connection, key: str) -> bool:
    sql = "UPDATE unit SET state = 'open', history = '', why = ? WHERE key = ? AND state = 'held'"
    return connection.run(sql, to_json(""), key) == 1
