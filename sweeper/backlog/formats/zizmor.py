"""zizmor's JSON (`--format json-v1`): rows and columns are counted from 0, the primary location is the place."""

from __future__ import annotations

from typing import Any

from sweeper.backlog.formats.declared import Document
from sweeper.backlog.formats.fields import Fields, at, items, record, string
from sweeper.backlog.parsed import Parsed

NAME = "zizmor-json"
FIELDS = Fields(
    file=("path",),
    line=("start_point", "row"),
    column=("start_point", "column"),
    line_base=0,
    column_base=0,
    rule=("ident",),
    message=("desc",),
    severity=("determinations", "severity"),
    severities={"medium": "warning", "low": "info", "informational": "info", "unknown": "info"},
)


def _visit(value: Any, parsed: Parsed) -> bool:
    entry = record(value)
    locations = [record(location) for location in items(entry.get("locations"))]
    primary = next((loc for loc in locations if at(loc, ("symbolic", "kind")) == "Primary"), None)
    if primary is None or entry.get("ignored") is True:
        return primary is not None
    key = record(at(primary, ("symbolic", "key", "Local")))
    path = string(key.get("verbatim_path")) or string(key.get("given_path"))
    place = record(at(primary, ("concrete", "location")))
    found = FIELDS.ruled({**entry, **place, "path": path})
    if found is None:
        return False
    detail = string(at(primary, ("symbolic", "annotation")))
    parsed.findings.append(found._replace(message=f"{found.message}: {detail}"[:1000]) if detail else found)
    return True


DOCUMENT = Document(names=("ident", "determinations", "locations"), visit=_visit)
