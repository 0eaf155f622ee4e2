"""The findings of --from."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import anyio.to_thread

from sweeper.backlog.tools import recognise
from sweeper.cli.options import Wanted
from sweeper.commands import argv
from sweeper.config.models import SweepConfig
from sweeper.config.plain import opened
from sweeper.errors import CheckBroken, ConfigError
from sweeper.order import Tools
from sweeper.records import CheckResult
from sweeper.report.phrases import count
from sweeper.sweep.selection import Selection

DESCRIPTORS = ("/dev/fd", "/proc/self/fd")
MOST_TOLD = 10  # skipped files by name


async def read(
    wanted: Wanted, chosen: Mapping[str, SweepConfig], tools: Tools, say: Callable[[str], None]
) -> Selection | None:
    """The findings of --from; `say` is told what of them can't be worked on.

    Raises ConfigError if they can't be read, CheckBroken if they are not understood.
    """
    if wanted.source is None:
        return None
    if len(chosen) != 1:
        raise ConfigError("--from gives the findings of one sweep", hint=f"name one of {', '.join(chosen)}")
    (config,) = chosen.values()
    with tempfile.TemporaryDirectory(prefix="sweeper-") as folder:
        given = Path(folder) / "given"
        await anyio.to_thread.run_sync(_copy, wanted.source, given)
        result = await tools.parser.parse(
            given,
            Path(folder) / "nothing",
            exit_code=None,
            format=config.format,
            pattern=config.pattern,
            tool=recognise(argv(config.check)),
            root=_folder(tools.repo.top) if config.root == "." else config.root,
            listing=await tools.repo.listing(await tools.repo.resolve(wanted.base)),
            checkouts=tuple(_spellings(tools.repo.top, os.environ.get("PWD", ""))),
            foreign=True,
        )
    if result.broken:
        raise CheckBroken(f"--from {wanted.source}: {result.why}", hint="give the format's name with --format")
    for line in _left_out(result):
        say(f"--from {wanted.source}: {line}")
    return Selection(result.findings)


def _folder(top: Path) -> str:
    """Where we are in the repository: paths of an output that is handed in are relative to there, or to its top."""
    below = os.path.relpath(os.getcwd(), top)
    return "." if below.startswith("..") else below


def _spellings(top: Path, logical: str) -> Iterator[str]:
    """The repository's top as it is, and as the shell spells it, which may have come here through a link."""
    yield str(top)
    if os.path.isabs(logical) and os.path.realpath(logical) == os.path.realpath(os.getcwd()):
        place = Path(logical)
        for _ in Path(_folder(top)).parts:
            place = place.parent
        if place != top and os.path.realpath(place) == os.path.realpath(top):
            yield str(place)


def _left_out(result: CheckResult) -> Iterator[str]:
    for skip in result.skips[:MOST_TOLD]:
        yield f"{count(skip.findings, 'finding')} left out, {skip.reason}: {skip.path}"
    if more := sum(skip.findings for skip in result.skips[MOST_TOLD:]):
        yield f"{count(more, 'more finding')} left out"
    if result.unparsed:
        yield f"{count(result.unparsed, 'line')} not understood"
    if result.incomplete:
        yield f"incomplete: {result.incomplete}"


def _copy(source: str, target: Path) -> None:
    try:
        with target.open("wb") as out:
            if source == "-":
                shutil.copyfileobj(sys.stdin.buffer, out)
            else:
                # what the shell has put there, as for <(...), is open already and somebody writes to it
                ours = os.path.dirname(source) in DESCRIPTORS or source == "/dev/stdin"
                with open(source, "rb") if ours else opened(source) as file:
                    shutil.copyfileobj(file, out)
    except (OSError, ConfigError) as problem:
        why = f"{source}: {problem.strerror}" if isinstance(problem, OSError) else problem
        raise ConfigError(f"--from {why}", hint="give a readable file, or - for standard input") from problem
