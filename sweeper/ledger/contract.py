"""The ledger's contract: durable state, claims, journal. SQLite and Postgres satisfy it; one suite tests both.

Every method is one transaction, durable when it returns (writes of concurrent callers are group-committed).
Nothing here knows how to fix, judge or merge. Records are metadata: no file content.

A unit's place on the ladder is the list of its landed outcomes since its last reset (`history`): nothing else
is stored of it. A unit is queued for a round: `page` gives the OPEN units whose round is not above the asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sweeper.records import Claim, History, Outcome, Owner, Skip, Unit, UnitState, Usage


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one sweep: from one base commit, under one configuration digest. `round` counts from 1;
    0 before the first check was stored. `tip` is the newest merged commit (== base at first).
    `phase`: "check" (the round's backlog is not stored yet), "fanout", "done". `ended`: why it ended, "" while
    unfinished.
    """

    id: str
    sweep: str
    base: str
    digest: str
    round: int = 0
    tip: str = ""
    phase: str = "check"
    ended: str = ""
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class Queued:
    """A unit as the engine gets it: with its place. `place` digests the unit's blobs and its ladder."""

    unit: Unit
    round: int
    state: UnitState = UnitState.OPEN
    history: History = field(default_factory=History)
    place: str = ""
    why: str = ""

    @property
    def key(self) -> str:
        return self.unit.key


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt. `state`: started | landed | lost | stale. `merged`: the unit's commit on the branch.

    `usage`: what it cost, also where no outcome says so (a lost one). A `stale` row is a result that came too late:
    it stands beside the attempt's own row, with the token that it came with.
    """

    unit: str
    number: int
    run: str
    round: int
    rung: int
    state: str
    started: float
    token: int
    outcome: Outcome | None = None
    merged: str = ""
    usage: Usage = field(default_factory=Usage)
    adopted: bool = False  # set by `start` only: it existed already, its owner died or was interrupted


@dataclass(frozen=True, slots=True)
class StaleClaim:
    """A claim whose owner is dead: its lock file is free (same host) or its lease has run out."""

    claim: Claim
    owner: Owner
    attempt: AttemptRow | None


@dataclass(frozen=True, slots=True)
class JournalRow:
    """One scheduler event and the commands it led to, as JSON-able lists; `seq` counts from 0 in a fire."""

    seq: int
    event: Any
    commands: Any


@dataclass(frozen=True, slots=True)
class Counts:
    """Units of a sweep by state, and attempts of a run by outcome kind. `later`: open units that wait for a later round
    than the run's own."""

    units: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    later: int = 0


