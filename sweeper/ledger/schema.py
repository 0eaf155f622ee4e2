"""The tables, as numbered migrations: entry n of MIGRATIONS leads from version n to n + 1, and never changes again.

One text for SQLite and Postgres: SQLite takes the affinity of a type from its name (BIGINT is INTEGER, DOUBLE
PRECISION is REAL) and leaves bytes in a BYTEA column as they are.
"""

from __future__ import annotations

from sweeper.errors import LedgerFailed
from sweeper.ledger.connection import Connection

VERSION_1 = (
    """CREATE TABLE run (
        id TEXT PRIMARY KEY, sweep TEXT NOT NULL, base TEXT NOT NULL, digest TEXT NOT NULL, round BIGINT NOT NULL,
        tip TEXT NOT NULL, phase TEXT NOT NULL, ended TEXT NOT NULL, created DOUBLE PRECISION NOT NULL,
        position BIGINT NOT NULL)""",
    "CREATE INDEX run_latest ON run (sweep, position)",
    # What every claim and landing rewrites; what is written once a round (paths, findings) is in `body`.
    # `rank`: the negated number of findings, so that one ascending index serves "most findings first".
    # `history`: one JSON line per landed outcome since the last reset. `mark`: the last round that listed the unit.
    """CREATE TABLE unit (
        key TEXT PRIMARY KEY, sweep TEXT NOT NULL, title BYTEA NOT NULL, head BYTEA NOT NULL, rank BIGINT NOT NULL,
        state TEXT NOT NULL, round BIGINT NOT NULL, place TEXT NOT NULL, why TEXT NOT NULL, history TEXT NOT NULL,
        run TEXT NOT NULL, owner TEXT NOT NULL, token BIGINT NOT NULL, mark TEXT NOT NULL)""",
    "CREATE INDEX unit_queue ON unit (sweep, round, rank, key) WHERE state = 'open'",
    "CREATE INDEX unit_claimed ON unit (owner) WHERE state = 'claimed'",
    "CREATE INDEX unit_title ON unit (sweep, head)",
    "CREATE TABLE body (unit TEXT PRIMARY KEY, content TEXT NOT NULL)",
    # `late`: 0, or the fencing token with which a late result came: it never replaces the attempt's own row.
    """CREATE TABLE attempt (
        unit TEXT NOT NULL, number BIGINT NOT NULL, late BIGINT NOT NULL, run TEXT NOT NULL, round BIGINT NOT NULL,
        rung BIGINT NOT NULL, state TEXT NOT NULL, started DOUBLE PRECISION NOT NULL, token BIGINT NOT NULL,
        kind TEXT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL, micro_usd BIGINT NOT NULL,
        merged TEXT NOT NULL, outcome TEXT NOT NULL, PRIMARY KEY (unit, number, late))""",
    "CREATE INDEX attempt_run ON attempt (run, unit, number, late)",
    "CREATE INDEX attempt_started ON attempt (started)",
    # `beat`: seconds since the boot of `boot`'s kernel at the last renewal; no step of a clock touches it.
    """CREATE TABLE owner (
        id TEXT PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL, started DOUBLE PRECISION NOT NULL,
        boot TEXT NOT NULL, lease DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL,
        beat DOUBLE PRECISION NOT NULL, dead BIGINT NOT NULL)""",
    "CREATE TABLE dispatcher (sweep TEXT PRIMARY KEY, owner TEXT NOT NULL, since DOUBLE PRECISION NOT NULL)",
    "CREATE TABLE skip (run TEXT NOT NULL, round BIGINT NOT NULL, position BIGINT NOT NULL, path TEXT NOT NULL,"
    " reason TEXT NOT NULL, findings BIGINT NOT NULL, PRIMARY KEY (run, round, position))",
    "CREATE TABLE note (run TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (run, name))",
    "CREATE TABLE journal (fire TEXT NOT NULL, seq BIGINT NOT NULL, written DOUBLE PRECISION NOT NULL,"
    " event TEXT NOT NULL, commands TEXT NOT NULL, PRIMARY KEY (fire, seq))",
    "CREATE INDEX journal_fires ON journal (written) WHERE seq = 0",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (VERSION_1,)


def migrate(connection: Connection, where: str, migrations: tuple[tuple[str, ...], ...] = MIGRATIONS) -> None:
    """Bring the schema forward, inside the caller's write transaction.

    Raises LedgerFailed when a newer sweeper wrote the ledger.
    """
    connection.prepare()
    connection.run("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
    rows = connection.rows("SELECT version FROM schema_version")
    version = int(rows[0][0]) if rows else 0
    known = len(migrations)
    if version > known:
        raise LedgerFailed(
            f"the ledger {where} has schema version {version}; this sweeper knows versions up to {known}",
            hint="run the newer sweeper that wrote it, or use another ledger ([ledger] url, $SWEEPER_STATE)",
        )
    if version == known:
        return
    for statements in migrations[version:]:
        for statement in statements:
            connection.run(statement)
    connection.run("DELETE FROM schema_version")
    connection.run("INSERT INTO schema_version (version) VALUES (?)", known)
