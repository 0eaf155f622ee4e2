"""The way in: runs a command and turns whatever ends it into an exit code and a message."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from sweeper.cli.console import Console, Unread
from sweeper.cli.group import sweeper
from sweeper.errors import SweeperError, first_of

INTERNAL = 70
PIPE_CLOSED = 128 + signal.SIGPIPE
INTERRUPTED = 128 + signal.SIGINT
DESCRIPTORS = 4096


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (without the program's name); the exit code."""
    open_streams()
    raise_limits()
    console = Console()
    try:
        code = sweeper.main(args=argv, prog_name="sweeper", standalone_mode=False, obj=console)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Whoever read our results has gone (click turns that into an exit of its own, with the code of remaining
        # findings); the interpreter must not complain about it once more at its end.
        give_up_stdout()
        return PIPE_CLOSED
    except Unread as problem:
        give_up_stdout()
        return failed(problem, console)
    except Exception as problem:
        return failed(problem, console)


def open_streams() -> None:
    """Give every standard stream that was closed for us the null device.

    Otherwise the next file that is opened, the ledger perhaps, gets its number, and what is printed goes into it.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def raise_limits() -> None:
    """Take as many descriptors as many slots need, where the usual limit is lower than what we may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # it may be forbidden, and was only for safety
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def give_up_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def failed(problem: Exception, console: Console) -> int:
    """Say what went wrong and how to go on; the exit code."""
    cause = known(problem)
    if console.debug:
        import traceback

        console.warn("".join(traceback.format_exception(problem)).rstrip())
    if cause is not None:
        console.warn(f"sweeper: {cause}")
        for line in cause.hint.splitlines():
            console.warn(f"  {line}")
        return cause.exit_code
    raised = first_of(problem)
    console.warn(f"sweeper: internal error: {type(raised).__name__}: {raised}")
    if not console.debug:
        console.warn("  SWEEPER_DEBUG=1 shows where")
    return INTERNAL


def known(problem: BaseException) -> SweeperError | None:
    """The error that a person can act on, also out of a group of several tasks' errors."""
    if isinstance(problem, SweeperError):
        return problem
    if isinstance(problem, BaseExceptionGroup):
        return next((found for inner in problem.exceptions if (found := known(inner))), None)
    return None
