"""`python -m sweeper.testing.kill_points STATE WORDS...`: run sweeper, and SIGKILL it at the next point not yet met.

A point is the moment before or after one ledger transaction, one call of a sandbox backend or one write to the
repository, named by what is done and by how often this process did it. STATE is a file with the points that were met,
one a line; whoever runs this again and again until it ends by itself has killed the coordinator at every one of them.

    KILL_POINTS_MOST    occurrences of one name that are points (default 1000)
    KILL_POINTS_ONLY    0: list the points in STATE and kill nowhere; NAME#N:WHEN: kill at this one alone
    KILL_POINTS_CLOCK   SECONDS@POINT: step the clock at a point, which STATE has then, instead of killing there
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from sweeper.ledger import writer
from sweeper.repo import Repo
from sweeper.sandbox.bubblewrap import Bubblewrap
from sweeper.sandbox.docker import Docker

SANDBOX = ("probe", "prepare", "run", "list", "salvage", "reap", "tidy")
REPOSITORY = ("write_change", "commit_tree", "create_ref", "delete_refs", "update_branch")


class Points:
    """Counts what is done, and acts on the points it is told to."""

    def __init__(self, state: str) -> None:
        self._state = state
        self._most = int(os.environ.get("KILL_POINTS_MOST", "1000"))
        self._only = os.environ.get("KILL_POINTS_ONLY", "")
        self._step, _, self._step_at = os.environ.get("KILL_POINTS_CLOCK", "").partition("@")
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        try:
            with open(state, encoding="utf-8") as file:
                self._met = set(file.read().split("\n"))
        except FileNotFoundError:
            self._met = set()

    def reach(self, name: str, when: str) -> None:
        with self._lock:
            self._counts[f"{name}:{when}"] += 1
            number = self._counts[f"{name}:{when}"]
            point = f"{name}#{number}:{when}"
            if self._step and point == self._step_at:
                step_clock(float(self._step))
                self._note(point)
            if number > self._most or point in self._met or self._step:
                return
            if self._only not in ("", "0", point):
                return
            self._note(point)
            if self._only != "0":
                os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, point: str) -> None:
        self._met.add(point)
        with open(self._state, "a", encoding="utf-8") as file:
            file.write(point + "\n")
            file.flush()
            os.fsync(file.fileno())


def step_clock(seconds: float) -> None:
    """As if somebody had set this machine's clock: wall time jumps, monotonic time goes on."""
    real = time.time
    time.time = lambda: real() + seconds


def instrument(points: Points) -> None:
    """Put points around every ledger transaction, sandbox call and write to the repository."""
    real = writer.Writer._transaction

    @functools.wraps(real)
    def transaction(self: writer.Writer, group: list[writer.Request], rows: list[tuple[Any, ...]]) -> Any:
        name = "ledger:" + ("+".join(sorted({name_of(request.work) for request in group})) or "journal")
        points.reach(name, "before")
        settled = real(self, group, rows)
        points.reach(name, "after")
        return settled

    writer.Writer._transaction = transaction  # type: ignore[method-assign]
    for kind, label, names in (
        (Bubblewrap, "sandbox", SANDBOX),
        (Docker, "sandbox", SANDBOX),
        (Repo, "repo", REPOSITORY),
    ):
        for name in names:
            wrap(points, kind, name, f"{label}:{name}")


def wrap(points: Points, kind: type, name: str, label: str) -> None:
    real = getattr(kind, name, None)
    if real is None:
        return

    @functools.wraps(real)
    async def call(*arguments: Any, **named: Any) -> Any:
        points.reach(label, "before")
        result = await real(*arguments, **named)
        points.reach(label, "after")
        return result

    setattr(kind, name, call)


def name_of(work: Callable[..., Any]) -> str:
    function = getattr(work, "func", work)
    name: str = getattr(function, "__qualname__", type(function).__name__)
    return name.replace(".<locals>", "").replace(".<lambda>", "")


def main(words: Sequence[str]) -> int:
    instrument(Points(words[0]))
    from sweeper.cli import main as sweeper

    sys.argv = ["sweeper", *words[1:]]
    return int(sweeper() or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
