"""Where captured changes wait for a verifier: one by one, or several under one check of the whole project.

A check that can look at single files judges each change alone. One that always looks at everything judges whatever
waits when a verifier is free (`batch` says what of it, and what the answer proves). There is no task of its
own: of the attempts that wait, the one that gets the verifier leads, and the others wait for its answer. A leader
that is cancelled gives the others back, so nothing but that one check is lost. What waits holds no content: it is
read from the capture when its check starts.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import anyio

from sweeper.backlog.check import Check
from sweeper.backlog.fingerprint import compare
from sweeper.backlog.paths import to_root
from sweeper.errors import SandboxFailed
from sweeper.records import Change, Unit
from sweeper.repo import Repo
from sweeper.sandbox.contract import Name, Snapshot
from sweeper.verify.batch import (
    NOTHING_PROVEN,
    READABLE_BYTES,
    Answer,
    Footprint,
    Member,
    attribute,
    choose,
    footprint_of,
    next_size,
)
from sweeper.verify.batch import split as parts_of
from sweeper.verify.verify import Baseline, Judgement, Seen, look, verify

GATHER = 0.1  # of a whole check's time, that a leader waits at most while others come
LONGEST_GATHER = 1.0  # seconds
STEPS = 4  # that it waits in: once nobody came in one of them it goes on
FIRST_INDEX = 100  # of the sandboxes of batches, beyond those of candidates


@dataclass(slots=True, eq=False)
class Candidate:
    """One captured change that is to be judged. `unread`: files that don't parse on the base.

    `alone`: not with others, whatever the check. `seconds`: what the check took on the base. `changes` are dropped
    while it waits. The rest is the waiting room's: `group` is what it leads, `taken` that another one leads it.
    """

    name: Name
    check: Check
    snapshot: Snapshot
    baseline: Baseline = field(repr=False)
    unread: frozenset[str]
    unit: Unit
    commit: str
    changes: tuple[Change, ...] = field(repr=False)
    alone: bool = False
    seconds: float = 0.0
    footprint: Footprint | None = field(default=None, repr=False)
    answer: Judgement | None = None
    checks: tuple[str, ...] = ()
    group: list[Candidate] = field(default_factory=list, repr=False)
    taken: bool = False
    gone: bool = False
    led: int = 0
    news: anyio.Event = field(default_factory=anyio.Event)
    queueing: anyio.CancelScope | None = None

    @property
    def whole(self) -> bool:
        """Does only a check of everything judge it?"""
        files = [to_root(path, self.check.root) for path in self.unit.paths]
        return self.check.command_for(files) == self.check.argv

    @property
    def touched(self) -> frozenset[str]:
        assert self.footprint is not None
        return self.footprint.paths

    def tell(self) -> None:
        """There is news: it need not queue any longer."""
        self.news.set()
        if self.queueing is not None:
            self.queueing.cancel()


class Verifiers:
    """The verifiers of one sweep. `limiter`: how many sandboxes verify at once; `most`: units under one check."""

    def __init__(self, repo: Repo, limiter: anyio.CapacityLimiter | None = None, most: int = 1) -> None:
        self._repo = repo
        self.limiter = limiter or anyio.CapacityLimiter(float("inf"))
        self._most = self._size = most
        self._waiting: list[Candidate] = []
        self._seconds = 0.0

    async def judge(self, candidate: Candidate) -> Judgement:
        """What the check says of one change. Raises SandboxFailed, GitFailed."""
        if self._most > 1 and not candidate.alone and candidate.whole and await self._prepare(candidate):
            return await self._in_company(candidate)
        async with self.limiter:
            return await self._alone(candidate)

    async def _prepare(self, candidate: Candidate) -> bool:
        """Can it be put together with others? A change that is too large to be searched for names can't."""
        if sum(len(change.data or b"") for change in candidate.changes) > READABLE_BYTES:
            return False
        contents = {change.path: change.data for change in candidate.changes}
        rest = [os.fsencode(path) for path in candidate.unit.paths if path not in contents]
        sizes = await self._repo.sizes(candidate.snapshot.commit, rest) if rest else {}
        if sum(sizes.values()) > READABLE_BYTES:
            return False
        blobs = await self._repo.blobs(candidate.snapshot.commit, rest) if rest else {}
        base = {os.fsdecode(path): data for path, data in blobs.items()}
        candidate.footprint = footprint_of(candidate.unit, base | contents)
        candidate.changes = ()
        return True

    # --- one candidate's way through the room ---

    async def _in_company(self, candidate: Candidate) -> Judgement:
        self._waiting.append(candidate)
        try:
            while candidate.answer is None:
                if candidate.taken:
                    await candidate.news.wait()
                    candidate.news = anyio.Event()
                elif await self._queue(candidate):
                    try:
                        if not candidate.taken and candidate.answer is None:
                            await self._lead(candidate)
                    finally:
                        self.limiter.release_on_behalf_of(candidate)
            return candidate.answer
        finally:
            candidate.gone = True
            self._give_back(candidate)

    async def _queue(self, candidate: Candidate) -> bool:
        """Wait for a verifier; False if there is news first."""
        acquired = False
        with anyio.CancelScope() as candidate.queueing:
            await self.limiter.acquire_on_behalf_of(candidate)
            acquired = True
        candidate.queueing = None
        return acquired

    def _give_back(self, leader: Candidate) -> None:
        """Whoever waits for `leader` goes on without it."""
        if leader in self._waiting:
            self._waiting.remove(leader)
        for each in leader.group:
            if each is not leader and not each.gone:
                each.taken = False
                self._waiting.append(each)
                each.tell()
        leader.group = []

    async def _lead(self, leader: Candidate) -> None:
        if not leader.group:
            self._waiting.remove(leader)
            leader.group = [leader]
            await self._gather(self._seconds or leader.seconds)
            leader.group = self._choose(leader)
        leader.group = [each for each in leader.group if not each.gone]
        if leader.group == [leader]:
            leader.answer = await self._alone(leader)
            leader.group = []
        else:
            await self._together(leader)

    async def _gather(self, seconds: float) -> None:
        """A moment for those who are about to come; `seconds`: what a check takes."""
        for _ in range(STEPS):
            there = len(self._waiting)
            if there + 1 >= self._size:
                return
            await anyio.sleep(min(LONGEST_GATHER, GATHER * seconds) / STEPS)
            if len(self._waiting) == there:
                return

    def _choose(self, leader: Candidate) -> list[Candidate]:
        """The leader and whatever of the waiting fits to it; they are taken."""
        ready = [leader, *(each for each in self._waiting if each.snapshot.commit == leader.snapshot.commit)]
        places = choose([each.footprint for each in ready if each.footprint is not None], self._size)
        chosen = [ready[place] for place in places]
        for each in chosen[1:]:
            self._waiting.remove(each)
            each.taken = True
            each.tell()
        return chosen

    # --- checks ---

    async def _alone(self, candidate: Candidate) -> Judgement:
        changes = candidate.changes or tuple(await self._repo.changes_of(candidate.commit))
        judged = await verify(
            candidate.check, candidate.name, candidate.snapshot, candidate.unit, candidate.baseline, changes
        )
        if judged.command != candidate.check.argv:
            return judged
        self._seconds = judged.facts.seconds
        return replace(judged, checks=(*candidate.checks, secrets.token_hex(4)))

    async def _together(self, leader: Candidate) -> None:
        group = leader.group
        leader.led += 1
        number = secrets.token_hex(4)
        seen = await self._look(leader, group)
        for each in group:
            each.checks = (*each.checks, number)
        answer = self._answer(group, seen) if seen else NOTHING_PROVEN
        self._size = next_size(self._size, self._most, answer)
        leader.group = []
        if seen is not None and answer.clean:
            for each in group:
                each.answer = _judgement(each, seen, len(group))
                each.tell()
            return
        for places in parts_of(len(group), answer):
            self._go_on([group[place] for place in places])

    async def _look(self, leader: Candidate, group: Sequence[Candidate]) -> Seen | None:
        """The check on everything that the group changes; None if its sandbox failed: no fault of anybody here."""
        changes = [change for each in group for change in await self._repo.changes_of(each.commit)]
        name = replace(leader.name, index=FIRST_INDEX + leader.led)
        try:
            seen = await look(
                leader.check, name, leader.snapshot, leader.check.argv, leader.baseline, sorted(changes, key=_path)
            )
        except SandboxFailed:
            return None
        self._seconds = seen.facts.seconds
        return seen

    def _answer(self, group: Sequence[Candidate], seen: Seen) -> Answer:
        if seen.result.broken:
            return NOTHING_PROVEN
        leader = group[0]
        difference = compare(leader.baseline.all(), seen.after)
        own = frozenset(path for each in group for path in each.touched)
        unread = {path for path in seen.result.unread if path in own or path not in leader.unread}
        members = [Member(each.unit, each.touched, each.baseline.beside(each.unit)) for each in group]
        return attribute(members, difference, seen.after, unread)

    def _go_on(self, part: list[Candidate]) -> None:
        """A part of an unclean batch, which its first member leads from here."""
        living = [each for each in part if not each.gone]
        for place, each in enumerate(living):
            each.taken = place > 0
            each.group = living if place == 0 else []
            each.tell()


def _path(change: Change) -> str:
    return change.path


def _judgement(candidate: Candidate, seen: Seen, together: int) -> Judgement:
    """One member's part of a clean batch."""
    own = [finding for finding in seen.after if finding.path in candidate.touched]
    return Judgement(
        command=seen.command,
        facts=seen.facts,
        result=seen.result,
        difference=compare(candidate.baseline.of(sorted(candidate.touched)), own),
        targeted=0,
        checks=candidate.checks,
        together=together,
    )
