"""SARIF 2.1: runs, results, artifact locations with base ids."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any
from urllib.parse import unquote_to_bytes

from sweeper.backlog.formats import documents
from sweeper.backlog.formats.fields import at, items, record, string
from sweeper.backlog.formats.residue import around, count, no_document
from sweeper.backlog.parsed import MAX_PATH, Parsed, Raw, plain, raw, strip_ansi

NAME = "sarif"
_SEVERITY = {"error": "error", "warning": "warning", "note": "info", "none": "info"}
_NOTIFICATIONS = ("toolExecutionNotifications", "toolConfigurationNotifications")
# By these names tools speak of the directory that was looked at.
_ROOTS = frozenset({"ROOT", "SRCROOT", "SOURCEROOT", "PROJECTROOT", "REPOROOT", "REPOSITORYROOT"})
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")
_DRIVE = re.compile(r"^/[A-Za-z]:(?:/|$)")


def looks_like(text: str) -> bool:
    return '"runs"' in text and ('"version"' in text or "sarif" in text)


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    parsed = Parsed()
    text = strip_ansi(stdout).decode("utf-8", "surrogateescape")
    logs: list[dict[str, Any]] = []

    def read(text: str, start: int) -> int | None:
        value, end = documents.decode(text, start)
        if not isinstance(value, dict) or not isinstance(value.get("runs"), list):
            return None
        logs.append(value)
        return end

    try:
        texts = documents.find(text, read)
        if texts is None and stderr:
            text = strip_ansi(stderr).decode("utf-8", "surrogateescape")
            texts = documents.find(text, read)
    except documents.Broken as error:
        return Parsed(failed=str(error), unparsed=count(text))
    if texts is None:
        return no_document(strip_ansi(stdout + b"\n" + stderr).decode("utf-8", "surrogateescape"))
    for log in logs:
        for run in log["runs"]:
            if isinstance(run, dict):
                _run(run, parsed)
            else:
                parsed.malformed += 1
        if not log["runs"]:
            parsed.failed = "the SARIF log has no run in it"
    parsed.understood = parsed.malformed == 0
    parsed.unparsed = parsed.malformed
    return around(parsed, *texts)


def _run(run: dict[str, Any], parsed: Parsed) -> None:
    rules = items(at(run, ("tool", "driver", "rules")))
    parsed.roots += islice(_roots(run), 20)
    if items(at(run, ("externalPropertyFileReferences", "results"))):
        parsed.failed = parsed.failed or "the SARIF log keeps results in other files"
    if "results" not in run:
        parsed.failed = parsed.failed or "the SARIF log has a run that looked for no results"
    elif run["results"] is not None and not isinstance(run["results"], list):
        documents.malformed(parsed, run["results"])
    for result in items(run.get("results")):
        if not isinstance(result, dict) or not isinstance(result.get("message"), dict):
            documents.malformed(parsed, result)
        elif not _not_a_finding(result):
            parsed.findings.append(_result(result, run, rules))
    for invocation in map(record, items(run.get("invocations"))):
        if invocation.get("executionSuccessful") is False:
            parsed.failed = parsed.failed or "the tool reports that its execution was not successful"
        notes = [items(invocation.get(name)) for name in _NOTIFICATIONS]
        for note in chain.from_iterable(notes):
            if record(note).get("level") == "error":
                parsed.incomplete = parsed.incomplete or plain(_text(record(note).get("message"), {}), 300)


def _roots(run: dict[str, Any]) -> Iterator[str]:
    for name, base in record(run.get("originalUriBaseIds")).items():
        place = string(record(base).get("uri"))
        if name.strip("%").replace("_", "").upper() in _ROOTS and place.startswith("file:"):
            yield uri_to_path(place)[:MAX_PATH]


def _not_a_finding(result: dict[str, Any]) -> bool:
    if result.get("kind", "fail") not in ("fail", "open", "review") or result.get("baselineState") == "absent":
        return True
    suppressions = [record(item) for item in items(result.get("suppressions"))]
    return bool(suppressions) and all(item.get("status", "accepted") == "accepted" for item in suppressions)


def _result(result: dict[str, Any], run: dict[str, Any], rules: list[Any]) -> Raw:
    reference = record(result.get("rule"))
    component = at(reference, ("toolComponent", "index"))
    extensions = items(at(run, ("tool", "extensions")))
    if type(component) is int and 0 <= component < len(extensions):
        rules = items(record(extensions[component]).get("rules"))
    index = result.get("ruleIndex", reference.get("index"))
    rule = record(rules[index]) if type(index) is int and 0 <= index < len(rules) else {}
    name = result.get("ruleId") or reference.get("id") or rule.get("id")
    if not rule:
        rule = next((record(r) for r in rules if record(r).get("id") == name), {}) if "level" not in result else {}
    level = result.get("level") or record(rule.get("defaultConfiguration")).get("level") or "warning"
    places = [record(record(location).get("physicalLocation")) for location in items(result.get("locations"))]
    physical = next(filter(None, places), {})
    region = record(physical.get("region"))
    return raw(
        _path(record(physical.get("artifactLocation")), run),
        region.get("startLine"),
        region.get("startColumn"),
        name if isinstance(name, str) else "",
        _text(result.get("message"), rule),
        _SEVERITY.get(level, "warning") if isinstance(level, str) else "warning",
    )


def _text(message: Any, rule: dict[str, Any]) -> str:
    message = record(message)
    text = message.get("text") or message.get("markdown")
    if not isinstance(text, str):
        known = record(record(rule.get("messageStrings")).get(str(message.get("id"))))
        text = known.get("text") if isinstance(known.get("text"), str) else str(message.get("id") or "")
    for position, value in enumerate(items(message.get("arguments"))[:20]):
        text = text[:4000].replace(f"{{{position}}}", str(value)[:1000])
    return str(text)


def _path(location: dict[str, Any], run: dict[str, Any]) -> str:
    """The path that an artifact location names: decoded exactly once, base ids resolved."""
    if "uri" not in location and type(location.get("index")) is int:
        artifacts = items(run.get("artifacts"))
        if 0 <= location["index"] < len(artifacts):
            location = record(record(artifacts[location["index"]]).get("location"))
    bases = record(run.get("originalUriBaseIds"))
    uri = location.get("uri")
    parts = [uri if isinstance(uri, str) else ""]
    base = location.get("uriBaseId")
    seen: set[str] = set()
    while parts[0] and not _is_absolute(parts[0]) and isinstance(base, str) and base in bases and base not in seen:
        seen.add(base)
        entry = record(bases[base])
        if isinstance(entry.get("uri"), str):
            parts.insert(0, entry["uri"])
        base = entry.get("uriBaseId")
    names = [uri_to_path(part) for part in parts if part]
    return "".join(name if name.endswith("/") or at == len(names) - 1 else name + "/" for at, name in enumerate(names))


def _is_absolute(uri: str) -> bool:
    return uri.startswith(("file:/", "/")) or (bool(_SCHEME.match(uri)) and not uri.startswith("file:"))


def uri_to_path(uri: str) -> str:
    """A file URI or relative reference as a path, percent-decoded exactly once. Other schemes stay as they are."""
    scheme = _SCHEME.match(uri)
    if scheme and scheme[1].lower() != "file" and "://" in uri:
        return uri
    rest = uri[5:] if scheme and scheme[1].lower() == "file" else uri
    if rest.startswith("//"):
        rest = "/" + rest[2:].partition("/")[2]
    path = os.fsdecode(unquote_to_bytes(rest.encode("utf-8", "surrogateescape")))
    return path[1:] if _DRIVE.match(path) else path
