"""`sweeper init`."""

from __future__ import annotations

import click

from sweeper.cli.console import Console

NAME = "sweeper.toml"


@click.command()
@click.option("--force", is_flag=True, help=f"Overwrite an existing {NAME}.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print it instead of writing it.")
@click.pass_obj
def command(console: Console, force: bool, to_stdout: bool) -> int:
    """Write a sweeper.toml for the linters of this repository.

    Looks at what is committed: configurations of linters that are known here, else the files that
    one of them would check, and how the tests are run.
    """
    import anyio

    return anyio.run(_init, console, force, to_stdout)


async def _init(console: Console, force: bool, to_stdout: bool) -> int:
    from sweeper.backlog.detect import linters
    from sweeper.cli import starter, wiring
    from sweeper.errors import ConfigError

    async with wiring.repository() as repo:
        target = repo.top / NAME
        if target.exists() and not force and not to_stdout:
            raise ConfigError(f"{target} exists", hint="--force overwrites it, --stdout shows what would be written")
        commit = await repo.resolve("HEAD")
        listing = await repo.listing(commit)
        heads = await repo.blobs(
            commit, [path for path in listing if path.rpartition(b"/")[2] in starter.READ], 1 << 20
        )
        found = linters(listing, lambda path: heads.get(path.encode("utf-8", "surrogateescape"), b""))
        text = starter.configuration(found, tests=starter.tests(listing, heads))
        if to_stdout:
            console.result(text)
            return 0
        target.write_text(text, encoding="utf-8")
    for each in found:
        console.say(f"{each.tool}: {each.files:,} files, because of {each.evidence}")
    if not found:
        console.say("no linter that is known here fits this repository: fill in the example in the file")
    console.result(f"wrote {target}")
    console.say("next: `sweeper plan` shows what a run would do, `sweeper run` does it")
    return 0
