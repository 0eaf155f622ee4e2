"""The command group: a command's module is imported when it is called, so that `--help` costs next to nothing."""

from __future__ import annotations

import importlib
from typing import Any

import click

# name -> (module, attribute, what it does: the first line of the command's own help)
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("sweeper.cli.run", "Drain sweeps: fix their findings, unit by unit, into a verified branch."),
    "plan": ("sweeper.cli.plan", "Show what a run would do; starts no agent and changes nothing."),
    "pr": ("sweeper.cli.pr", "Open or update the pull request of what a run has fixed."),
    "status": ("sweeper.cli.status", "Show where each sweep stands."),
    "report": ("sweeper.cli.report", "Print the report of a run again."),
    "why": ("sweeper.cli.why", "Tell a unit's whole story, attempt by attempt."),
    "resume": ("sweeper.cli.resume", "Go on with the runs that were not finished."),
    "release": ("sweeper.cli.release", "Give held units back to their ladder."),
    "replay": ("sweeper.cli.replay", "Feed a run's journal to a new scheduler and compare every command."),
    "reap": ("sweeper.cli.reap", "Remove the sandboxes that dead coordinators left behind."),
    "toolchain": ("sweeper.cli.toolchain", "Build toolchains, list what is kept of them, remove what is unused."),
    "doctor": ("sweeper.cli.doctor", "Say what works here, and what to do about the rest."),
    "completion": ("sweeper.cli.completion", "Print what completes this program's words in a shell."),
    "init": ("sweeper.cli.init", "Write a sweeper.toml for the linters of this repository."),
    "demo": ("sweeper.cli.demo", "Drain a small project and watch it."),
}


class Commands(click.Group):
    """Lists its commands from the table and loads one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[name][0]).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            raise click.UsageError(problem.message + (f" Did you mean {near[0]!r}?" if near else ""), ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])


def installed() -> str:
    """The version that is installed, "" where this is no installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sweeper-runner")
    except PackageNotFoundError:
        return ""


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"sweeper {installed() or 'not installed as a package'}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show the version.")
def sweeper() -> None:
    """Drain a backlog of findings, each unit in its own sandbox, into one verified branch.

    Results go to stdout, progress to stderr. Exit codes: 0 drained, 1 findings remain, 2 usage or
    configuration, 3 the check is broken, 4 no sandbox, 5 a limit was reached, 6 the forge refused,
    7 another coordinator is at work, 70 internal.
    """
