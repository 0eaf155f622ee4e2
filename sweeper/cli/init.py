"""`sweeper init`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sweeper.cli import options
from sweeper.cli.console import Console

if TYPE_CHECKING:
    from sweeper.starter import Suggestion

NAME = "sweeper.toml"


@click.command()
@click.option("--force", is_flag=True, help=f"Overwrite an existing {NAME}.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print it instead of writing it.")
@options.JSON
@click.pass_obj
def command(console: Console, force: bool, to_stdout: bool, as_json: bool) -> int:
    """Write a sweeper.toml for the linters of this repository.

    Looks at what is committed: configurations of linters that are known here, how scripts, CI and
    pre-commit hooks start them, lock files, and how the tests are run. A second time it changes
    nothing. A linter without a fixer of its own gets an agent whose program and key are here, else
    an empty ladder: what it finds is held for a person.
    """
    import anyio

    return anyio.run(_init, console, force, to_stdout, as_json)


async def _init(console: Console, force: bool, to_stdout: bool, as_json: bool) -> int:
    from sweeper import starter
    from sweeper.cli import sweeps, wiring
    from sweeper.report.document import document

    async with wiring.repository() as repo:
        target = repo.top / NAME
        commit = await repo.resolve("HEAD")
        listing = await repo.listing(commit)
        heads = await repo.blobs(commit, [path for path in listing if starter.is_read(path)], 1 << 20)
        project = starter.Project(listing, lambda path: heads.get(os.fsencode(path), b""))
        agents = sweeps.paid(console.environ, in_image=False)
        found = starter.suggest(project, agents[0] if agents else "")
        text = starter.configuration(found)
        written = False if to_stdout else _write(repo.top, target, text, force=force)
    if as_json:
        described = [_described(each) for each in found]
        console.result(document("init", path=str(target), written=written, sweeps=described))
        return 0
    if to_stdout:
        console.result(text)
        return 0
    for each in found:
        place = "" if each.root == "." else f" in {each.root}"
        files = "1 file" if each.files == 1 else f"{each.files:,} files"
        console.say(f"{each.name}: {files}{place}, because of {each.evidence}")
    if not found:
        console.say("no linter that is known here fits this repository: fill in the example in the file")
    console.result(f"wrote {target}" if written else f"{target} is as it would be written")
    console.say("next: `sweeper plan` shows what a run would do, `sweeper run` does it")
    return 0


def _write(top: Path, target: Path, text: str, *, force: bool) -> bool:
    """Whether the file was written; False if it says the same already. Raises ConfigError if another one is there."""
    from sweeper.config import file as configfile
    from sweeper.config.plain import opened
    from sweeper.errors import ConfigError

    hint = "--force overwrites it, --stdout shows what would be written"
    try:
        with opened(target) as file:
            if file.read() == text.encode():
                return False
    except OSError:
        pass
    if not force and (other := configfile.place(top)) is not None:
        there = "the configuration of this repository"
        raise ConfigError(
            f"{target} exists" if other == target else f"{other} is {there}, and {NAME} would come before it", hint=hint
        )
    try:
        with target.open("w" if force else "x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError as problem:
        raise ConfigError(f"{target} exists", hint=hint) from problem
    except OSError as problem:
        raise ConfigError(f"{target}: {problem.strerror}", hint="make it a file that can be written") from problem
    return True


def _described(each: Suggestion) -> dict[str, Any]:
    ladder: list[dict[str, Any]] = [{"run": list(fixer)} for fixer in each.fixers]
    return {
        "name": each.name,
        "tool": each.tool,
        "check": each.check,
        "root": each.root,
        "toolchain": each.toolchain,
        "setup": list(each.setup),
        "test": each.test,
        "ladder": [*ladder, *([{"agent": each.agent}] if each.agent else [])],
        "evidence": each.evidence,
        "source": each.source,
        "files": each.files,
    }
