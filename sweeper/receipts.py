"""What an attempt's calls cost, written down as they are made, so that a coordinator's death loses none of it.

A receipt is a file of lines "CALL INPUT OUTPUT MICRO_USD": first what a call may cost at most, before it is forwarded,
then, for the same call, what it did cost. The last line of each call counts. A process may die at any moment; of a
machine that loses its power the last lines may be missing.
"""

from __future__ import annotations

import os
from pathlib import Path

from sweeper.records import Usage


class Receipt:
    """One agent's, at `path`."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, call: int, usage: Usage) -> None:
        os.write(self._fd, f"{call} {usage.input_tokens} {usage.output_tokens} {usage.micro_usd}\n".encode())

    def close(self) -> None:
        os.close(self._fd)


def receipt_of(logs: Path, unit: str, number: int, index: int) -> Path:
    """Where an agent's receipt lies. `logs`: of its run; `index` tells candidates apart."""
    return logs / "receipts" / f"{unit}-{number}-{index}"


def spent(logs: Path, unit: str, number: int) -> Usage:
    """What all agents of one attempt have used, at most."""
    return sum((_total(path) for path in (logs / "receipts").glob(f"{unit}-{number}-*")), Usage())


def _total(path: Path) -> Usage:
    calls: dict[str, Usage] = {}
    for line in path.read_text().splitlines(keepends=True):
        call, *counts = line.split()
        if line.endswith("\n") and len(counts) == 3:  # else its writer died over it
            calls[call] = Usage(*map(int, counts))
    return sum(calls.values(), Usage())
