"""The SQL of owners, the dispatcher lease, claims and attempts. Every function runs inside one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sweeper.errors import DispatcherBusy, LedgerFailed
from sweeper.errors import StaleClaim as StaleToken
from sweeper.ledger.connection import Connection
from sweeper.ledger.contract import AttemptRow, StaleClaim
from sweeper.ledger.encode import (
    ATTEMPT_COLUMNS,
    OWNER_COLUMNS,
    attempt_from,
    history_line,
    outcome_to,
    owner_from,
    to_json,
)
from sweeper.ledger.lease import Standing
from sweeper.ledger.writer import Refused
from sweeper.records import Claim, Outcome, Owner, UnitState, Usage

Dead = Callable[[Standing, float], bool]

STANDING_COLUMNS = f"{OWNER_COLUMNS}, owner.lease, owner.expires, owner.beat, owner.dead"
FENCE = "key = ? AND token = ? AND owner = ? AND state = 'claimed'"

CLAIM_SQL = (
    "UPDATE unit SET state = 'claimed', owner = ?, run = ?, token = token + 1"
    " WHERE key IN (SELECT key FROM unit WHERE key = ? AND state = 'open'{skip_locked})"
    " AND EXISTS (SELECT 1 FROM owner WHERE id = ? AND dead = 0) RETURNING token"
)
LAND_UNIT_SQL = (
    f"UPDATE unit SET state = ?, round = ?, why = ?, owner = '', history = history || ? WHERE {FENCE} RETURNING run"
)
LAND_ATTEMPT_SQL = (
    "UPDATE attempt SET state = 'landed', kind = ?, input_tokens = ?, output_tokens = ?, micro_usd = ?, outcome = ?"
    " WHERE unit = ? AND number = ? AND late = 0 AND state = 'started' AND token = ?"
)
NEW_ATTEMPT_SQL = (
    "INSERT INTO attempt (unit, number, late, run, round, rung, state, started, token, kind, input_tokens,"
    " output_tokens, micro_usd, merged, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?)"
    " ON CONFLICT (unit, number, late) DO NOTHING"
)


# --- owners and the dispatcher ---


def enter(connection: Connection, owner: Owner, lease: float, beat: float) -> float:
    """Returns the lease's expiry, by the ledger's clock."""
    expires = connection.now() + lease
    connection.run(
        "INSERT INTO owner (id, host, pid, started, boot, lease, expires, beat, dead)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)",
        *(owner.id, to_json(owner.host), owner.pid, owner.started, owner.boot, lease, expires, beat),
    )
    return expires


def renew(connection: Connection, owner: str, lease: float, beat: float) -> bool:
    """False: the ledger has this owner dead."""
    sql = "UPDATE owner SET expires = ?, beat = ? WHERE id = ? AND dead = 0"
    return connection.run(sql, connection.now() + lease, beat, owner) == 1


def alive(connection: Connection, owner: str, dead: Dead) -> bool | None:
    """None: this ledger does not know that owner."""
    rows = connection.rows(f"SELECT {STANDING_COLUMNS} FROM owner WHERE id = ?", owner)
    return not dead(standing_from(rows[0]), connection.now()) if rows else None


def leave(connection: Connection, owner: str) -> None:
    connection.run("UPDATE owner SET dead = 1 WHERE id = ?", owner)
    connection.run("DELETE FROM dispatcher WHERE owner = ?", owner)


def forget_dead(connection: Connection, dead: Dead) -> set[str]:
    """Remove owners that are dead and that nothing refers to; returns those that remain."""
    now = connection.now()
    unused = (
        " WHERE NOT EXISTS (SELECT 1 FROM unit WHERE unit.owner = owner.id AND unit.state = 'claimed')"
        " AND NOT EXISTS (SELECT 1 FROM dispatcher WHERE dispatcher.owner = owner.id)"
    )
    for row in connection.rows(f"SELECT {STANDING_COLUMNS} FROM owner{unused}"):
        standing = standing_from(row)
        if dead(standing, now):
            connection.run("DELETE FROM owner WHERE id = ? AND expires = ?", standing.owner.id, standing.expires)
    return {id for (id,) in connection.rows("SELECT id FROM owner")}


def standing_from(row: Sequence[object]) -> Standing:
    lease, expires, beat, dead = (float(str(value)) for value in row[5:9])
    return Standing(owner_from(tuple(row[:5])), lease, expires, beat, bool(dead))


def take_dispatcher(connection: Connection, sweep: str, owner: str, dead: Dead) -> None:
    """Raises DispatcherBusy."""
    sql = "INSERT INTO dispatcher (sweep, owner, since) VALUES (?, ?, ?) ON CONFLICT (sweep) DO NOTHING"
    now = connection.now()
    if connection.run(sql, sweep, owner, now):
        return
    rows = connection.rows(
        f"SELECT dispatcher.since, dispatcher.owner, {STANDING_COLUMNS} FROM dispatcher"
        " LEFT JOIN owner ON owner.id = dispatcher.owner WHERE dispatcher.sweep = ?",
        sweep,
    )
    since, holder, *standing = rows[0] if rows else (now, "")
    if holder == owner:
        return
    if not standing or standing[0] is None or bury(connection, standing_from(standing), dead):
        sql = "UPDATE dispatcher SET owner = ?, since = ? WHERE sweep = ? AND owner = ?"
        if connection.run(sql, owner, now, sweep, holder):
            return
        raise DispatcherBusy(f"another coordinator took the sweep {sweep!r} this moment", hint="try again")
    other = owner_from(tuple(standing[:5]))
    when = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    raise DispatcherBusy(
        f"the sweep {sweep!r} is run by another coordinator: host {other.host}, pid {other.pid}, since {when}",
        hint="wait until it ends, or stop that process: its place is free as soon as it is gone",
    )


def bury(connection: Connection, standing: Standing, dead: Dead) -> bool:
    """Make a death final: from here on the ledger accepts no renewal and no new claim of this owner."""
    if not dead(standing, connection.now()):
        return False
    sql = "UPDATE owner SET dead = 1 WHERE id = ? AND expires = ?"
    return standing.dead or connection.run(sql, standing.owner.id, standing.expires) == 1


# --- claims ---


def claim(connection: Connection, key: str, run: str, owner: str) -> int | None:
    """The fencing token, or None."""
    rows = connection.rows(CLAIM_SQL.format(skip_locked=connection.skip_locked), owner, run, key, owner)
    return int(rows[0][0]) if rows else None


def release(connection: Connection, claim: Claim) -> None:
    connection.run(f"UPDATE unit SET state = 'open', owner = '' WHERE {FENCE}", claim.unit, claim.token, claim.owner)


def fenced(connection: Connection, claim: Claim) -> tuple[str, int]:
    """The unit's run and queue round, if the claim still stands. Raises errors.StaleClaim."""
    sql = f"SELECT run, round FROM unit WHERE {FENCE}{connection.for_update}"
    rows = connection.rows(sql, claim.unit, claim.token, claim.owner)
    if not rows:
        raise stale_token(claim)
    return rows[0][0], rows[0][1]


