"""What set-ups of both kinds of sandbox have in common: their time, what they may print, and how one fails."""

from __future__ import annotations

import shlex
from pathlib import Path

from sweeper.errors import CheckBroken
from sweeper.sandbox.contract import Clocks, Facts, Toolchain

CLOCKS = Clocks(wall=1800.0)
OUTPUT = 1 << 20  # bytes that a set-up may print
TAIL = 2000  # bytes of each stream that a failed one's message quotes


def tails(*files: Path) -> str:
    """The ends of what a set-up printed."""
    return "".join(file.read_bytes()[-TAIL:].decode(errors="replace") for file in files).strip()


def failed(toolchain: Toolchain, facts: Facts, said: str, how: str, wall: float) -> CheckBroken:
    """A set-up that did not end with exit code 0. `how` it runs; `wall`: the seconds that it had."""
    ended = f"exit {facts.exit_code}" if facts.clock is None else f"no end after {wall:g} s"
    commands = " && ".join(shlex.join(command) for command in toolchain.setup)
    return CheckBroken(
        f"the toolchain's setup failed ({ended}): {commands}\n{said}",
        hint=f"correct `setup` of the sweep; it runs at the repository's root, {how}",
    )
