"""One loop's part of the scheduler's state: where each of its units is, and what waits.

A unit is in exactly one phase from the page that named it until it is forgotten, and only then can a page
name it anew: that is why it is in flight at most once.
"""

from __future__ import annotations

import enum
import heapq
from collections import deque
from collections.abc import Iterable

from sweeper.scheduler import messages as m
from sweeper.scheduler.messages import Command, Entry

WAITING_MAX = 256
"""So many units of one loop may wait for a retry before fresh ones are no longer claimed."""


class Phase(enum.Enum):
    QUEUED = "queued"
    CLAIMING = "claiming"
    READY = "ready"
    AGENT = "agent"
    VERIFIER = "verifier"
    LANDING = "landing"
    RELEASING = "releasing"
    WAITING = "waiting"


class Place:
    """A unit and where it is.

    claimed: its claim is held. retry: when it comes back after its release; None: it does not. again: it has
    waited and is back at the head of the queue.
    """

    __slots__ = ("again", "claimed", "entry", "phase", "retry", "weight")

    def __init__(self, entry: Entry, weight: int) -> None:
        self.entry = entry
        self.weight = weight
        self.phase = Phase.QUEUED
        self.claimed = False
        self.again = False
        self.retry: float | None = None


class Lane:
    """The state of one loop. It holds the keys of at most two pages, of what is in flight and of what waits."""

    def __init__(self, name: str, slots: int) -> None:
        self.name = name
        self.slots = slots
        self.places: dict[str, Place] = {}
        self.queue: deque[Place] = deque()
        self.ready: deque[Place] = deque()
        self.waiting: list[tuple[float, int, Place]] = []
        self.forgotten: list[str] = []
        self.cursor: str | None = None
        self.exhausted = False
        self.polling = False
        self.asking = False
        self.closed = False
        self.cancelled = False
        self.agents = 0  # weight of agents in flight
        self.claims = 0  # units that are claimed, or being claimed, and not dispatched
        self.outstanding = 0  # their weight, and that of units that are landed as held
        self.progress = True  # a unit was landed since on_idle was last asked
        self.fruitless = 0  # answers "poll again" in a row without progress
        self.poll_after: float | None = None
        self._page = 0
        self._waits = 0

    # --- questions ---
    def wants_page(self, ahead: int) -> bool:
        """Never more than two pages in memory, and the next one early enough."""
        if self.closed or self.polling or self.asking or self.exhausted or self.poll_after is not None:
            return False
        return len(self.queue) <= min(ahead, self._page)

    def is_idle(self) -> bool:
        return self.exhausted and not (self.closed or self.polling or self.asking or self.places)

    def is_over(self) -> bool:
        return self.closed and not (self.places or self.polling or self.asking)

    def has_work(self) -> bool:
        """Something waits that could be dispatched now or later."""
        return not self.closed and bool(self.queue or self.ready or self.waiting)

    def is_full(self) -> bool:
        """Too many wait for a retry to start fresh ones."""
        return len(self.waiting) >= WAITING_MAX and not (self.queue and self.queue[0].again)

    # --- a unit's way ---
    def put(self, entries: Iterable[Entry]) -> None:
        """A page came: queue what is not known yet."""
        count = 0
        for entry in entries:
            count += 1
            if entry.key not in self.places:
                place = Place(entry, self.clamp(entry.weight))
                self.places[entry.key] = place
                self.queue.append(place)
        self._page = max(self._page, count)

    def clamp(self, weight: int) -> int:
        """A unit that weighs more than the loop's slots gets all of them; its slot says how many that is."""
        return max(1, min(weight, self.slots))

    def claim(self, place: Place) -> Command:
        """Claim it; one that the tier policy holds is landed as held, without a claim."""
        self.outstanding += place.weight
        self.claims += not place.entry.held
        if place.entry.held:
            place.phase = Phase.LANDING
            return m.Land(self.name, place.entry.key)
        place.phase = Phase.CLAIMING
        return m.Claim(self.name, place.entry.key)

    def unclaim(self, place: Place) -> None:
        """It is no longer one that is claimed and not dispatched."""
        self.outstanding -= place.weight
        self.claims -= not place.entry.held

    def give_back(self, place: Place, retry: float | None = None) -> Command:
        """A claim that is not used."""
        self.unclaim(place)
        return self.release(place, retry)

    def release(self, place: Place, retry: float | None = None) -> Command:
        place.phase = Phase.RELEASING
        place.retry = retry
        return m.Release(self.name, place.entry.key)

    def released(self, place: Place) -> None:
        place.claimed = False
        if place.retry is None or self.closed:
            self.forget(place)
        else:
            self.wait(place, place.retry)

    def wait(self, place: Place, until: float) -> None:
        place.phase = Phase.WAITING
        self._waits += 1
        heapq.heappush(self.waiting, (until, self._waits, place))

    def requeue_due(self, now: float) -> None:
        """Units whose wait is over go to the head of the queue, the longest-waiting first."""
        due = []
        while self.waiting and self.waiting[0][0] <= now:
            due.append(heapq.heappop(self.waiting)[2])
        for place in reversed(due):
            place.phase = Phase.QUEUED
            place.again = True
            self.queue.appendleft(place)

    def forget(self, place: Place) -> None:
        del self.places[place.entry.key]
        self.forgotten.append(place.entry.key)

    def close(self, *, cancel: bool) -> tuple[list[Command], int]:
        """Serve this loop no more. With `cancel` what runs is cancelled too; a result that comes still lands.

        Returns the commands, and how many units were still waiting.
        """
        self.closed = True
        dropped = [*self.queue, *(place for _, _, place in self.waiting)]
        self.queue.clear()
        self.waiting.clear()
        for place in dropped:
            self.forget(place)
        out = [self.give_back(place) for place in self.ready]
        self.ready.clear()
        if cancel and not self.cancelled:
            self.cancelled = True
            running = (Phase.AGENT, Phase.VERIFIER)
            out += [m.Cancel(self.name, key) for key, place in self.places.items() if place.phase in running]
            if self.polling or self.asking:
                self.polling = self.asking = False
                out.append(m.Cancel(self.name, None))
        return out, len(dropped)
