"""Reports and plans as one JSON document with a `schema_version`."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.forge.contract import Published, Rendered
from sweeper.report import phrases
from sweeper.report.model import SCHEMA_VERSION, Buckets, SweepPlan, SweepReport, UnitReport
from sweeper.report.spending import Spent
from sweeper.scheduler import Why


def document(kind: str, **content: Any) -> str:
    """One JSON document, ASCII only: an undecodable byte of a file name is a lone surrogate, `\\udcXX`."""
    head = {"schema_version": SCHEMA_VERSION, "kind": kind}
    return json.dumps(head | {name: plain(value) for name, value in content.items()}, indent=2) + "\n"


def report_document(
    reports: Sequence[SweepReport],
    *,
    ended: str = "",
    exit_code: int | None = None,
    pull_requests: Sequence[Published] = (),
    rendered: Sequence[Rendered] = (),
) -> str:
    """The document of `run`, `resume` and `report`; `exit_code` is None where nothing was run.

    `rendered`: a dry run's pull requests, which are nowhere else.
    """
    if ended == Why.DRAINED and not all(report.drained for report in reports):
        ended = phrases.NOTHING_MORE
    return document(
        "report", ended=ended, exit_code=exit_code, sweeps=reports, pull_requests=pull_requests, rendered=rendered
    )


def plan_document(plans: Sequence[SweepPlan]) -> str:
    return document("plan", sweeps=plans)


def story_document(unit: UnitReport) -> str:
    return document("unit", unit=unit)


def plain(value: Any) -> Any:
    """A value of the report as JSON-able data."""
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        data = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        if isinstance(value, Buckets):
            data |= {"remaining": value.remaining, "total": value.total}
        if isinstance(value, Spent):
            data |= {"usd_per_fix": value.usd_per_fix}
        if isinstance(value, UnitReport) and value.held:
            data |= {"why": phrases.why(value)}
        if isinstance(value, SweepReport):
            data |= {"drained": value.drained, "ended": phrases.ended(value)}
        return data
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
