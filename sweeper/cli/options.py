"""The options that `run`, `plan` and `resume` share, and the values they give."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

DRY_RUNS = ("plan", "fix", "pr")
TAIL = "sweeper.check"  # where the words after `--` wait


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for. None or empty: not given. `check`: the words of the check command."""

    sweeps: tuple[str, ...] = ()
    check: tuple[str, ...] | str = ()
    config: Path | None = None
    base: str = "HEAD"
    source: str | None = None
    format: str | None = None
    fix: tuple[str, ...] = ()
    test: str | None = None
    setup: tuple[str, ...] = ()
    partition: str | None = None
    max_rounds: int | None = None
    sandbox: str | None = None
    slots: int | None = None
    units_per_fire: int | None = None
    wall: str | None = None
    fresh: bool = False
    pull_request: bool = False
    yes: bool = False
    trust_checkout: bool = False
    dry_run: str = ""


def _words(tail: list[str], ctx: click.Context) -> tuple[str, ...]:
    """One word with blanks is a whole command that was quoted, like the value of --check."""
    try:
        words = shlex.split(tail[0]) if len(tail) == 1 else tail
    except ValueError as problem:
        raise click.UsageError(f"the check command {tail[0]!r}: {problem}", ctx) from problem
    if not words:
        raise click.UsageError("after -- comes a check command, such as: -- ruff check .", ctx)
    return tuple(words)


class TakesCheck(click.Command):
    """A command whose words after `--` are a check command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            args, tail = args[:at], args[at + 1 :]
            ctx.meta[TAIL] = _words(tail, ctx)
        for word, following in pairwise([*args, ""]):
            # a value comes after "=" only: what follows the bare option is a sweep
            if word == "--dry-run" and following in DRY_RUNS:
                raise click.UsageError(
                    f"--dry-run {following}: write --dry-run={following}, or a sweep's name before the option", ctx
                )
        args = ["--dry-run=plan" if word == "--dry-run" else word for word in args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- CHECK...]"]


def sweep_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """What completes a sweep's name: those of the configuration, nothing where it can't be read."""
    from sweeper.config import file as configfile
    from sweeper.errors import SweeperError

    try:
        here = Path.cwd()
        top = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
        loaded = configfile.load(top, explicit=ctx.params.get("config"), environ=os.environ, overrides={})
    except (SweeperError, OSError):
        return []
    return [name for name in loaded.config.sweep if name.startswith(incomplete)]


SWEEPS = click.argument("sweeps", nargs=-1, metavar="[SWEEP]...", shell_complete=sweep_names)
CONFIG = click.option("--config", type=click.Path(path_type=Path), help="The configuration file.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="Say nothing but results and errors.")
VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Say more; show the traceback of an internal error.")
YES = click.option("--yes", is_flag=True, help="Agree to the price of models without being asked.")
PULL_REQUEST = click.option("--pull-request", is_flag=True, help="Push the branch and open a draft pull request.")
LIVE = click.option("--no-live", is_flag=True, help="Lines instead of the live view.")

_SANDBOX = click.Choice(["auto", "docker", "bubblewrap"])
_WHAT = (
    SWEEPS,
    CONFIG,
    click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit to start from."),
    click.option("--from", "source", metavar="FILE", help="Only these findings, as sweep SWEEP-given; - is stdin."),
    click.option("--check", "check", metavar="COMMAND", help="The check command, like the words after --."),
    click.option("--format", metavar="NAME", help="The check's output format instead of recognising it."),
    click.option("--fix", multiple=True, metavar="COMMAND", help="A rung of the ladder, safest first; repeatable."),
    click.option("--test", metavar="COMMAND", help="The tests that the gate runs."),
    click.option("--setup", multiple=True, metavar="COMMAND", help="Make the toolchain with it; repeatable."),
    click.option("--partition", type=click.Choice(["file", "directory", "rule", "owner"]), help="What becomes a unit."),
    click.option("--max-rounds", type=click.IntRange(1), metavar="N", help="Rounds of one run."),
)
TRUST_CHECKOUT = click.option(
    "--trust-checkout", is_flag=True, help="Work on a pull request's commit beside secrets (GitHub)."
)
_HOW = (
    click.option("--sandbox", type=_SANDBOX, help="The kind of sandbox; auto: docker if it works, else bubblewrap."),
    click.option("--slots", type=click.IntRange(1), metavar="N", help="Agents at once."),
    click.option("--units-per-fire", type=click.IntRange(1), metavar="N", help="Attempts to start at most."),
    click.option("--wall", metavar="TIME", help="Start nothing after so long, such as 30m."),
    TRUST_CHECKOUT,
    click.option("--fresh", is_flag=True, help="Begin a new run instead of going on with an unfinished one."),
)


def what(function: F) -> F:
    """The options that say what to drain, and how."""
    for option in reversed((*_WHAT, *_HOW)):
        function = option(function)
    return function


def how(function: F) -> F:
    """The options that say how to do it."""
    for option in reversed(_HOW[:-1]):
        function = option(function)
    return function


def wanted(given: dict[str, Any]) -> Wanted:
    """The values of `what`; the words after `--` and `--check` exclude each other."""
    tail = click.get_current_context().meta.get(TAIL, ())
    check = given.pop("check", None)
    if tail and check is not None:
        raise click.UsageError("give the check either with --check or after --, not both")
    names = Wanted.__dataclass_fields__
    return Wanted(check=tail or check or (), **{name: value for name, value in given.items() if name in names})
