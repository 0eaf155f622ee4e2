"""The files that a step writes for the runner. One that is missing or can't be written costs nothing but itself."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from sweeper.runner.summary import room
from sweeper.runner.words import output

OUTPUT = "GITHUB_OUTPUT"
SUMMARY = "GITHUB_STEP_SUMMARY"


def write_outputs(environ: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Append the outputs; what went wrong, "" if nothing."""
    text = "".join(output(name, value, _delimiter(value)) for name, value in values.items())
    return _append(environ.get(OUTPUT, ""), text)


def write_summary(environ: Mapping[str, str], made: Callable[[int], str]) -> str:
    """Append what `made` makes of the bytes that are left; what went wrong, "" if nothing."""
    path = environ.get(SUMMARY, "")
    if not path:
        return ""
    try:
        there = os.stat(path).st_size
    except FileNotFoundError:
        there = 0
    except OSError as problem:
        return f"{path}: {problem.strerror}"
    text = made(room(there + 1))
    return _append(path, f"{text}\n" if text and not text.endswith("\n") else text)


def write_report(environ: Mapping[str, str], document: str) -> str:
    """The path of a new file with the report in it, in the job's own temporary folder. Raises OSError."""
    folder = environ.get("RUNNER_TEMP") or tempfile.gettempdir()
    Path(folder).mkdir(parents=True, exist_ok=True)
    handle, path = tempfile.mkstemp(prefix="sweeper-report-", suffix=".json", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(document)
    return path


def _delimiter(text: str) -> str:
    """A line that nobody could have foreseen, so that no value ends itself and begins another."""
    while (made := f"sweeper_{secrets.token_hex(16)}") in text:
        pass
    return made


def _append(path: str, text: str) -> str:
    if not path or not text:
        return ""
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as problem:
        return f"{path}: {problem.strerror}"
    return ""
