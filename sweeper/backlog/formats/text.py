"""`file:line[:column]: message`, with whatever the tools put into the message: severity, rule."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from sweeper.backlog.formats.lines import each_line
from sweeper.backlog.formats.residue import leftover, says_nothing_found
from sweeper.backlog.parsed import SYNTAX, SYNTAX_RULES, Parsed, Raw, plain, raw, strip_ansi

NAME = "text"

# Anchored on the first ":<digits>" from the left that a message follows; a drive letter is part of the path.
_PLACE = re.compile(
    r"^(?P<path>(?:[A-Za-z]:[\\/])?[^\r\n]+?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9})(?::\d{1,9}:\d{1,9}(?=:))?)?"
    r"(?:-\d{1,9}(?::\d{1,9})?)?:(?P<rest>(?!\d{1,9}(?:\s|$)).*)$"
)
# An URL, the place in rustc's and ruff's blocks of several lines, a continuation, a document.
_NOT_A_PLACE = re.compile(
    r"^(?!file:)[A-Za-z][A-Za-z0-9+.-]*://|^\s*-->|^\t|^\s*(?:\{\s*\"|\[\s*[{\"]|<(?![\w -]+>:\d)|\"[\w$-]+\": )"
)
_INDENTED = re.compile(  # pyright's
    r"^ +(?P<path>\S.*?):(?P<line>\d{1,9}):(?P<column>\d{1,9})(?P<rest> - (?:error|warning|information)\b.*)$"
)
_NOTED = re.compile(r"\[[A-Z]{1,4}\d{3,5}\]$")  # ShellCheck calls its mildest findings notes
_LEVEL_FIRST = re.compile(r"^\[?(ERROR|WARN|WARNING|INFO)\]? +(?=\S)")
_BARE_PLACE = re.compile(
    r"^(?P<path>(?:[A-Za-z]:[\\/])?[^\s:]+):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?(?P<rest>\s.*)$"
)
_SEVERITY = re.compile(
    r"^(?:- )?(?:fatal )?(?:(error|warning|note|info|hint|help|information)\b|"
    r"\[(?:error|warning|info)\](?=\s))\s*(?:\[([\w./-]+)\])?:?\s+",
    re.I,
)
_BRACKETED = re.compile(r"^\[([A-Za-z][\w./-]*)(?:\([\w-]+\))?(?:, ?[^\]]*)?\]:?\s+")
_CODE = re.compile(r"^([A-Z]{1,10}[0-9]{1,6}|[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?=:))\b:?\s+(?:\[\*\]\s+)?")
_PREFIXED = re.compile(r"^[CRWEFI]:\s?(?:\[Correct(?:able|ed)\] )?([a-z][a-z0-9-]*|[A-Z]\w*(?:/\w+)+):\s+")
_TRAILING = re.compile(
    r"\s+(?:\[(?:-Werror,)?(-W[\w+=-]+|[A-Za-z][\w./+=@-]*(?:\([\w./@-]+\))?)(?:,[\w./+=@,-]+)?\]|\(([a-z][a-z0-9]*(?:[-/][a-z0-9]+)+|report[A-Z][A-Za-z]+)\))$"
)
_LEVEL_LAST = re.compile(r"\s+\[(error|warning|info)\]$")  # stylelint's `unix`
_LEVEL_OF_RULE = re.compile(r"^(error|warning)/(?=.)", re.I)  # ESLint's and oxlint's `unix`
_LEVEL = {"error": "error", "warning": "warning", "warn": "warning"}
_VET = "vet: "  # go vet's own prefix for code that doesn't compile
_ASIDE = frozenset({"note", "hint", "help"})


_ENTERING = re.compile(r"^\w+(?:\[\d+\])?: (Entering|Leaving) directory [`'](.+)'$")
_NOTE = re.compile(r"\s*note\b", re.I)
# What is no chatter even on stderr: a document that no format knows, the block of a diagnostic.
_DOCUMENT = re.compile(
    rb"^\s*(?:<\?xml\b|<[A-Za-z][\w-]*(?:\s[^<>\n]*)?>\s*$|[\[{]\s*[\"{\[]|-->\s*\S+?:\d+)[^\n]*", re.MULTILINE
)


def looks_like(text: str) -> bool:
    return any(_place(line) for line in text.splitlines())


def render(found: Raw) -> str:
    """One finding as a line that `parse` reads back."""
    column = f":{found.column}" if found.column else ""
    rule = f"[{found.rule}] " if found.rule else ""
    return f"{found.path}:{found.line}{column}: {found.severity}: {rule}{found.message}"


def _place(line: str) -> re.Match[str] | None:
    match = _PLACE.match(line) or _BARE_PLACE.match(line)
    if match is None or _NOT_A_PLACE.match(line):
        return _INDENTED.match(line)
    return match


def _rule(rest: str) -> tuple[str, str]:
    for pattern in (_BRACKETED, _PREFIXED, _CODE):
        match = pattern.match(rest)
        if match:
            return match[1], rest[match.end() :]
    match = _TRAILING.search(rest)
    return (match[1] or match[2], rest[: match.start()]) if match else ("", rest)


def parse(stdout: bytes, stderr: bytes) -> Parsed:
    """Findings of stdout, of stderr if stdout had none. Notes belong to the error before them and are no findings."""
    parsed = _lines(stdout)
    if not parsed.findings and stderr:
        other = _lines(stderr)
        parsed.findings = other.findings
        document = _DOCUMENT.search(strip_ansi(stderr))
        if document and not parsed.residue:
            parsed.residue = plain(document[0].decode("utf-8", "replace"), 200)
    return parsed


def _lines(data: bytes) -> Parsed:
    parsed = Parsed()
    notes: list[str] = []

    folders: list[str] = []

    def others() -> Iterator[str]:
        for line in each_line(data):
            match = _place(line)
            if match is None:
                _follow(line, folders)
                yield line
            elif not _add(match, parsed, folders):
                if _NOTE.match(match["rest"]):
                    notes.append(plain(line, 200))
                else:
                    yield line

    leftover(parsed, others())
    parsed.unparsed += len(notes)
    if notes and not says_nothing_found(parsed.outside):  # of notes alone nobody knows what they are about
        parsed.residue = parsed.residue or notes[0]
    return parsed


def _follow(line: str, folders: list[str]) -> None:
    """Go with make into a folder and out of it again: what it starts there prints paths from there."""
    if entering := _ENTERING.match(line):
        if entering[1] == "Entering":
            folders.append(entering[2])
        elif folders:
            folders.pop()


def _add(match: re.Match[str], parsed: Parsed, folders: list[str]) -> bool:
    """Take a line with a place as a finding, or as a part of the one before it; False if it is neither."""
    path = match["path"].strip()
    message = match["rest"].strip()
    severity = "error"
    rule = ""
    if path.startswith(_VET):
        path, rule = path[len(_VET) :], "typecheck"
    first = _LEVEL_FIRST.match(path)
    if first:
        path, severity = path[first.end() :], _LEVEL.get(first[1].lower(), "info")
    if folders:
        path = posixpath.join(folders[-1], path)
    level = _SEVERITY.match(message)
    if level:
        word = (level[1] or level[0].strip("- []\t")).lower()
        if word in _ASIDE and not _NOTED.search(message):
            return bool(parsed.findings) and parsed.findings[-1].path == path
        severity = _LEVEL.get(word, "info")
        rule = level[2] or ""
        message = message[level.end() :]
    message = message.removeprefix("- ")
    last = _LEVEL_LAST.search(message)
    if last:
        severity, message = _LEVEL.get(last[1], "info"), message[: last.start()]
    if not rule:
        rule, message = _rule(message)
    level_of_rule = _LEVEL_OF_RULE.match(rule)
    if level_of_rule:
        severity, rule = _LEVEL[level_of_rule[1].lower()], rule[level_of_rule.end() :]
    if not message and rule not in SYNTAX_RULES and not match["rest"].strip():
        return False
    kind = SYNTAX if level and "fatal" in level[0].lower() else ""  # a compiler's: it looked at nothing that follows
    parsed.findings.append(raw(path, int(match["line"]), int(match["column"] or 0), rule, message, severity, kind))
    return True
