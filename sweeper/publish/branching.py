"""The branch of one part: which one, what stands there, what goes on it, and the push."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sweeper.config.models import PullRequestConfig
from sweeper.errors import CheckBroken, ForgeFailed
from sweeper.forge.contract import Forge, PullRequest
from sweeper.forge.split import Share
from sweeper.ledger.contract import Run
from sweeper.publish import where
from sweeper.publish.line import Judge, Line, build, form
from sweeper.publish.pieces import Piece
from sweeper.publish.record import Record, Records
from sweeper.publish.upstream import Upstream
from sweeper.publish.where import How, Place, Seen
from sweeper.repo import Repo

AGAIN = 3  # tries where somebody pushes between our look and our push


@dataclass(frozen=True)
class Branched:
    """A part whose branch is on the remote as it should be."""

    share: Share
    pieces: Sequence[Piece]
    place: Place
    line: Line
    onto: str


class Branching:
    """`clock`: epoch seconds."""

    def __init__(
        self, repo: Repo, records: Records, forge: Forge, remote: Upstream, config: PullRequestConfig, *,
        say: Callable[[str], None], clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self._repo, self._records, self._forge, self._remote = repo, records, forge, remote
        self._config, self._say, self._clock = config, say, clock

    async def put(
        self, run: Run, share: Share, pieces: Sequence[Piece], onto: str, judge: Judge, *,
        pulls: Sequence[PullRequest], whole: bool,
    ) -> Branched | None:  # fmt: skip
        """Push the part; None if there is nothing to put on `onto`. `pulls`: the open ones, as they were just seen.

        Raises ForgeFailed, CheckBroken, SandboxFailed.
        """
        for left in reversed(range(AGAIN)):
            try:
                seen = await self._look(run, share.slug, pulls)
                if said := where.declined(seen, (await self._records.of(run)).get(share.slug), run.tip):
                    self._say(f"{run.sweep}: {said}")
                    return None
                return await self._put(run, share, pieces, onto, judge, seen, whole=whole)
            except ForgeFailed as problem:
                if problem.reason != "stale" or not left:
                    raise
                self._say(f"{run.sweep}: {problem}; looking again")
                pulls = await self._forge.find()
        raise AssertionError("unreachable")

    async def _put(
        self, run: Run, share: Share, pieces: Sequence[Piece], onto: str, judge: Judge, seen: Seen, *, whole: bool
    ) -> Branched | None:
        place, line = await self._build(run, share, pieces, onto, judge, seen, whole=whole)
        for note in (place.said, *line.notes, *(f"not on the branch: {title}: {why}" for title, why in line.left)):
            if note:
                self._say(f"{run.sweep}: {note}")
        if line.tip == onto:
            return None
        # Where we only add, what stood there is somebody's: it must not pass for ours if the push never happens.
        shared = place.how is How.ON_TOP
        previous = "" if shared else place.tip
        if line.moved and line.tip != place.tip:
            kept = Record(share.slug, place.branch, line.tip, previous, shared=shared)
            # Before the push, so that whoever goes on after a crash knows its own commit again; by the settings that
            # it does not have yet, the rest is built anew then.
            await self._records.remember(run, kept)
            await self.keep(run, line.tip)
            await self._remote.push(line.tip, place.branch, place.tip or None)
        done = Record(
            part=share.slug,
            branch=place.branch,
            head=line.tip,
            previous=previous,
            source=run.tip,
            onto=onto,
            form=form(self._config, pieces),
            left=line.left,
            notes=line.notes,
            shared=shared,
        )
        await self._records.remember(run, done)
        return Branched(share, pieces, place, line, onto)

    async def _build(
        self, run: Run, share: Share, pieces: Sequence[Piece], onto: str, judge: Judge, seen: Seen, *, whole: bool
    ) -> tuple[Place, Line]:
        record = (await self._records.of(run)).get(share.slug)
        avoided: frozenset[str] = frozenset()
        while True:
            place = await self._place(run, share.slug, replace(seen, avoided=avoided))
            mine = record if record and record.branch == place.branch else None
            try:
                line = await build(
                    self._repo, run, self._config, pieces,
                    onto=onto, place=place, record=mine, judge=judge, whole=whole,
                )  # fmt: skip
                return place, line
            except CheckBroken as problem:
                if place.how is not How.ON_TOP:
                    raise
                self._say(f"{run.sweep}: nothing can be added to {place.branch}: {problem}; a new branch is taken")
                avoided |= {place.branch}

    async def bring(self, run: Run, branch: str, tip: str) -> None:
        """A commit of the remote, kept as long as the run's own."""
        if not await self._repo.remotes.has(tip):
            await self._remote.fetch(branch)
        await self.keep(run, tip)

    async def keep(self, run: Run, commit: str) -> None:
        await self._repo.create_ref(f"refs/sweeper/{run.id}/remote/{commit}", commit)

    def branch(self, run: Run, part: str) -> str:
        """The usual branch of a part."""
        name = self._config.branch.replace("{sweep}", run.sweep)
        return f"{name}-{part}" if part else name

    async def _look(self, run: Run, part: str, open_ones: Sequence[PullRequest]) -> Seen:
        pulls = {pull.number: pull for pull in open_ones}
        runs = frozenset(await self._records.runs(run.sweep))
        known, shared = await self._records.heads(run.sweep)
        seen = Seen({}, tuple(pulls.values()), known, runs, self._clock(), shared=frozenset(shared))
        names = where.candidates(seen, run.sweep, part, self.branch(run, part), run.id)
        for name in names:
            pulls |= {pull.number: pull for pull in await self._forge.find(name, state="all")}
        return replace(seen, heads=await self._remote.heads(names), pulls=tuple(pulls.values()))

    async def _place(self, run: Run, part: str, seen: Seen) -> Place:
        wanted = self.branch(run, part)
        follows: set[tuple[str, str]] = set()
        for branch in where.candidates(seen, run.sweep, part, wanted, run.id):
            tip, ours = seen.heads.get(branch), where.ours(seen, run.sweep, part, branch)
            if tip and ours and tip not in ours:
                await self.bring(run, branch, tip)
                for head in ours:
                    if await self._repo.remotes.has(head) and await self._repo.descends(tip, head):
                        follows.add((tip, head))
        place = where.choose(seen, run.sweep, part, wanted, run.id, lambda tip, head: (tip, head) in follows)
        if place is None:
            raise ForgeFailed(
                f"{wanted} and {wanted}-{run.id} both hold somebody's commits on the remote, or were closed there",
                hint="delete one of them there, or name another with [pull_request] branch",
                reason="occupied",
            )
        if place.tip:
            await self.bring(run, place.branch, place.tip)
        return place
