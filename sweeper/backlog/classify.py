"""Clean, findings or broken: from the exit code *and* what was parsed. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sweeper.backlog.formats import FORMATS
from sweeper.backlog.parsed import FATAL, IGNORED, SYNTAX, Raw
from sweeper.backlog.paths import Resolver, foreign_checkout, hangs
from sweeper.backlog.reading import Reading
from sweeper.backlog.tools import Tool
from sweeper.records import CheckResult, CheckState, Finding, Listing, Severity, Skip, SkipReason
from sweeper.sandbox.contract import WORK

_SEVERITIES = {severity.value: severity for severity in Severity}
# What `timeout`, a shell and an init end with when the program ran out of its time, could not be started, or was ended
# by a signal that a program doesn't choose for itself.
_NOT_ITS_OWN = {124: "it ran out of time", 125: "it could not be started", 126: "it could not be started"} | {
    127: "it was not found",
    **{128 + number: f"it was ended by signal {number}" for number in (1, 2, 3, 4, 6, 7, 8, 9, 11, 13, 15, 24, 25, 31)},
}
MISSING_SHARE = 0.2  # of the distinct paths; above it the paths were not paths


def classify(
    reading: Reading,
    *,
    exit_code: int | None,
    signal: int | None,
    truncated: bool,
    tool: Tool,
    root: str,
    listing: Listing | None,
    checkouts: Sequence[str] = (WORK,),
    foreign: bool = False,
) -> CheckResult:
    """What one run of a check said.

    Neither exit code nor signal: an output that somebody else recorded, judged by its content alone.
    `foreign`: it ran in a checkout elsewhere, whose directory may be guessed.
    """
    if exit_code in tool.partial:
        reading.incomplete = reading.incomplete or f"exit code {exit_code} says that not everything was looked at"
    meaning = tool.exit_codes.get(exit_code) if exit_code is not None else None
    why = _broken(reading, exit_code, signal, truncated, meaning)
    if why:
        return _result(CheckState.BROKEN, reading, why=why)
    return _placed(reading, tool, root, listing, checkouts, foreign)


def _broken(
    reading: Reading, exit_code: int | None, signal: int | None, truncated: bool, meaning: CheckState | None
) -> str:
    """Why this run proves nothing, "" if it may be believed."""
    parsed = reading.parsed
    ended = f"exit code {exit_code}" if exit_code is not None else "of unknown exit code"
    if truncated:
        return "the check's output was cut off at the size limit: narrow the check, or raise sandbox.output"
    if signal is not None:
        return _quote(f"the check was ended by signal {signal}", reading)
    if reading.failed or parsed.failed:
        return _quote(f"the check's output was not understood ({ended}): {reading.failed or parsed.failed}", reading)
    if meaning is CheckState.BROKEN:
        return _quote(f"the check failed ({ended})", reading)
    if reading.crash and exit_code != 0:
        return _quote(f"the check crashed ({ended}): {reading.crash}", reading)
    if exit_code in _NOT_ITS_OWN and meaning is None and exit_code != len(parsed.findings) % 256:
        return _quote(f"the check failed (exit code {exit_code}): {_NOT_ITS_OWN[exit_code]}", reading)
    if parsed.malformed * 5 > parsed.malformed + len(parsed.findings):
        return _quote(
            f"the linter's format seems to have changed: {parsed.malformed} results have no known shape", reading
        )
    if any(item.kind != FATAL for item in parsed.findings):
        return ""
    return _without_findings(reading, exit_code, meaning, ended)


def _without_findings(reading: Reading, exit_code: int | None, meaning: CheckState | None, ended: str) -> str:
    parsed = reading.parsed
    if parsed.findings:
        return _quote(f"the check could not do its work ({ended}): {parsed.findings[0].message}", reading)
    if reading.nothing:
        return _quote(f"the check looked at no file ({ended}): {reading.nothing}", reading)
    if (exit_code == 0 and not parsed.residue) or (exit_code in (0, None) and parsed.understood):
        return ""
    if exit_code == 0:
        return _quote("the check ended with exit code 0, but its output was not understood", reading)
    if exit_code is None:
        return _quote("nothing in this output was understood, neither a finding nor that there are none", reading)
    says = (
        "says that there are findings" if meaning is CheckState.FINDINGS else "is not one that this tool is known for"
    )
    why = f"{ended} {says}, but none was understood in the output"
    return _quote(f"{why}: {reading.incomplete}" if reading.incomplete else why, reading)


def _quote(why: str, reading: Reading) -> str:
    said = reading.stderr or reading.stdout
    return f"{why}\n{said}" if said else f"{why}; the check printed nothing"


def _placed(
    reading: Reading, tool: Tool, root: str, listing: Listing | None, checkouts: Sequence[str], foreign: bool
) -> CheckResult:
    raws = reading.parsed.findings
    paths = {item.path for item in raws}
    checkouts = (*checkouts, *reading.parsed.roots)
    resolver = Resolver(
        root=root,
        listing=listing,
        checkouts=checkouts,
        foreign=foreign_checkout(paths, listing, root) if foreign and listing is not None else ("", ""),
        hanging=listing is not None and hangs(paths, listing, checkouts),
    )
    findings: dict[tuple[str, int, int, str, str], Finding] = {}
    skips: Counter[tuple[str, SkipReason]] = Counter()
    missing: dict[str, Raw] = {}
    unparsable: dict[str, str] = {}
    counted_from = 1 if reading.format in FORMATS and not FORMATS[reading.format].printed_columns else tool.column_base
    for item in raws:
        if item.kind == FATAL:
            reading.incomplete = reading.incomplete or f"{item.path}: {item.message}"
            continue
        path, reason = resolver.resolve(item.path)
        if item.kind == IGNORED:
            reason = SkipReason.LINTER_IGNORED  # wherever it lies: the file may be git-ignored as well
        elif reason is None and item.kind == SYNTAX:
            reason = SkipReason.NOT_PARSED
            unparsable.setdefault(path, f"{item.line}:{item.column}: {item.message}")
        if reason is SkipReason.MISSING:
            missing.setdefault(item.path, item)
        if reason is not None:
            skips[path, reason] += 1
            continue
        column = item.column + 1 - counted_from if item.line else 0
        key = (path, item.line, column, item.rule, item.message)
        if key not in findings:
            findings[key] = Finding(*key, _SEVERITIES[item.severity])
    if len(missing) > MISSING_SHARE * len(paths):
        return _result(CheckState.BROKEN, reading, why=_why_missing(missing, len(paths), foreign))
    other = next((item for item in reading.beside if resolver.resolve(item.path)[1] is None), None)
    if other is not None:
        why = f"beside a document without findings something is said of {other.path}:{other.line}: {other.message}"
        return _result(CheckState.BROKEN, reading, why=why)
    found = bool(findings) or any(reason is not SkipReason.LINTER_IGNORED for _, reason in skips)
    return _result(
        CheckState.FINDINGS if found else CheckState.CLEAN,
        reading,
        findings=tuple(findings[key] for key in sorted(findings)),
        skips=tuple(Skip(path, reason, count) for (path, reason), count in sorted(skips.items())),
        unparsable=unparsable,
    )


def _why_missing(missing: dict[str, Raw], paths: int, foreign: bool) -> str:
    example = missing[min(missing)]
    if foreign:
        return (
            f"{len(missing)} of {paths} paths are not in the tree, for example {example.path!r}, line {example.line}: "
            "it was made of another commit, in another folder (the sweep's root), or its format is another one"
        )
    if example.kind == SYNTAX:
        return f"the check could not read {example.path!r}, which is not in the tree: {example.message}"
    return (
        f"the linter's format seems to have changed: {len(missing)} of {paths} paths are not in the tree, "
        f"for example {example.path!r}, line {example.line}: {example.message}"
    )


def _result(
    state: CheckState,
    reading: Reading,
    *,
    findings: tuple[Finding, ...] = (),
    skips: tuple[Skip, ...] = (),
    why: str = "",
    unparsable: Mapping[str, str] | None = None,
) -> CheckResult:
    crash = f"the tool crashed on the way: {reading.crash}" if reading.crash else ""
    return CheckResult(
        state=state,
        findings=findings,
        skips=skips,
        unparsed=reading.parsed.unparsed,
        why=why,
        incomplete="" if state is CheckState.BROKEN else reading.incomplete or crash,
        format=reading.format,
        unparsable=unparsable or {},
    )
