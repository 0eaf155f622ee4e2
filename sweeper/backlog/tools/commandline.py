"""Finding a tool's program in a command line: behind runners, `python -m`, and lists of files through xargs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

# Programs that only start another one: name -> the words between them.
RUNNERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "uv": (("run",), ("tool", "run")),
    "uvx": ((),),
    "pipx": (("run",),),
    "poetry": (("run",),),
    "pdm": (("run",),),
    "hatch": (("run",),),
    "rye": (("run",),),
    "npx": ((), ("--no-install",), ("--no",), ("--yes",), ("-y",)),
    "pnpx": ((),),
    "pnpm": (("exec",), ("dlx",), ()),
    "yarn": ((), ("run",), ("exec",), ("dlx",)),
    "npm": (("exec", "--"),),
    "bunx": ((),),
    "bun": (("x",), ("run",)),
    "bundle": (("exec",),),
}
_PYTHON = re.compile(r"^(?:python(?:\d(?:\.\d+)?)?|pypy3?)$")
_SHELLS = frozenset({"sh", "bash", "dash"})
_LISTED = re.compile(r"^(?P<list>git ls-files\b[^|;&<>`$\n]*-z\b[^|;&<>`$\n]*?) \| xargs -0 (?P<tool>[^|;&<>`$\n]+)$")


@dataclass(frozen=True, slots=True)
class Command:
    """The tool's own words of a command line; `listed`: the command whose file names they are given, "" if none."""

    words: tuple[str, ...]
    listed: str = ""

    def around(self, words: Sequence[str]) -> list[str]:
        """The same command line with other words of the tool."""
        return ["sh", "-c", f"{self.listed} | xargs -0 {shlex.join(words)}"] if self.listed else list(words)


def unwrap(argv: Sequence[str]) -> Command:
    """`sh -c "git ls-files -z '*.sh' | xargs -0 shellcheck"` is a command of shellcheck's; others are as they are."""
    if len(argv) == 3 and PurePosixPath(argv[0]).name in _SHELLS and argv[1] == "-c":
        match = _LISTED.match(argv[2].strip())
        if match:
            try:
                return Command(tuple(shlex.split(match["tool"])), match["list"])
            except ValueError:
                pass
    return Command(tuple(argv))


def program_at(argv: Sequence[str], programs: Sequence[str]) -> int:
    """The index after the program's name, through `python -m` and the usual runners; -1 if it is not there."""
    if not argv:
        return -1
    first = PurePosixPath(argv[0]).name
    if first in programs:
        return 1
    if _PYTHON.match(first):
        words = list(argv[1:])
        at = words.index("-m") if "-m" in words else -1
        isolated = all(word.startswith("-") for word in words[:at]) if at >= 0 else False
        return at + 3 if isolated and words[at + 1 : at + 2] and words[at + 1] in programs else -1
    for between in RUNNERS.get(first, ()):
        following = 1 + len(between)
        if tuple(argv[1:following]) == between and len(argv) > following and argv[following] in programs:
            return following + 1
    return -1
