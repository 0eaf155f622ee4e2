"""Results go to stdout, everything else to stderr; untrusted text moves no cursor."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sweeper.errors import SweeperError
from sweeper.report.escape import terminal


class Unread(SweeperError):
    """Results that could not be printed."""


LINE = 2000  # characters of one line of progress


def _print_err(line: str) -> None:
    try:
        print(line, file=sys.stderr, flush=True)  # noqa: T201  the one place that prints progress
    except (OSError, ValueError):
        return  # nobody reads it any more; the work goes on


@dataclass
class Console:
    """Where a command speaks. `quiet`: no progress. `sink` takes a line of progress; a live view replaces it."""

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    quiet: bool = False
    verbose: bool = False
    sink: Callable[[str], None] = _print_err

    @property
    def debug(self) -> bool:
        """Whether an internal error shows its traceback."""
        return self.verbose or self.environ.get("SWEEPER_DEBUG", "") not in ("", "0")

    @property
    def interactive(self) -> bool:
        """Whether a person watches: stderr is a terminal that can move its cursor, and no CI says otherwise."""
        in_ci = self.environ.get("CI", "").lower() not in ("", "0", "false")
        return sys.stderr.isatty() and not in_ci and self.environ.get("TERM", "") not in ("", "dumb")

    @property
    def colour(self) -> bool:
        return self.interactive and not self.environ.get("NO_COLOR")

    def say(self, text: str) -> None:
        """Progress, a line or more."""
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """What is said even with --quiet."""
        for line in text.split("\n"):
            self.sink(terminal(line, LINE))

    def detail(self, text: str) -> None:
        """Progress for --verbose."""
        if self.verbose:
            self.warn(text)

    def result(self, text: str) -> None:
        """A result; its untrusted parts were escaped by who made it."""
        data = text if text.endswith("\n") else text + "\n"
        try:
            sys.stdout.buffer.write(data.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as problem:
            hint = "the work itself is done and stored: `sweeper report` prints it again"
            raise Unread(f"the results could not be written to stdout: {problem}", hint=hint) from problem
