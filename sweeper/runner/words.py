"""The runner's own language: commands in the log, and the files that a step writes for it. Pure.

A command is one line `::name key=value,...::data`. Untrusted text may become data or a value of one, never a line of
its own: everything else that is printed stands between `stop-commands` and its token.
"""

from __future__ import annotations

from dataclasses import dataclass

from sweeper.report.escape import terminal

KINDS = ("error", "warning", "notice")
MOST = 10  # annotations of one kind that GitHub shows of one step
MESSAGE = 1000  # characters


@dataclass(frozen=True, slots=True)
class Annotation:
    """`kind`: error | warning | notice. `path`: from the repository's top, "" for none; `line`: from 1, 0 for none.

    `message`: lines of untrusted text.
    """

    kind: str
    message: str
    title: str = ""
    path: str = ""
    line: int = 0


def data(text: str) -> str:
    """Text as the data of a command: one line, and nothing in it ends it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def value(text: str) -> str:
    """Text as a value of a command."""
    return data(text).replace(":", "%3A").replace(",", "%2C")


def command(annotation: Annotation) -> str:
    """One annotation as a line of the log."""
    given = {
        "title": value(terminal(annotation.title)) if annotation.title else "",
        "file": value(terminal(annotation.path, len(annotation.path) + 1)) if annotation.path else "",
        "line": str(annotation.line) if annotation.path and annotation.line > 0 else "",
    }
    keys = ",".join(f"{name}={text}" for name, text in given.items() if text)
    said = "\n".join(terminal(line, MESSAGE) for line in annotation.message.split("\n"))
    return f"::{annotation.kind}{' ' if keys else ''}{keys}::{data(said)}"


def commands(annotations: list[Annotation]) -> list[str]:
    """At most ten lines a kind, the first ones; where there are more the tenth says how many were left out."""
    lines: list[str] = []
    for kind in KINDS:
        own = [each for each in annotations if each.kind == kind]
        if len(own) > MOST:
            left = len(own) - MOST + 1
            own = [*own[: MOST - 1], Annotation(kind, f"and {left:,} more: the step's summary and report have them")]
        lines += map(command, own)
    return lines


def stop(token: str) -> str:
    """From this line on nothing in the log is a command, until `start` with the same token."""
    return f"::stop-commands::{token}"


def start(token: str) -> str:
    return f"::{token}::"


def output(name: str, text: str, delimiter: str) -> str:
    """One output for the runner's file. Raises ValueError if the value has the delimiter in it."""
    if delimiter in text or not delimiter:
        raise ValueError(f"the delimiter occurs in the output {name}")
    return f"{name}<<{delimiter}\n{text}\n{delimiter}\n"