def stale_token(claim: Claim) -> StaleToken:
    return StaleToken(
        f"the claim on unit {claim.unit} with token {claim.token} no longer stands",
        hint="another coordinator works on the unit; a result that came late is kept as evidence",
    )


def start(connection: Connection, claim: Claim, rung: int, round: int) -> AttemptRow:
    run, _ = fenced(connection, claim)
    unfinished = unfinished_attempt(connection, claim.unit)
    if unfinished is not None:
        where = "unit = ? AND number = ? AND late = 0"
        if (unfinished.run, unfinished.round) == (run, round):
            sql = f"UPDATE attempt SET token = ? WHERE {where}"
            connection.run(sql, claim.token, claim.unit, unfinished.number)
            return replace(one_attempt(connection, claim.unit, unfinished.number), adopted=True)
        # Of a round that is over: nobody will look for its capture any more.
        connection.run(f"UPDATE attempt SET state = 'lost' WHERE {where}", claim.unit, unfinished.number)
    return add_attempt(connection, claim, run, round, rung)


def add_attempt(connection: Connection, claim: Claim, run: str, round: int, rung: int) -> AttemptRow:
    # Late ones count: a number names a capture, and is never given twice.
    last = connection.rows("SELECT max(number) FROM attempt WHERE unit = ?", claim.unit)[0][0] or 0
    row = (claim.unit, last + 1, 0, run, round, rung, "started", time.time(), claim.token, "", 0, 0, 0, "")
    connection.run(NEW_ATTEMPT_SQL, *row)
    return one_attempt(connection, claim.unit, last + 1)


def one_attempt(connection: Connection, unit: str, number: int) -> AttemptRow:
    sql = f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE unit = ? AND number = ? AND late = 0"
    return attempt_from(connection.rows(sql, unit, number)[0])


def unfinished_attempt(connection: Connection, unit: str) -> AttemptRow | None:
    sql = f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE unit = ? AND late = 0 AND state = 'started'"
    rows = connection.rows(sql, unit)
    return attempt_from(rows[-1]) if rows else None


def unfinished(connection: Connection) -> list[AttemptRow]:
    sql = f"SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE late = 0 AND state = 'started' ORDER BY unit, number"
    return [attempt_from(row) for row in connection.rows(sql)]