class Ledger(Protocol):
    @property
    def notice(self) -> str:
        """What a person should know about where the ledger lies (a network file system); "" if nothing."""

    # --- life, owner, dispatcher ---
    async def enter(self, owner: Owner, lease: float) -> None:
        """Register this process (row + locked file beside an embedded ledger) and renew its lease every
        lease/3 from a thread that does nothing else. A failed renewal is no loss until the local deadline,
        measured from when the last accepted renewal was *sent*; then `lost` becomes true."""

    @property
    def lost(self) -> bool: ...

    async def alive(self, owner: Owner) -> bool | None:
        """Is that coordinator's process still there? On this host its lock file proves it; elsewhere its lease.
        None: this ledger does not know it, and this host proves nothing."""

    async def aclose(self) -> None: ...

    async def take_dispatcher(self, sweep: str) -> None:
        """The dispatcher lease of (ledger, sweep). Raises DispatcherBusy naming host, pid and since when."""

    async def drop_dispatcher(self, sweep: str) -> None: ...

    # --- runs and rounds ---
    # Once another owner holds the dispatcher lease of a run's sweep, `open_round`, `close_round`, `end_run`,
    # `reopen_run` and `note` raise errors.StaleClaim. While nobody holds it, anybody may write.
    async def create_run(self, run: Run, notes: Mapping[str, Any] | None = None) -> None:
        """The run and its first notes, in one transaction."""

    async def run(self, id: str) -> Run | None: ...

    async def latest_run(self, sweep: str, base: str | None = None, digest: str | None = None) -> Run | None: ...

    async def runs(self, limit: int = 20, sweep: str | None = None) -> Sequence[Run]:
        """The newest first; of one sweep, or of all."""

    async def open_round(
        self, run: str, number: int, units: Iterable[Queued], skips: Sequence[Skip], *, fresh: bool
    ) -> None:
        """Store a round's backlog; a unit that is queued for a later round waits for that one. A known unit keeps its
        history; with `fresh` (first round of a run) a unit whose `place` changed starts anew; otherwise `place` is only
        updated. A HELD unit stays held unless reset; a SETTLED one that has findings again is OPEN with an empty
        history. Units of this sweep that are not in `units` become SETTLED ("gone"), those of an earlier opening of the
        same round as well. Sets run.round, phase "fanout". Written in chunks, the run's row last, so that a crash in
        between just opens the round again; only that last step, which also settles what is gone, asks for the
        dispatcher lease."""

    async def close_round(
        self, run: str, number: int, tip: str, merged: dict[str, str], ejected: Sequence[Outcome]
    ) -> None:
        """The barrier's result: VERIFIED units in `merged` (key -> commit) become SETTLED, or OPEN for the next
        round when their outcome was PARTIAL. An `ejected` outcome (EJECTED, CONFLICT) is appended to its unit's
        history and replaces the outcome of its attempt; the unit is OPEN for the next round, its `why` is
        "<kind>: <reason>". Sets run.tip and phase "check"."""

    async def end_run(self, run: str, why: str) -> None: ...

    async def reopen_run(self, run: str) -> None: ...

    # --- queue ---
    async def page(
        self, run: str, round: int, cursor: str | None, limit: int = 200
    ) -> tuple[Sequence[Queued], str | None]:
        """OPEN, unclaimed units of the run's sweep queued for `round` or earlier, most findings first."""

    async def verified(self, run: str) -> AsyncIterator[tuple[Queued, AttemptRow]]:
        """VERIFIED units of the run in unit order (title, then key), each with its landed attempt."""
        yield  # type: ignore[misc]

    async def unit(self, sweep: str | None, key_or_title: str) -> Queued | None:
        """By key, a unique prefix of it, or title."""

    async def units(self, sweep: str, *, states: Sequence[UnitState] = ()) -> AsyncIterator[Queued]:
        yield  # type: ignore[misc]

    async def hold(self, key: str, why: str) -> None:
        """Hold an OPEN unit without an attempt (tier policy said so)."""

    async def release_held(self, key: str) -> bool:
        """A human releases a held unit: OPEN, empty history."""

    # --- claims and attempts ---
    async def claim(self, key: str, run: str) -> Claim | None: ...

    async def release(self, claim: Claim) -> None:
        """Give a claim back (unit OPEN again); a claim already released by `land` is fine."""

    async def start(self, claim: Claim, rung: int, round: int) -> AttemptRow:
        """The attempt to work on: an unfinished one of this unit and round (state started, adopted under the new
        token: the caller looks for its capture), else a new one numbered one higher. Raises StaleClaim."""

    async def unfinished(self) -> Sequence[AttemptRow]:
        """All attempts that were started and neither landed nor lost, of living owners as well."""

    async def spend(self, row: AttemptRow, usage: Usage) -> None:
        """What an unfinished attempt has used so far; its landing has the last word. A no-op if it has ended."""

    async def lose(self, claim: Claim, number: int, usage: Usage) -> AttemptRow:
        """The adopted attempt has no capture: record it as lost at its metered spend; returns attempt N+1, started."""

    async def land(self, claim: Claim, outcome: Outcome, to: UnitState, round: int, why: str = "") -> None:
        """Outcome, unit state, queue round and the claim's release in one transaction. With a token that is not
        the claim's any more the outcome is kept (state stale) and StaleClaim is raised."""

    async def stale_claims(self) -> Sequence[StaleClaim]: ...

    async def break_claim(self, stale: StaleClaim) -> None:
        """The unit is OPEN again (its unfinished attempt stays `started`); a no-op if the claim changed meanwhile."""

    # --- history, journal, money, report ---
    async def attempts(self, run: str | None = None, unit: str | None = None) -> AsyncIterator[AttemptRow]:
        yield  # type: ignore[misc]

    async def skips(self, run: str, round: int = 1) -> Sequence[Skip]:
        """Those of the round's check; of the run's first one by default, as the report's buckets are."""

    async def note(self, run: str, name: str, value: Any) -> None:
        """A small JSON fact of a run (first backlog's buckets, gate verdicts), overwritten by name."""

    async def notes(self, run: str) -> dict[str, Any]: ...

    async def counts(self, run: str) -> Counts: ...

    def journal(self, fire: str, row: JournalRow) -> None:
        """Append; buffered in memory and written with the next transaction of any kind (or after 100 ms)."""

    async def journal_rows(self, fire: str | None = None) -> AsyncIterator[JournalRow]:
        """Of a fire, by default the latest one: from seq 0 up to the first gap (a torn tail)."""
        yield  # type: ignore[misc]

    async def spent(self, since: float) -> int:
        """Micro-dollars of attempts started since (epoch seconds)."""
