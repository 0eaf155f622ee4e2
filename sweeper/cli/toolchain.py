"""`sweeper toolchain build`, `list` and `prune`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sweeper.cli import options
from sweeper.cli.console import Console

if TYPE_CHECKING:
    from sweeper.config.models import Config
    from sweeper.repo import Repo
    from sweeper.sandbox.contract import Backend, Toolchain, Tree
    from sweeper.sandbox.stock import Kept

NAME = 72  # characters of a name that a line shows; --json has all of it
UNITS = (("d", 86400), ("h", 3600), ("min", 60))


@click.group()
def command() -> None:
    """Build toolchains, list what is kept of them, remove what is unused.

    A toolchain is what a check runs with: an image (on docker), and what a sweep's `setup`
    installed, made once for as long as its commands and the commit's lock files stay the same.
    """


@command.command("build")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@options.CONFIG
@click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit whose lock files count.")
@click.option("--sandbox", type=click.Choice(["auto", "docker", "bubblewrap"]), help="For which kind of sandbox.")
@options.QUIET
@click.pass_obj
def build(
    console: Console, names: tuple[str, ...], config: Path | None, base: str, sandbox: str | None, quiet: bool
) -> int:
    """Make toolchains ahead of the first run: those of these sweeps, or of all configured ones.

    NAME may also be one of the images that ship, such as node, python or shell; that needs a docker
    engine.
    """
    import anyio

    console.quiet = quiet
    return anyio.run(_build, console, names, config, base, sandbox)


async def _build(console: Console, names: tuple[str, ...], path: Path | None, base: str, sandbox: str | None) -> int:
    from sweeper.cli import wiring
    from sweeper.cli.sweeps import settings
    from sweeper.ledger import make_owner

    async with wiring.repository() as repo:
        config = settings(options.Wanted(config=path, sandbox=sandbox), repo.top, console)
        wanted = _wanted(names, config)
        backend = await wiring.choose(make_owner(), config, (), console)
        try:
            for name, toolchain in wanted:
                began = time.monotonic()
                await _make(backend, repo, base, name, toolchain)
                console.result(f"{name}: ready after {time.monotonic() - began:.1f} s")
        finally:
            await backend.aclose()
    return 0


def _wanted(names: Sequence[str], config: Config) -> list[tuple[str, Toolchain]]:
    """What to make, by name. Raises ConfigError for a name that is neither a sweep nor an image that ships."""
    from sweeper.errors import ConfigError
    from sweeper.order import toolchain
    from sweeper.sandbox.contract import Toolchain
    from sweeper.sandbox.docker.images import definitions_here

    if not names and not config.sweep:
        raise ConfigError("no sweep is configured here", hint=f"name one of {', '.join(definitions_here())}")
    found = []
    for name in dict.fromkeys(names or config.sweep):
        if name in config.sweep:
            found.append((name, toolchain(config.sweep[name])))
        elif name in definitions_here():
            found.append((name, Toolchain(name=name)))
        else:
            known = ", ".join([*config.sweep, *definitions_here()])
            raise ConfigError(f"{name!r} is neither a sweep nor a toolchain", hint=f"there are: {known}")
    return found


async def _make(backend: Backend, repo: Repo, base: str, name: str, toolchain: Toolchain) -> None:
    from sweeper.errors import ConfigError
    from sweeper.sandbox import lockfiles
    from sweeper.sandbox.probing import MiniatureTree

    if not toolchain.tools and backend.name != "docker":
        raise ConfigError(
            f"{name} is an image, and {backend.name} uses none",
            hint="build it with --sandbox docker, or name a sweep to have its setup run",
        )
    tree: Tree = await repo.tree(await repo.resolve(base)) if toolchain.tools else MiniatureTree()
    await backend.prepare(tree, lockfiles.keyed(toolchain, tree.listing))


@command.command("list")
@options.JSON
@click.pass_obj
def listing(console: Console, as_json: bool) -> int:
    """List images and set-ups with their size and last use, and what all trees take together.

    An image's size holds the layers that it shares with others. --json has each tree.
    """
    import anyio

    return anyio.run(_list, console, as_json)


async def _list(console: Console, as_json: bool) -> int:
    import anyio.to_thread

    from sweeper.cli import wiring
    from sweeper.report.document import document
    from sweeper.sandbox.stock import stored

    async with wiring.warehouse() as (store, engine):
        kept = await anyio.to_thread.run_sync(stored, store)
        if engine is not None:
            from sweeper.sandbox.docker.stock import images

            kept = [*await images(engine, store), *kept]
    if as_json:
        console.result(document("toolchains", kept=kept))
        return 0
    trees = [each for each in kept if each.kind == "tree"]
    for each in kept:
        if each.kind != "tree":
            console.result(_line(each))
    if trees:
        console.result(_together(trees))
    if not kept:
        console.say("nothing is kept")
    return 0


@command.command("prune")
@click.option("--older-than", default="7d", show_default=True, metavar="TIME", help="Not used for so long.")
@click.option("--all", "everything", is_flag=True, help="Also images of which no use is known here.")
@options.JSON
@click.pass_obj
def prune(console: Console, older_than: str, everything: bool, as_json: bool) -> int:
    """Remove images, set-ups and trees that are not used; what a run uses stays.

    All of it is made again when it is needed.
    """
    from sweeper.config.quantities import parse_seconds

    try:
        seconds = parse_seconds(float(older_than) if older_than.isdigit() else older_than)
    except ValueError as problem:
        raise click.BadParameter(str(problem), param_hint="--older-than") from problem

    import anyio

    return anyio.run(_prune, console, seconds, everything, as_json)


async def _prune(console: Console, seconds: float, everything: bool, as_json: bool) -> int:
    from functools import partial

    import anyio.to_thread

    from sweeper.cli import wiring
    from sweeper.report.document import document
    from sweeper.sandbox.stock import prune_stored

    async with wiring.warehouse() as (store, engine):
        removed = await anyio.to_thread.run_sync(partial(prune_stored, store, seconds))
        if engine is not None:
            from sweeper.sandbox.docker.stock import prune_images

            removed = [*await prune_images(engine, store, seconds, everything=everything), *removed]
    if as_json:
        console.result(document("pruned", removed=removed))
        return 0
    for each in removed:
        console.result(f"removed {_line(each)}")
    console.say(f"{len(removed):,} removed")
    return 0


def _line(kept: Kept) -> str:
    from sweeper.report.escape import terminal

    state = "in use" if kept.in_use else _ago(kept.used)
    return f"{kept.kind:<6} {kept.size / 1e6:>8,.1f} MB  {state:<16} {terminal(kept.name, NAME)}"


def _together(trees: Sequence[Kept]) -> str:
    size, used, count = sum(each.size for each in trees), max(each.used for each in trees), len(trees)
    busy = sum(each.in_use for each in trees)
    state = f"{busy:,} in use" if busy else _ago(used)
    return f"{'trees':<6} {size / 1e6:>8,.1f} MB  {state:<16} {count:,} in all"


def _ago(used: float) -> str:
    if not used:
        return "use not known"
    passed = time.time() - used
    for unit, seconds in UNITS:
        if passed >= seconds:
            return f"used {passed / seconds:.0f} {unit} ago"
    return "used just now"
