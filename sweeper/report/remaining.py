"""What a run leaves, for programs: SARIF 2.1.0 and reviewdog's rdjson, one result a finding."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sweeper.ledger.contract import Ledger, Run
from sweeper.records import Finding, Severity, Skip, UnitState
from sweeper.report.build import STATES, concerns
from sweeper.report.escape import APART, code, terminal
from sweeper.report.phrases import count

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT = "sweeperFinding/v1"
NOTE = 1000  # characters of a message
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
RD_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


@dataclass(frozen=True, slots=True)
class Remaining:
    """A finding that is there still. `why`: the reason for which its unit is held or not settled."""

    finding: Finding
    unit: str
    state: UnitState
    why: str

    @property
    def said(self) -> str:
        """The tool's message, or the rule where it has none."""
        return self.finding.message or self.finding.rule


@dataclass(frozen=True, slots=True)
class Rest:
    """What a run leaves, by path and line. `skips`: findings that became no unit, whose lines nobody keeps."""

    run: Run
    found: tuple[Remaining, ...]
    skips: tuple[Skip, ...] = ()


async def remaining(ledger: Ledger, run: Run) -> Rest:
    """The findings of all its units that are not settled. Raises LedgerFailed."""
    found: list[Remaining] = []
    states = tuple(state for state in UnitState if state is not UnitState.SETTLED)
    notes = await ledger.notes(run.id)
    async for queued in ledger.units(run.sweep, states=states):
        if not concerns(notes, queued):
            continue
        why = queued.why or STATES.get(queued.state, "a person decides")
        found += [Remaining(finding, queued.unit.title, queued.state, why) for finding in queued.unit.findings]
    return Rest(run, tuple(sorted(found, key=lambda one: one.finding)), tuple(await ledger.skips(run.id)))


def sarif(rests: Sequence[Rest], version: str) -> str:
    """One log with a run for each sweep. Paths are percent-encoded byte for byte, relative to the repository's top."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(rest, version) for rest in rests]}
    return json.dumps(log, indent=2) + "\n"


def _run(rest: Rest, version: str) -> dict[str, Any]:
    rules = sorted({one.finding.rule for one in rest.found if one.finding.rule})
    known = [{"id": terminal(rule)} for rule in rules]
    places = {rule: number for number, rule in enumerate(rules)}
    return {
        "tool": {"driver": {"name": "sweeper", "version": version, "rules": known}},
        "automationDetails": {"id": f"sweeper/{rest.run.sweep}/"},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": list(map(_skipped, rest.skips))}],
        "properties": {"sweep": rest.run.sweep, "run": rest.run.id, "commit": rest.run.tip or rest.run.base},
        "results": [_result(one, places) for one in rest.found],
    }


def _result(one: Remaining, rules: Mapping[str, int]) -> dict[str, Any]:
    finding = one.finding
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri(finding.path)}}
    if finding.line:
        physical["region"] = {"startLine": finding.line} | ({"startColumn": finding.column} if finding.column else {})
    return {
        **({"ruleId": terminal(finding.rule), "ruleIndex": rules[finding.rule]} if finding.rule else {}),
        "level": LEVELS[finding.severity],
        "message": {"text": _plain(f"{one.said} (sweeper: {one.state}: {one.why})")},
        "locations": [{"physicalLocation": physical}],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint} if finding.fingerprint else {},
        "properties": {"unit": terminal(one.unit), "state": str(one.state), "why": terminal(one.why)},
    }


def _plain(text: str) -> str:
    """One line of SARIF's plain text, in which nothing is a link."""
    return terminal(text, NOTE).replace("](", f"]{APART}(")


def _skipped(skip: Skip) -> dict[str, Any]:
    verb = "is" if skip.findings == 1 else "are"
    note: dict[str, Any] = {
        "level": "note",
        "message": {"text": f"{count(skip.findings, 'finding')} {verb} not worked on: {skip.reason}"},
    }
    if skip.path:
        note["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": uri(skip.path)}}}]
    return note


def uri(path: str) -> str:
    """A path as a relative reference: percent-encoded bytes, and no scheme before a colon."""
    return quote(os.fsencode(path), safe="/")


def rdjson(rests: Sequence[Rest]) -> str:
    """One document of all sweeps. A byte that is no UTF-8 is a lone surrogate, as in every other document of ours."""
    diagnostics = [_diagnostic(one) for rest in rests for one in rest.found]
    return json.dumps({"source": {"name": "sweeper"}, "diagnostics": diagnostics}, indent=2) + "\n"


def _diagnostic(one: Remaining) -> dict[str, Any]:
    finding = one.finding
    location: dict[str, Any] = {"path": finding.path}
    if finding.line:
        start = {"line": finding.line} | ({"column": finding.column} if finding.column else {})
        location["range"] = {"start": start}
    # whoever posts this takes the message for Markdown
    message = f"{code(one.said, NOTE)} (sweeper: {one.state}: {code(one.why)})"
    rule = {"code": {"value": terminal(finding.rule)}} if finding.rule else {}
    return {"message": message, "location": location, "severity": RD_SEVERITIES[finding.severity]} | rule
