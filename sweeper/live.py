"""The terminal's live view of a fire: the backlog draining, a line per slot, counts per outcome, time left.

`Board` keeps what is known, `Live` draws it, `Lines` says it where nobody could watch. Neither reads a clock: the
caller's ticks bring the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sweeper.records import Kind, UnitState
from sweeper.report.escape import terminal

if TYPE_CHECKING:
    from sweeper.drain import Notice

ROWS = 16  # attempts that are shown; a taller view would scroll
TITLE = 60
LINE_EVERY = 1.0  # seconds between two lines of progress where nobody watches
GOOD = frozenset({Kind.FIXED, Kind.ALREADY_CLEAN})


@dataclass(slots=True)
class Row:
    """One attempt in flight."""

    title: str
    rung: str
    since: float
    doing: str = "agent"


@dataclass(slots=True)
class Board:
    """What a fire looks like from its notices. `units`: state -> units of the sweeps, as last told; `later`: the open
    ones whose turn comes in a later round."""

    began: float
    rows: dict[int, Row] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    landed: int = 0
    rounds: Mapping[str, int] = field(default_factory=dict)
    units: Mapping[str, int] = field(default_factory=dict)
    later: int = 0
    started: float | None = None
    _places: dict[tuple[str, str], int] = field(default_factory=dict)
    _settled_before: int | None = None

    def notice(self, notice: Notice) -> None:
        key = (notice.loop, notice.unit.key)
        if notice.kind == "started":
            place = next(n for n in range(len(self.rows) + 1) if n not in self.rows)
            self._places[key] = place
            self.started = notice.at if self.started is None else self.started
            self.rows[place] = Row(title_of(notice.unit), rung_of(notice.rung), notice.at)
            return
        place = self._places.get(key, -1)
        if notice.kind == "freed":
            if place in self.rows:
                self.rows[place].doing = "verifier"
            return
        self.rows.pop(self._places.pop(key, -1), None)
        if notice.kind == "landed":
            self.landed += 1
            self.outcomes[outcome_of(notice.result)] += 1

    def told(self, rounds: Mapping[str, int], units: Mapping[str, int], later: int = 0) -> None:
        """Rounds by sweep and units by state, from the ledger."""
        settled = units.get(UnitState.SETTLED, 0)
        if self._settled_before is None:
            self._settled_before = settled
        self._settled_before = min(self._settled_before, settled)
        self.rounds = dict(rounds)
        self.later = later
        self.units = dict(units) | {UnitState.SETTLED: settled - self._settled_before}

    @property
    def waiting(self) -> int:
        return self.units.get(UnitState.OPEN, 0) + self.units.get(UnitState.CLAIMED, 0)

    @property
    def done(self) -> int:
        return sum(self.units.get(state, 0) for state in (UnitState.VERIFIED, UnitState.SETTLED, UnitState.HELD))

    def left(self, now: float) -> float | None:
        """Seconds until what waits for this round has been attempted, at the pace so far.

        None before there is a pace: the first to land say nothing while as many are under way.
        """
        waiting = self.waiting - self.later
        if self.started is None or self.landed <= len(self.rows) or waiting <= 0:
            return None
        return waiting * (now - self.started) / self.landed


class View(Protocol):
    """What a fire tells its watcher."""

    def on_event(self, notice: Notice) -> None: ...

    def say(self, line: str) -> None: ...

    def tick(self, now: float) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Live:
    """Draws the board on a terminal. `say` prints above it."""

    def __init__(self, console: Console, now: float) -> None:
        self.board = Board(now)
        self._console = console
        self._live = RichLive(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def on_event(self, notice: Notice) -> None:
        self.board.notice(notice)

    def say(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True)

    def tick(self, now: float) -> None:
        self._live.update(draw(self.board, now), refresh=True)


class Lines:
    """One line per landing at most, and none sooner than LINE_EVERY after the last: for a log."""

    def __init__(self, say: Callable[[str], None], now: float) -> None:
        self.board = Board(now)
        self._say = say
        self._said = -LINE_EVERY
        self._last = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._flush()

    def on_event(self, notice: Notice) -> None:
        self.board.notice(notice)
        if notice.kind != "landed":
            return
        outcome, title = outcome_of(notice.result), title_of(notice.unit)
        # a title is a file name, and may hold anything
        said = f"{notice.loop}: {title}: {outcome} on rung {rung_of(notice.rung)} ({self.board.landed} landed)"
        self._last = terminal(said)
        if notice.at - self._said >= LINE_EVERY:
            self._said = notice.at
            self._flush()

    def say(self, line: str) -> None:
        self._flush()
        self._say(line)

    def _flush(self) -> None:
        """What was held back comes before what happened after it."""
        if self._last:
            self._say(self._last)
            self._last = ""

    def tick(self, now: float) -> None:
        """Nothing moves in a log."""


def title_of(unit: Any) -> str:
    inner = getattr(unit, "unit", unit)
    return str(getattr(inner, "title", unit.key))


def rung_of(rung: Any) -> str:
    """As people count: from 1."""
    return str(rung + 1) if isinstance(rung, int) else "-" if rung is None else str(rung)


def outcome_of(result: Any) -> str:
    kind = getattr(result, "kind", None)
    return str(kind) if kind is not None else "failed" if isinstance(result, Exception) else "held"


def clock(seconds: float) -> str:
    """0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def draw(board: Board, now: float) -> RenderableType:
    """The board at `now` (seconds since the epoch)."""
    head = Table.grid(padding=(0, 2))
    total = board.done + board.waiting
    names = ", ".join(
        f"{terminal(sweep, TITLE)} {f'round {number}' if number else 'setting up and checking'}"
        for sweep, number in board.rounds.items()
    )
    left = board.left(now)
    head.add_row(
        Text(names or "starting", style="bold"),
        ProgressBar(total=max(total, 1), completed=board.done, width=30),
        Text(f"{board.done:,}/{total:,} units" if total else ""),
        Text(clock(now - board.began)),
        Text(f"about {clock(left)} left in this round" if left is not None and board.rows else "", style="dim"),
    )
    counts = Text("  ")
    for kind, number in sorted(board.outcomes.items()):
        style = "green" if kind in GOOD else "yellow" if kind == Kind.PARTIAL else ""
        counts.append(f"{kind} {number:,}  ", style=style)
    if held := board.units.get(UnitState.HELD, 0):
        counts.append(f"held {held:,}", style="red")
    slots = Table.grid(padding=(0, 2))
    for place, row in sorted(board.rows.items())[:ROWS]:
        slots.add_row(
            Text(f"{place + 1:>4}", style="dim"),
            Text(terminal(row.title, TITLE), no_wrap=True, overflow="ellipsis"),
            Text(f"rung {row.rung}", no_wrap=True),
            Text(row.doing, style="cyan" if row.doing == "agent" else "magenta"),
            Text(clock(now - row.since)),
        )
    parts: list[RenderableType] = [head, counts, slots]
    if not board.rows and board.landed:
        parts.append(Text("      the round is merged and judged as a whole", style="dim"))
    if len(board.rows) > ROWS:
        parts.append(Text(f"      and {len(board.rows) - ROWS} more", style="dim"))
    return Group(*parts)
