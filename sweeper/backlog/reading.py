"""What the parsing child makes of one output: bytes in, a compact value out.

Runs inside the child on hostile bytes; the coordinator only ever sees a `Reading`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeper.backlog.formats import FORMATS, pattern, text
from sweeper.backlog.parsed import How, Parsed, Raw, clean_bytes, head, plain
from sweeper.backlog.sniff import sniff

MAX_FINDINGS = 250_000
_HEAD = 1 << 16  # bytes
_BESIDE = 100
_CRASH = re.compile(
    r"(?m)^(?:Traceback \(most recent call last\):|thread '[^\n]{0,200}' (?:\(\d+\) )?panicked at |panic: |"
    r"fatal error: |error: internal |Fatal Python error: |Segmentation fault|node:internal/|"
    r"FATAL ERROR: |Exception in thread \"|Unhandled (?:e|E)xception|terminate called |Bus error|Aborted(?: \(|$)|"
    # By a shell, which may not say it by its exit code: "lint || true", "lint | tee log".
    r"(?:\S{1,200}: line \d+: +\d+ )?(?:Killed|Terminated|Aborted|Segmentation fault|Illegal instruction)(?:$|  | *\()|"
    r"[^\n]{1,300}: (?:error: INTERNAL ERROR --|internal compiler error: )|"
    r"\S{1,200}: (?:symbol lookup error|error while loading shared libraries): )"
)
# A program that was not even started; it may be one that the check can do without.
_NOT_STARTED = (
    r"(?m)^\S{0,200}sh: (?:line )?\d+: [^\n]{1,200}: (?:(?:command )?not found|Permission denied)$"
    r"|^\S{0,200}python[\d.]*: No module named \S+$"
)


@dataclass(slots=True)
class Reading:
    """`failed`: why this says nothing at all. `crash`: the line by which a program shows that it crashed.
    `stdout` and `stderr`: their first printable lines. `blank`: stdout was empty. `nothing`: the tool's words
    for having looked at no file. `beside`: what would be findings by a place in a line, beside a document without any.
    """

    format: str = ""
    parsed: Parsed = field(default_factory=Parsed)
    blank: bool = True
    crash: str = ""
    incomplete: str = ""
    stdout: str = ""
    stderr: str = ""
    failed: str = ""
    nothing: str = ""
    beside: list[Raw] = field(default_factory=list)


def read(stdout: bytes, stderr: bytes, how: How) -> Reading:
    """Raises MemoryError, RecursionError: the child reports them."""
    stdout, stderr = clean_bytes(stdout), clean_bytes(stderr)
    other = stderr if "stderr" in how.streams else b""
    if how.pattern:
        name, parsed = pattern.NAME, pattern.parse(how.pattern, stdout, other)
    else:
        name = sniff(stdout, other, how.expected) if how.format == "auto" else how.format
        parsed = FORMATS[name or "text"].parse(stdout, other)
    if len(parsed.findings) > MAX_FINDINGS:
        return Reading(failed=f"more than {MAX_FINDINGS} findings: narrow the check to fewer rules or folders")
    texts = [_ends(data).decode("utf-8", "replace") for data in (stdout, stderr)]
    # Inside a document, text that looks like a crash is somebody's message.
    said = [texts[1], *([parsed.outside] if parsed.understood else texts[:1])]
    crash = next((match for text in said if (match := _CRASH.search(text))), None)
    partial = _first(how.incomplete, texts[1:] if parsed.findings else said)
    nothing = _first(how.nothing, said)
    beside = text.parse(parsed.outside.encode("utf-8", "surrogateescape"), b"") if parsed.understood else Parsed()
    return Reading(
        format=name,
        parsed=parsed,
        blank=not stdout.strip(),
        crash=plain(_last_line_of_crash(crash)) if crash else "",
        incomplete=parsed.incomplete or partial or _first(_NOT_STARTED, texts[1:]),
        nothing=nothing or ("the tool counts no file" if parsed.files == 0 else ""),
        stdout=head(texts[0]),
        stderr=head(texts[1]),
        beside=[] if parsed.findings else beside.findings[:_BESIDE],
    )


def _ends(data: bytes) -> bytes:
    """What a program says of itself, it says before or after its work."""
    return data if len(data) <= 2 * _HEAD else data[:_HEAD] + b"\n" + data[-_HEAD:]


def _first(expression: str, texts: Sequence[str]) -> str:
    """The first match in any of the texts, printable."""
    if not expression:
        return ""
    return next((plain(match[0], 300) for text in texts if (match := re.search(expression, text))), "")


def _last_line_of_crash(match: re.Match[str]) -> str:
    """The line that names the error: for Python the first unindented one after the traceback's head."""
    lines = match.string[match.start() :].splitlines()
    if not lines[0].startswith("Traceback"):
        return lines[0]
    return next((line for line in lines[1:] if line.strip() and not line.startswith(" ")), lines[0])


# What the coordinator asks of `Parsed` besides its findings.
_PARSED = ("understood", "unparsed", "malformed", "residue", "note", "failed", "incomplete", "files", "roots")


def to_wire(reading: Reading) -> dict[str, Any]:
    parsed = reading.parsed
    return {
        "format": reading.format,
        "findings": parsed.findings,
        "parsed": {name: getattr(parsed, name) for name in _PARSED},
        **{
            name: getattr(reading, name)
            for name in ("blank", "crash", "incomplete", "stdout", "stderr", "failed", "nothing", "beside")
        },
    }


def from_wire(value: dict[str, Any]) -> Reading:
    parsed = Parsed(findings=list(map(Raw._make, value.pop("findings"))), **value.pop("parsed"))
    return Reading(parsed=parsed, beside=list(map(Raw._make, value.pop("beside"))), **value)
