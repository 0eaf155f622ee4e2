"""A part's pull request: opened or updated, and read back."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio

from sweeper.config.models import PullRequestConfig
from sweeper.errors import ForgeFailed
from sweeper.forge import body as bodies
from sweeper.forge import marker
from sweeper.forge.contract import Extras, Forge, Published, PullRequest, Wanted
from sweeper.forge.github import ACTIONS_BOT
from sweeper.forge.story import Part, Story
from sweeper.ledger.contract import Run
from sweeper.publish.branching import Branched
from sweeper.publish.tell import BOT, Teller, commits_by_unit
from sweeper.publish.where import How
from sweeper.repo import Repo
from sweeper.report.escape import inert
from sweeper.scheduler import Why

LOOKS = 8  # at a pull request whose head is not yet what was pushed
UNDER_WAY = 3600  # seconds without a sign of life after which another machine's run is taken to be over


class Opening:
    """`target`: the base branch. `bot`: whether the token is an Actions job's; learned from what it opens, too."""

    def __init__(
        self, repo: Repo, forge: Forge, config: PullRequestConfig, *, target: str, bot: bool,
        say: Callable[[str], None], clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:  # fmt: skip
        self._repo, self._forge, self._config = repo, forge, config
        self._target, self._bot, self._say, self._clock, self._sleep = target, bot, say, clock, sleep
        self._created: set[int] = set()  # by this command, perhaps rounds ago

    async def open(
        self, run: Run, part: Branched, teller: Teller, *, notes: Sequence[str], index: Sequence[Part], first: bool
    ) -> tuple[Published, PullRequest]:
        """The part's pull request as it was read back. Raises ForgeFailed; the branch is pushed by then."""
        place, line = part.place, part.line
        story = teller.story(
            part.pieces,
            base=self._target,
            onto=part.onto,
            branch=place.branch,
            commits=await commits_by_unit(self._repo, line.tip, part.onto, len(part.pieces) + 1000),
            tip=line.tip,
            left=line.left,
            notes=[*notes, *([f"{place.said}."] if place.said and place.how is How.ON_TOP else []), *line.notes],
            label=part.share.label,
            index=index,
            first=first,
            shared=place.how is How.ON_TOP,
        )
        try:
            pull, operation = await self._send(run, part, story)
            pull = await self._read_back(pull.number, line.tip)
        except ForgeFailed as problem:
            url = self._forge.compare_url(self._target, place.branch)
            hint = "\n".join(
                filter(None, (problem.hint, f"{place.branch} is pushed; by hand it is opened here: {url}"))
            )
            raise ForgeFailed(str(problem), hint=hint, reason=problem.reason) from problem
        return Published.of(pull, run.sweep, part.share.label, operation, (BOT,) if self._bot else ()), pull

    async def _send(self, run: Run, part: Branched, story: Story) -> tuple[PullRequest, str]:
        known = part.place.pull
        if known is not None:
            wanted = self._wanted(run, part, story, known)
            pull = await self._forge.update(known, wanted)
            moved = part.line.tip != part.place.tip or replace(pull, head="") != replace(known, head="")
            return pull, "created" if pull.number in self._created else "updated" if moved else "none"
        pull = await self._forge.open(self._wanted(run, part, story, None))
        if pull.author == ACTIONS_BOT and not self._bot:
            self._bot = True  # only now it shows whose the token is
            self._say(f"pull request {pull.number}: {BOT}")
            pull = await self._forge.update(pull, self._wanted(run, part, story, pull))
        self._created.add(pull.number)
        config = self._config
        extras = Extras(config.labels, config.reviewers, config.assignees, config.milestone)
        for problem in await self._forge.adorn(pull.number, extras):
            self._say(f"pull request {pull.number}: {problem}")
        return pull, "created"

    def _wanted(self, run: Run, part: Branched, story: Story, known: PullRequest | None) -> Wanted:
        story = replace(story, notes=(*((BOT,) if self._bot else ()), *story.notes))
        title, titled = self._title(story), ""
        mark = marker.read(known.body) if known else None
        if known and mark and mark.titled and mark.titled != _digest(known.title):
            title, titled = known.title, mark.titled  # a person gave it another one, which stays
        base = self._target
        if known and mark and mark.base not in ("", _digest(known.base)):
            base = known.base
            self._say(f"pull request {known.number}: it goes to {base}, as a person has it")
        drafted = bool(known and known.draft and mark and mark.ready)
        ready = self._config.draft == "never" or (self._config.draft == "until-drained" and run.ended == Why.DRAINED)
        stamp = marker.Marker(
            sweep=run.sweep,
            run=run.id,
            part=part.share.slug,
            head=part.line.tip,
            onto=part.onto,
            until=0 if run.ended else int(self._clock()) + UNDER_WAY,
            titled=titled or _digest(title),
            shared=part.place.how is How.ON_TOP,
            base=mark.base if mark and base != self._target else _digest(self._target),
            ready=ready or drafted,
        )
        text = bodies.within(known.body if known else "", lambda most: bodies.body(story, marker.write(stamp), most))
        return Wanted(part.place.branch, base, title, text, draft=drafted or not ready)

    def _title(self, story: Story) -> str:
        if not self._config.title:
            return bodies.title(story)
        values = {
            "sweep": story.sweep,
            "part": inert(story.part, 80),
            "fixed": str(story.fixed),
            "remaining": str(story.remaining),
            "units": str(len(story.changes)),
        }
        return " ".join(self._config.title.format(**values).split())[: bodies.TITLE] or bodies.title(story)

    async def _read_back(self, number: int, tip: str) -> PullRequest:
        """The pull request once its head is what was pushed; a forge may take a moment to see it."""
        for look in range(LOOKS):
            pull = await self._forge.read(number)
            if pull.head == tip:
                return pull
            await self._sleep(min(0.25 * 2**look, 5.0))
        raise ForgeFailed(
            f"the head of pull request {number} is {pull.head[:12]}, but {tip[:12]} was pushed",
            hint="somebody pushed to it meanwhile, or the forge is behind: `sweeper pr` looks again",
            reason="unread",
        )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
