"""Records to rows and back: pure, no database.

JSON is ASCII, so lone surrogates (undecodable bytes of a path) and NULs survive every database. A text that SQL
compares or sorts is stored as bytes: UTF-8 with surrogates passed through, whose order is the order of Python's `str`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sweeper.ledger.contract import AttemptRow, Queued, Run
from sweeper.records import (
    Evidence,
    Finding,
    History,
    Kind,
    Outcome,
    Owner,
    Severity,
    Skip,
    SkipReason,
    Unit,
    UnitState,
    Usage,
)

Row = tuple[Any, ...]

# A B-tree key of Postgres ends at 2,704 bytes and a path may be longer: only the head of a title is indexed.
HEAD_BYTES = 256

UNIT_COLUMNS = (
    "unit.key, unit.sweep, unit.title, unit.state, unit.round, unit.place, unit.why, unit.history, body.content"
)
ATTEMPT_COLUMNS = (
    "attempt.unit, attempt.number, attempt.run, attempt.round, attempt.rung, attempt.state, attempt.started,"
    " attempt.token, attempt.merged, attempt.input_tokens, attempt.output_tokens, attempt.micro_usd, attempt.outcome"
)
RUN_COLUMNS = "run.id, run.sweep, run.base, run.digest, run.round, run.tip, run.phase, run.ended, run.created"
OWNER_COLUMNS = "owner.id, owner.host, owner.pid, owner.started, owner.boot"


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def to_text(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogatepass")


def head(title: bytes) -> bytes:
    return title[:HEAD_BYTES]


def history_line(rung: int, kind: Kind, reason: str) -> str:
    """One outcome as a line: a history grows by appending text in SQL."""
    return to_json([rung, kind.value, reason]) + "\n"


def history_from(lines: str) -> History:
    return History(tuple((rung, Kind(kind), reason) for rung, kind, reason in map(json.loads, lines.splitlines())))


def findings_to(findings: Iterable[Finding]) -> list[list[Any]]:
    return [[f.path, f.line, f.column, f.rule, f.message, f.severity.value, f.fingerprint] for f in findings]


def findings_from(rows: Iterable[list[Any]]) -> tuple[Finding, ...]:
    return tuple(
        Finding(path, line, column, rule, message, Severity(severity), fingerprint)
        for path, line, column, rule, message, severity, fingerprint in rows
    )


def body_to(unit: Unit) -> str:
    return to_json({"paths": unit.paths, "findings": findings_to(unit.findings), "chunk": unit.chunk})


def queued_from(row: Row) -> Queued:
    """From UNIT_COLUMNS."""
    key, sweep, title, state, round, place, why, history, content = row
    body = json.loads(content)
    found = findings_from(body["findings"])
    # a ledger that an earlier version wrote knows no chunks
    unit = Unit(key, sweep, to_text(title), tuple(body["paths"]), found, body.get("chunk", 0))
    return Queued(unit, round, UnitState(state), history_from(history), place, json.loads(why))


def outcome_to(outcome: Outcome) -> str:
    evidence = outcome.evidence
    return to_json(
        {
            "unit": outcome.unit,
            "attempt": outcome.attempt,
            "rung": outcome.rung,
            "kind": outcome.kind.value,
            "base": outcome.base,
            "commit": outcome.commit,
            "evidence": {
                "command": evidence.command,
                "exit_code": evidence.exit_code,
                "reason": evidence.reason,
                "lines": evidence.lines,
                "before": evidence.before,
                "after": evidence.after,
                "new": findings_to(evidence.new),
                "checks": evidence.checks,
                "together": evidence.together,
            },
            "denied": [list(each) for each in outcome.denied],
            "usage": [outcome.usage.input_tokens, outcome.usage.output_tokens, outcome.usage.micro_usd],
            "seconds": outcome.seconds,
            "claimed": outcome.claimed,
            "reviews": outcome.reviews,
            "retry_after": outcome.retry_after,
            "memory_exceeded": outcome.memory_exceeded,
        }
    )


def outcome_from(text: str) -> Outcome:
    fields = json.loads(text)
    evidence = fields["evidence"]
    return Outcome(
        unit=fields["unit"],
        attempt=fields["attempt"],
        rung=fields["rung"],
        kind=Kind(fields["kind"]),
        base=fields["base"],
        commit=fields["commit"],
        evidence=Evidence(
            command=tuple(evidence["command"]),
            exit_code=evidence["exit_code"],
            reason=evidence["reason"],
            lines=tuple(evidence["lines"]),
            before=evidence["before"],
            after=evidence["after"],
            new=findings_from(evidence["new"]),
            checks=tuple(evidence.get("checks", ())),
            together=evidence.get("together", 1),
        ),
        denied=tuple((kind, times) for kind, times in fields.get("denied", ())),
        usage=Usage(*fields["usage"]),
        seconds=fields["seconds"],
        claimed=fields["claimed"],
        reviews=tuple(fields["reviews"]),
        retry_after=fields["retry_after"],
        memory_exceeded=fields["memory_exceeded"],
    )


def attempt_from(row: Row) -> AttemptRow:
    """From ATTEMPT_COLUMNS."""
    unit, number, run, round, rung, state, started, token, merged, tokens_in, tokens_out, micro_usd, outcome = row
    return AttemptRow(
        unit=unit,
        number=number,
        run=run,
        round=round,
        rung=rung,
        state=state,
        started=started,
        token=token,
        outcome=outcome_from(outcome) if outcome else None,
        merged=merged,
        usage=Usage(tokens_in, tokens_out, micro_usd),
    )


def run_from(row: Row) -> Run:
    """From RUN_COLUMNS. The phase of before its end stays stored, so that a reopened run goes on where it was."""
    id, sweep, base, digest, round, tip, phase, ended, created = row
    why = json.loads(ended)
    return Run(id, sweep, base, digest, round, tip, "done" if why else phase, why, created)


def owner_from(row: Row) -> Owner:
    """From OWNER_COLUMNS."""
    id, host, pid, started, boot = row
    return Owner(id, json.loads(host), pid, started, boot)


def skip_from(row: Row) -> Skip:
    path, reason, findings = row
    return Skip(json.loads(path), SkipReason(reason), findings)
