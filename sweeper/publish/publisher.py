"""From a run's tip to pull requests that were read back."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace

import anyio

from sweeper.backlog.child import Parser
from sweeper.backlog.ownership import owners_of
from sweeper.config.models import PullRequestConfig
from sweeper.errors import DispatcherBusy, ForgeFailed
from sweeper.forge import marker
from sweeper.forge.contract import Forge, Published, Rights
from sweeper.forge.github import ACTIONS_BOT
from sweeper.forge.split import Item, Share, split
from sweeper.forge.story import Part
from sweeper.gate.gate import TOGETHER
from sweeper.ledger.contract import Ledger, Run
from sweeper.publish import where
from sweeper.publish.branching import Branched, Branching
from sweeper.publish.fitting import put
from sweeper.publish.line import Judge
from sweeper.publish.opening import UNDER_WAY, Opening
from sweeper.publish.pieces import Piece, pieces_of
from sweeper.publish.record import Records
from sweeper.publish.tell import BOT, Teller
from sweeper.publish.upstream import Upstream
from sweeper.repo import Repo

CLOSED = "Nothing is left to change: the base has no finding of this sweep that a unit could fix. Closed by sweeper."
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+@=-]*")


class Publisher:
    """One command's way to the forge. `base`: the revision that the run was asked for."""

    def __init__(
        self, repo: Repo, ledger: Ledger, forge: Forge, remote: Upstream, config: PullRequestConfig, *,
        say: Callable[[str], None], base: str = "HEAD", parser: Parser, records: Records | None = None,
        clock: Callable[[], float] = time.time, sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:  # fmt: skip
        self._repo, self._ledger, self._forge, self._remote, self._config = repo, ledger, forge, remote, config
        self._say, self._base, self._parser, self._clock, self._sleep = say, base, parser, clock, sleep
        self._records = records or Records(ledger)
        self._branching = Branching(repo, self._records, forge, remote, config, say=say, clock=clock)
        self._opening: Opening | None = None
        self._target = ""

    async def aclose(self) -> None:
        await self._forge.aclose()

    async def preflight(self, sweeps: Sequence[str]) -> None:
        """Before anything is spent: may the token do it, is the base there, is another machine's run at it?

        Raises ForgeFailed, DispatcherBusy.
        """
        rights = await self._forge.rights()
        for line in rights.unknown:
            self._say(f"pull request: {line}")
        if rights.login == ACTIONS_BOT:
            self._say(f"pull request: {BOT}")
        await self._begin(rights)
        pulls = await self._forge.find()
        for sweep in sweeps:
            runs = set(await self._records.runs(sweep))
            for pull in where.mine(pulls, sweep):
                mark = marker.read(pull.body)
                if mark and mark.run not in runs and mark.until > self._clock():
                    raise DispatcherBusy(
                        f"run {mark.run} of sweep {sweep!r} is under way on another machine: {pull.url}",
                        hint=f"wait for it, or close its pull request; {UNDER_WAY // 60} silent minutes end it",
                    )

    async def _begin(self, rights: Rights) -> Opening:
        self._target = await self._base_branch(rights)
        self._opening = Opening(
            self._repo,
            self._forge,
            self._config,
            target=self._target,
            bot=rights.login == ACTIONS_BOT,
            say=self._say,
            clock=self._clock,
            sleep=self._sleep,
        )
        return self._opening

    async def _base_branch(self, rights: Rights) -> str:
        """The branch to merge into: the configured one, the one that was swept, or the default one."""
        asked = await self._repo.remotes.current_branch() if self._base == "HEAD" else self._base
        wished = self._config.base or asked
        names = [wished] if self._config.base else [wished, *filter(None, [rights.default_branch])]
        heads = await self._remote.heads([name for name in names if NAME.fullmatch(name)])
        found = next((name for name in names if name in heads), None)
        if found is None:
            raise ForgeFailed(
                f"the remote {self._remote.url} has no branch {names[-1]!r}",
                hint="push it first, or name the branch to merge into with [pull_request] base",
                reason="missing",
            )
        if wished and found != wished:
            self._say(f"pull request: the remote has no branch {wished}: it goes to {found}")
        return found

    async def publish(self, run: Run, judge: Judge) -> list[Published]:
        """The run's tip as pull requests, each read back; none where nothing is fixed.

        `run.ended` says whether more is to come. Raises ForgeFailed, GitFailed, CheckBroken, SandboxFailed.
        """
        opening = self._opening or await self._begin(await self._forge.rights())
        teller = await Teller.of(run, self._ledger)
        parts, notes = await self._branches(run, judge) if run.tip != run.base else ([], [])
        done: list[Published] = []
        index = _index(parts)
        for number, part in enumerate(parts):
            first = number == 0
            told = index if first else ()
            published, pull = await opening.open(run, part, teller, notes=notes, index=told, first=first)
            parts[number] = replace(part, place=replace(part.place, pull=pull, tip=part.line.tip))
            done.append(published)
        if (whole := _index(parts)) != index:  # numbers that only their opening gave
            done[0], _ = await opening.open(run, parts[0], teller, notes=notes, index=whole, first=True)
        if run.ended:
            done += await self._superfluous(run, teller, {each.number for each in done})
        return done

    async def _branches(self, run: Run, judge: Judge) -> tuple[list[Branched], list[str]]:
        """Every part's branch pushed, and what is to be said of the base."""
        pieces = await pieces_of(run, self._repo, self._ledger, paths=self._config.split != "none")
        onto, notes = await self._onto(run)
        shares = await self._shares(run, pieces, onto, judge)
        pulls = await self._forge.find()
        parts = []
        for share in shares:
            own = _own(share, pieces)
            part = await self._branching.put(run, share, own, onto, judge, pulls=pulls, whole=len(shares) == 1)
            if part is not None:
                parts.append(part)
        return parts, notes

    async def _shares(self, run: Run, pieces: Sequence[Piece], onto: str, judge: Judge) -> list[Share]:
        owners = await self._owners(run, pieces) if self._config.split == "owners" else {}
        bonds: set[str] = set()
        while True:
            items = [
                Item(piece.commit, piece.paths, piece.rules, piece.batch if piece.batch in bonds else "")
                for piece in pieces
            ]
            shares = split(items, self._config.split, lambda path: owners.get(path, ()))
            more = await _needed(shares, pieces, onto, judge)
            if not more - bonds:
                return shares
            bonds |= more
            self._say(f"{run.sweep}: changes that hold only together stay in one part")

    async def _owners(self, run: Run, pieces: Sequence[Piece]) -> Mapping[str, Sequence[str]]:
        paths = sorted({path for piece in pieces for path in piece.paths})
        ownership = await owners_of(self._repo, self._parser, run.base, paths)
        for note in ownership.notes:
            self._say(f"{run.sweep}: {note}")
        return ownership.of

    async def _onto(self, run: Run) -> tuple[str, list[str]]:
        """The commit that the branch is to stand on, and what there is to say of it."""
        tip = (await self._remote.heads([self._target])).get(self._target, "")
        if not tip:
            raise ForgeFailed(f"the base {self._target} is gone from the remote", reason="missing")
        if tip == run.base:
            return tip, []
        await self._branching.bring(run, self._target, tip)
        if await self._repo.descends(run.base, tip):
            what = f"{self._target} on the remote lacks commits that the run stood on"
        else:
            what = f"{self._target} has moved on the remote"
        said = f"{what}: every change is put on its tip {tip[:12]}, one by one, and the whole is judged again"
        self._say(f"{run.sweep}: {said}")
        return tip, [f"{said}."]

    async def _superfluous(self, run: Run, teller: Teller, current: Collection[int]) -> list[Published]:
        """Our open pull requests that this run has no use for: closed if that is asked for, else named."""
        if not current and not teller.report.drained:
            return []  # what an earlier run fixed may still be wanted
        closed = []
        for pull in where.mine(await self._forge.find(), run.sweep):
            mark = marker.read(pull.body)
            if pull.number in current or mark is None:
                continue
            if pull.head != mark.head:
                self._say(
                    f"{run.sweep}: this run has no use for {pull.url}, which has a person's commits: it stays open"
                )
            elif not self._config.auto_close:
                self._say(f"{run.sweep}: {pull.url} has nothing left to change; [pull_request] auto_close closes such")
            else:
                await self._forge.close(pull.number, CLOSED)
                closed.append(Published.of(pull, run.sweep, mark.part, "closed"))
        return closed


async def _needed(shares: Sequence[Share], pieces: Sequence[Piece], onto: str, judge: Judge) -> set[str]:
    """Checks of several changes that the split tears apart, although a part of them is not fixed without the rest.

    The judge knows a part again when its branch is built.
    """
    found: set[str] = set()
    for share in shares:
        own = _own(share, pieces)
        torn = {piece.batch for piece in own if piece.batch} & {
            piece.batch for piece in pieces if piece.commit not in share.ids
        }
        if torn:
            culprits = (await judge(onto, put(own))).culprits
            blamed = {key for key, verdict in culprits.items() if verdict.reason == TOGETHER}
            found |= {piece.batch for piece in own if piece.commit in blamed} & torn
    return found


def _own(share: Share, pieces: Sequence[Piece]) -> list[Piece]:
    ids = set(share.ids)
    return [piece for piece in pieces if piece.commit in ids]


def _index(parts: Sequence[Branched]) -> list[Part]:
    """All parts for the first one's text; nothing where there is only one."""
    return [
        Part(
            label=part.share.label,
            units=len({piece.unit for piece in part.pieces}),
            number=part.place.pull.number if part.place.pull and part.place.pull.number > 0 else None,
        )
        for part in parts
        if len(parts) > 1
    ]