def spend(connection: Connection, row: AttemptRow, usage: Usage) -> None:
    connection.run(
        "UPDATE attempt SET input_tokens = ?, output_tokens = ?, micro_usd = ?"
        " WHERE unit = ? AND number = ? AND late = 0 AND state = 'started'",
        *(usage.input_tokens, usage.output_tokens, usage.micro_usd, row.unit, row.number),
    )


def lose(connection: Connection, claim: Claim, number: int, usage: Usage) -> AttemptRow:
    fenced(connection, claim)
    changed = connection.run(
        "UPDATE attempt SET state = 'lost', input_tokens = ?, output_tokens = ?, micro_usd = ?"
        " WHERE unit = ? AND number = ? AND late = 0 AND state = 'started'",
        *(usage.input_tokens, usage.output_tokens, usage.micro_usd, claim.unit, number),
    )
    if not changed:
        raise LedgerFailed(f"attempt {number} of unit {claim.unit} is not one that is under way")
    lost = one_attempt(connection, claim.unit, number)
    return add_attempt(connection, claim, lost.run, lost.round, lost.rung)


def land(connection: Connection, claim: Claim, outcome: Outcome, to: UnitState, round: int, why: str) -> Refused | None:
    line = history_line(outcome.rung, outcome.kind, outcome.evidence.reason)
    text, usage = outcome_to(outcome), outcome.usage
    spend = (usage.input_tokens, usage.output_tokens, usage.micro_usd)
    values = (to.value, round, to_json(why), line, claim.unit, claim.token, claim.owner)
    rows = connection.rows(LAND_UNIT_SQL, *values)
    if not rows:
        return land_late(connection, claim, outcome, text)
    where = (claim.unit, outcome.attempt, claim.token)
    if not connection.run(LAND_ATTEMPT_SQL, outcome.kind.value, *spend, text, *where):
        row = (claim.unit, outcome.attempt, 0, rows[0][0], round, outcome.rung, "landed", time.time(), claim.token)
        if not connection.run(NEW_ATTEMPT_SQL, *row, outcome.kind.value, *spend, text):
            raise LedgerFailed(f"attempt {outcome.attempt} of unit {claim.unit} is not one that is under way")
    return None


def land_late(connection: Connection, claim: Claim, outcome: Outcome, text: str) -> Refused:
    """Keep a result that nobody waits for any more, beside the attempt's own row."""
    own = connection.rows(
        "SELECT run, round, started FROM attempt WHERE unit = ? AND number = ? AND late = 0",
        claim.unit,
        outcome.attempt,
    )
    run, round, started = own[0] if own else ("", 0, time.time())
    usage = outcome.usage
    row = (claim.unit, outcome.attempt, claim.token, run, round, outcome.rung, "stale", started, claim.token)
    spend = (usage.input_tokens, usage.output_tokens, usage.micro_usd)
    connection.run(NEW_ATTEMPT_SQL, *row, outcome.kind.value, *spend, text)
    return Refused(stale_token(claim))


def stale_claims(connection: Connection, me: str, dead: Dead) -> list[StaleClaim]:
    now = connection.now()
    rows = connection.rows(
        f"SELECT unit.key, unit.owner, unit.token, {STANDING_COLUMNS} FROM unit"
        " LEFT JOIN owner ON owner.id = unit.owner"
        " WHERE unit.state = 'claimed' AND unit.owner <> ? ORDER BY unit.owner, unit.key",
        me,
    )
    return list(judge(connection, rows, now, dead))


def judge(connection: Connection, rows: Sequence[tuple[object, ...]], now: float, dead: Dead) -> Iterator[StaleClaim]:
    verdicts: dict[str, bool] = {}
    for key, owner, token, *columns in rows:
        unit, holder = str(key), str(owner)
        known = columns[0] is not None
        standing = standing_from(columns) if known else Standing(Owner(holder, "", 0, 0.0, ""), 0.0, 0.0, 0.0, True)
        if holder not in verdicts:
            verdicts[holder] = dead(standing, now)
        if verdicts[holder]:
            claimed = Claim(unit, holder, int(str(token)), standing.expires)
            yield StaleClaim(claimed, standing.owner, unfinished_attempt(connection, unit))


def break_claim(connection: Connection, stale: StaleClaim, dead: Dead) -> None:
    """The death is proved again here: an owner by lease may have come back since."""
    rows = connection.rows(f"SELECT {STANDING_COLUMNS} FROM owner WHERE id = ?", stale.claim.owner)
    if not rows or bury(connection, standing_from(rows[0]), dead):
        release(connection, stale.claim)
