"""Finding a tool's program in a command line: behind runners, `python -m`, and lists of files through xargs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

# Programs that only start another one: name -> the words between them, besides options.
RUNNERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "uv": (("run",), ("tool", "run")),
    "uvx": ((),),
    "pipx": (("run",),),
    "poetry": (("run",),),
    "pdm": (("run",),),
    "hatch": (("run",),),
    "rye": (("run",),),
    "npx": ((),),
    "pnpx": ((),),
    "pnpm": (("exec",), ("dlx",), ()),
    "yarn": ((), ("run",), ("exec",), ("dlx",)),
    "npm": (("exec", "--"),),
    "bunx": ((),),
    "bun": (("x",), ("run",)),
    "bundle": (("exec",),),
    "go": (("tool",),),
}
# Options of theirs that take a word, and those with which they start it in other folders, several times, or by a shell.
_VALUED = frozenset((
    "--from", "--with", "--with-requirements", "--with-editable", "-p", "--package", "--python", "--group",
    "--only-group", "--extra", "--spec", "--index", "--index-url", "--env-file",
))  # fmt: skip
_ELSEWHERE = frozenset((
    "-C", "--dir", "--directory", "--cwd", "--prefix", "--project", "-r", "--recursive", "--filter", "-F", "-w",
    "--workspace", "--workspaces", "-ws", "--all-packages", "-c", "--call", "--shell-mode", "--parallel",
))  # fmt: skip
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# A script of one command in which a shell finds nothing to do.
_PLAIN = re.compile(r"[\w@%+=:,./ -]+")
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
    """`sh -c "git ls-files -z '*.sh' | xargs -0 shellcheck"` is a command of shellcheck's, `sh -c "ruff check"` is
    one of ruff's; others are as they are."""
    if len(argv) == 3 and PurePosixPath(argv[0]).name in _SHELLS and argv[1] == "-c":
        if _PLAIN.fullmatch(argv[2]) and not _ASSIGNMENT.match(argv[2].strip()):
            return Command(tuple(argv[2].split()))
        match = _LISTED.match(argv[2].strip())
        if match:
            try:
                return Command(tuple(shlex.split(match["tool"])), match["list"])
            except ValueError:
                pass
    return Command(tuple(argv))


def program_name(word: str) -> str:
    """The program that a word names: a path, or a package as runners take it (`eslint@9`, `@biomejs/biome`)."""
    return PurePosixPath(word).name.partition("@")[0]


def program_at(argv: Sequence[str], programs: Sequence[str]) -> int:
    """The index after the program's name, through `env`, `python -m` and the usual runners; -1 if it is not there."""
    if not argv:
        return -1
    first = program_name(argv[0])
    if first in programs:
        return 1
    if _PYTHON.match(first):
        words = list(argv[1:])
        at = words.index("-m") if "-m" in words else -1
        isolated = all(word.startswith("-") for word in words[:at]) if at >= 0 else False
        return at + 3 if isolated and words[at + 1 : at + 2] and words[at + 1] in programs else -1
    if first == "env":
        starts = [next((at for at, word in enumerate(argv) if at and not _ASSIGNMENT.match(word)), 0)]
    else:
        starts = [_behind(argv, between) for between in RUNNERS.get(first, ())]
    for start in filter(None, starts):
        at = program_at(argv[start:], programs)
        if at > 0:
            return start + at
    return -1


def _behind(argv: Sequence[str], between: Sequence[str]) -> int:
    """Where a runner's own words end; 0 if it does not start one program here."""
    left = list(between)
    at = 1
    while at < len(argv):
        word = argv[at]
        if left and word == left[0]:
            left.pop(0)
        elif not word.startswith("-"):
            return 0 if left else at
        elif word.partition("=")[0] in _ELSEWHERE:
            return 0
        elif word in _VALUED:
            at += 1
        at += 1
    return 0
