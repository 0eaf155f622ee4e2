"""cargo's JSON lines (`--message-format json`) with the diagnostics of rustc and Clippy."""

from __future__ import annotations

import re
from typing import Any

from sweeper.backlog.formats.declared import Lines
from sweeper.backlog.formats.fields import record, string
from sweeper.backlog.parsed import Parsed, plain, raw

NAME = "cargo-json"
_SEVERITY = {"error": "error", "error: internal compiler error": "error", "warning": "warning"}
_COMPILER_CODE = re.compile(r"E\d{4}")
_OTHER_REASONS = frozenset(
    {"compiler-artifact", "build-script-executed", "build-finished", "timing-info", "future-incompat-report"}
)
_MAX_EXPANSIONS = 64
_NOT_COMPILED = "the project does not compile: "
_BUILD_FAILED = "cargo reports that the build failed"
_SUMMARY = re.compile(r"^aborting due to |\bwarnings? emitted$|\bgenerated \d+ warnings?\b")


def _visit(value: Any, parsed: Parsed) -> bool:
    reason = record(value).get("reason")
    if not isinstance(reason, str):
        return False
    if reason == "build-finished":
        parsed.ended = True
        if value.get("success") is not True:
            parsed.failed = parsed.failed or _BUILD_FAILED
    if reason != "compiler-message":
        return reason in _OTHER_REASONS
    message = record(value.get("message"))
    level, text = message.get("level"), message.get("message")
    if not isinstance(level, str) or not isinstance(text, str) or not isinstance(message.get("spans"), list):
        return False
    spans = [record(span) for span in message["spans"]]
    if level not in _SEVERITY:
        return True
    if not spans:
        _nowhere(level, text, parsed)
        return True
    span = next((span for span in spans if span.get("is_primary") is True), spans[0])
    code = string(record(message.get("code")).get("code"))
    if level != "warning" and (not code or _COMPILER_CODE.fullmatch(code)):
        parsed.incomplete = parsed.incomplete or _NOT_COMPILED + plain(text, 200)
    place = _written(span)
    if not isinstance(place.get("file_name"), str):
        return False
    line, column = place.get("line_start"), place.get("column_start")
    parsed.findings.append(raw(place["file_name"], line, column, code, text, _SEVERITY[level]))
    return True


def _nowhere(level: str, text: str, parsed: Parsed) -> None:
    """What the compiler says of no place: of its own run, or of the crate as a whole."""
    if _SUMMARY.search(text):
        return
    if level == "warning":
        parsed.findings.append(raw("", 0, 0, "", text, "warning"))
    else:
        parsed.incomplete = parsed.incomplete or _NOT_COMPILED + plain(text, 200)


def _written(span: dict[str, Any]) -> dict[str, Any]:
    """Where the text is that the lint is about: a macro of another crate, if it comes from one."""
    expansion = record(span.get("expansion"))
    for _ in range(_MAX_EXPANSIONS):
        if not expansion:
            break
        definition = record(expansion.get("def_site_span"))
        if string(definition.get("file_name")).startswith("/"):
            return definition
        expansion = record(record(expansion.get("span")).get("expansion"))
    return span


def _finish(parsed: Parsed) -> None:
    """Lints that are denied fail the build too: then the findings say why. Cargo's last line tells that it ended."""
    if parsed.failed == _BUILD_FAILED and any(found.path for found in parsed.findings):
        parsed.failed = ""
    if not parsed.ended:
        parsed.incomplete = parsed.incomplete or "cargo did not say that it came to its end"


LINES = Lines(names=("reason",), visit=_visit, finish=_finish)
