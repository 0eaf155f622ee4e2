"""Every error that may end a command, with its exit code, and the sandbox's own failures.

An error that a user can meet names the input, the place and the way out: `SweeperError(what, hint=way_out)`.
"""

from __future__ import annotations

from typing import overload


class SweeperError(Exception):
    """An error with an exit code; `hint` is the way out, one or more lines."""

    exit_code = 70

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


class ConfigError(SweeperError):
    """Usage or configuration is wrong."""

    exit_code = 2


class CheckBroken(SweeperError):
    """The check did not run, or what it printed was not understood."""

    exit_code = 3


class NoSandbox(SweeperError):
    """No sandbox works here; never an excuse to run without one."""

    exit_code = 4


class LimitReached(SweeperError):
    """A limit of the configuration ended the fire."""

    exit_code = 5


class ForgeFailed(SweeperError):
    """The remote or the forge refused, or could not be asked. What was verified stays on the local branch.

    `reason`: a machine word (unauthorised, forbidden, missing, limited, invalid, duplicate,
    stale, occupied, unread, uncertain, unreachable).
    """

    exit_code = 6

    def __init__(self, what: str, *, hint: str = "", reason: str = "") -> None:
        super().__init__(what, hint=hint)
        self.reason = reason


class DispatcherBusy(SweeperError):
    """Another coordinator holds this sweep; the message says who."""

    exit_code = 7


class GitFailed(SweeperError):
    """A git child ended with an unexpected code: infrastructure, never an empty answer. `said`: its own words."""

    said = ""


class LedgerFailed(SweeperError):
    """The ledger could not be read or written."""


class StaleClaim(LedgerFailed):
    """A result came with a fencing token that is no longer the claim's: kept as evidence, never merged."""


class SandboxFailed(SweeperError):
    """The sandbox failed, not the command in it.

    `retryable`: the same attempt may be tried again, uncharged. `may_have_run`: the command may have started
    (so that a retry must first look for the sandbox by its name). Without either it is a fact about this
    machine or configuration and ends the run.
    """

    exit_code = 4

    def __init__(self, what: str, *, hint: str = "", retryable: bool = False, may_have_run: bool = False) -> None:
        super().__init__(what, hint=hint)
        self.retryable = retryable
        self.may_have_run = may_have_run


@overload
def first_of(problem: Exception) -> Exception: ...
@overload
def first_of(problem: BaseException) -> BaseException: ...
def first_of(problem: BaseException) -> BaseException:
    """What one of several tasks really raised, not that they were tasks."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem
