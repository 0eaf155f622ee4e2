"""What a format's parser hands back, and the cleaning of hostile text.

Imported by the parsing child, so it imports nothing of the package and little of the library.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

FINDING = "finding"
SYNTAX = "syntax"  # the file does not parse: not a rule that anybody can fix by its rule
IGNORED = "ignored"  # the linter says that it ignored the file
FATAL = "fatal"  # the linter says that it failed on the file: nobody's finding, and not everything was looked at

MAX_MESSAGE = 1000  # characters
MAX_RULE = 200
MAX_PATH = 4096
MAX_NUMBER = 2**31 - 1
HEAD_LINES = 10

# Rules by which linters say "this file could not be read or parsed".
SYNTAX_RULES = frozenset(
    {"invalid-syntax", "syntax-error", "syntax", "parse-error", "parsing-error", "io-error", "E902", "E999", "E0001"}
    | {"parse", "typecheck", "CssSyntaxError", "Lint/Syntax", "PRS", "LXR", "TMP", "syntaxError", "internalAstError"}
    | {"internalError", "cppcheckError", "unknownMacro", "preprocessorErrorDirective", "clang-diagnostic-error"}
)
_FATAL_RULE = re.compile(r"F\d{4}")  # pylint's; pyflakes has three digits

# CSI sequences, OSC sequences (OSC-8 links among them, ended by BEL or ST), and two-byte escapes.
_ANSI = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")
_ANSI_TEXT = re.compile(_ANSI.pattern.decode("ascii"))
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SPACES = re.compile(r"\s+")


class Raw(NamedTuple):
    """One result as the tool printed it. `line` and `column` are the tool's numbers, 0 where it gave none."""

    path: str
    line: int
    column: int
    rule: str
    message: str
    severity: str = "error"  # error | warning | info
    kind: str = FINDING


@dataclass(slots=True)
class Parsed:
    """The content of one output.

    `understood`: a whole document of this format was there, so that "no findings" can be believed.
    `unparsed` counts lines (or elements of a document) that were not understood, `malformed` those of them
    that lie inside a document; `residue` is the first line that was not understood and looks like a finding.
    `files`: how many files the tool says it looked at, None where it doesn't say. `roots`: directories that it
    names as the one that it looked at.
    `note` and `outside`, which is longer and keeps its lines, are text around a document. `failed` is the tool's own
    word that it failed, `ended` that it came to its end, `incomplete` that it did not look at everything.
    """

    findings: list[Raw] = field(default_factory=list)
    understood: bool = False
    unparsed: int = 0
    malformed: int = 0
    residue: str = ""
    note: str = ""
    outside: str = ""
    failed: str = ""
    incomplete: str = ""
    files: int | None = None
    ended: bool = False
    roots: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class How:
    """How one output is to be read; it crosses into the child as JSON.

    `format`: a name of the table or "auto". `pattern`: the user's own, for text. `streams`, `incomplete`,
    `nothing`, `expected` (the tool's own format): from the tool's row.
    """

    format: str = "auto"
    pattern: str = ""
    streams: Sequence[str] = ("stdout", "stderr")
    incomplete: str = ""
    nothing: str = ""
    expected: str = ""


def strip_ansi(data: bytes) -> bytes:
    return _ANSI.sub(b"", data) if b"\x1b" in data else data


def clean_bytes(data: bytes) -> bytes:
    """UTF-8 without escapes, whose lines end as lines do.

    What a shell redirected may be UTF-16 (PowerShell's, told by its byte order mark); what follows a lone carriage
    return took the place of what stood before it (a progress bar) and is a line of its own.
    """
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and not data.startswith(codecs.BOM_UTF32_LE):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    data = strip_ansi(data)
    return _LONE_RETURN.sub(b"\n", data) if b"\r" in data else data


def plain(text: str, limit: int = MAX_MESSAGE) -> str:
    """One line of printable text: no escapes, control characters or lone surrogates, at most `limit` long."""
    if len(text) <= limit and text.isprintable() and "  " not in text:
        return text.strip()
    text = _ANSI_TEXT.sub("", text[: limit * 4]) if "\x1b" in text else text[: limit * 4]
    text = _SPACES.sub(" ", _CONTROL.sub(" ", text)).strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def head(text: str) -> str:
    """The first lines of what a tool said, each printable, for an error message."""
    printable = (plain(line, 200) for line in text[:4000].splitlines())
    return "\n".join(islice((line for line in printable if line), HEAD_LINES))


def number(value: object) -> int:
    """A line or column: a whole number within bounds, 0 for anything else."""
    found = whole(value)
    return found if found is not None and 0 <= found <= MAX_NUMBER else 0


def whole(value: object) -> int | None:
    """A whole number, which some tools print as text or with a fraction of 0; None for anything else."""
    if type(value) is int:
        return value
    if type(value) is str and value.isascii() and value.isdigit() and len(value) < 12:
        return int(value)
    return int(value) if type(value) is float and value.is_integer() else None


def raw(path: str, line: object, column: object, rule: str, message: str, severity: str, kind: str = "") -> Raw:
    """A `Raw` within its bounds; the kind follows from the rule unless the tool named it."""
    rule = plain(rule, MAX_RULE)
    if not kind:
        kind = SYNTAX if rule in SYNTAX_RULES else FATAL if _FATAL_RULE.fullmatch(rule) else FINDING
    return Raw(path[:MAX_PATH], number(line), number(column), rule, plain(message), severity, kind)
