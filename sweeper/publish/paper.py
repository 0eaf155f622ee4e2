"""A forge and a remote on paper: everything is read, and what would be written is kept for a person to see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sweeper.errors import ForgeFailed
from sweeper.forge import marker
from sweeper.forge.contract import Extras, Forge, Published, PullRequest, Rendered, Rights, Wanted
from sweeper.publish.record import Records
from sweeper.publish.upstream import Upstream
from sweeper.repo import Repo

MOST = 1000  # commits that are listed


@dataclass
class Sheet:
    """One pull request on paper."""

    wanted: Wanted
    url: str = ""
    extras: Extras = field(default_factory=Extras)


class PaperForge:
    """`real`: whom to ask, None where there is no token; what it refuses is said, and taken as not being there.

    A pull request that is not yet has a number below zero.
    """

    def __init__(self, real: Forge | None, say: Callable[[str], None]) -> None:
        self._real, self._say = real, say
        self.sheets: dict[int, Sheet] = {}
        self.pushed: dict[str, str] = {}  # branch -> the commit that would be there

    async def rights(self) -> Rights:
        if self._real is None:
            return Rights("", None, "", ("there is no token: the forge is not asked, and a real run would end here",))
        try:
            return await self._real.rights()
        except ForgeFailed as problem:
            return Rights("", None, "", (f"a real run would end here: {problem}",))

    async def find(self, branch: str = "", *, state: str = "open") -> Sequence[PullRequest]:
        if self._real is None:
            return ()
        try:
            return await self._real.find(branch, state=state)
        except ForgeFailed as problem:
            self._say(f"pull request: those that are open can't be read: {problem}")
            self._real = None
            return ()

    async def read(self, number: int) -> PullRequest:
        return self._pull(number, self.sheets[number])

    async def open(self, wanted: Wanted) -> PullRequest:
        number = -1 - len(self.sheets)
        self.sheets[number] = Sheet(wanted)
        return self._pull(number, self.sheets[number])

    async def update(self, known: PullRequest, wanted: Wanted) -> PullRequest:
        sheet = self.sheets.setdefault(known.number, Sheet(wanted, known.url))
        sheet.wanted = replace(wanted, draft=wanted.draft and (known.draft or known.number < 0))
        return replace(self._pull(known.number, sheet), state=known.state, author=known.author, id=known.id)

    async def adorn(self, number: int, extras: Extras) -> Sequence[str]:
        self.sheets[number].extras = extras
        return ()

    async def close(self, number: int, comment: str) -> None:
        self._say(f"pull request: number {number} would be closed")

    def compare_url(self, base: str, branch: str) -> str:
        return self._real.compare_url(base, branch) if self._real else ""

    async def aclose(self) -> None:
        if self._real is not None:
            await self._real.aclose()

    def _pull(self, number: int, sheet: Sheet) -> PullRequest:
        wanted = sheet.wanted
        mark = marker.read(wanted.body)
        head = self.pushed.get(wanted.branch) or (mark.head if mark else "")
        return PullRequest(
            number, sheet.url, "open", wanted.draft, wanted.branch, head, wanted.base, wanted.title, wanted.body,
            author="", ours=True,
        )  # fmt: skip


class PaperRemote:
    """Looks and fetches; a push only says what would be on the branch.

    Where looking fails, a branch is taken to be where it was when it was last fetched, or where we have pushed it
    since; what neither tells is taken not to be there. `remote`: its name here. `base`: the branch to merge into, which
    stands in for the remote's where that was never fetched.
    """

    def __init__(
        self, real: Upstream, forge: PaperForge, repo: Repo, records: Records, say: Callable[[str], None], *,
        remote: str, base: str,
    ) -> None:  # fmt: skip
        self._real, self._forge, self._repo, self._records, self._say = real, forge, repo, records, say
        self._remote, self._base = remote, base
        self._closed = False
        self.url = real.url

    async def heads(self, branches: Iterable[str]) -> dict[str, str]:
        names = list(branches)
        if not self._closed:
            try:
                return await self._real.heads(names)
            except ForgeFailed as problem:
                self._say(
                    f"pull request: a real run would end here: {problem}; its branches are taken to be where they were "
                    "last fetched or pushed from here"
                )
                self._closed = True
        pushed = await self._records.tips()
        found = {name: await self._last(name, pushed.get(name, "")) for name in names}
        return {name: commit for name, commit in found.items() if commit}

    async def _last(self, name: str, pushed: str) -> str:
        fetched = await self._repo.remotes.tracked(self._remote, name)
        if pushed and await self._repo.remotes.has(pushed):
            # our own push moves no remote-tracking branch: only one that has ours in it is newer
            return fetched if fetched and await self._repo.descends(fetched, pushed) else pushed
        return fetched or (await self._repo.branch(name) or "" if name == self._base else "")

    async def fetch(self, branch: str) -> None:
        await self._real.fetch(branch)

    async def push(self, commit: str, branch: str, expected: str | None) -> None:
        self._forge.pushed[branch] = commit


async def render(published: Sequence[Published], forge: PaperForge, repo: Repo) -> list[Rendered]:
    """The pull requests as they would be. Raises GitFailed."""
    found = []
    for each in published:
        sheet = forge.sheets.get(each.number, Sheet(Wanted(each.branch, each.base, "", "", draft=each.draft), each.url))
        mark, extras = marker.read(sheet.wanted.body), sheet.extras
        found.append(
            Rendered(
                sweep=each.sweep,
                part=each.part,
                operation=each.operation,
                url=each.url,
                branch=each.branch,
                base=each.base,
                head=each.head,
                draft=each.draft,
                title=sheet.wanted.title,
                body=sheet.wanted.body,
                labels=tuple(extras.labels),
                reviewers=tuple(extras.reviewers),
                assignees=tuple(extras.assignees),
                milestone=extras.milestone,
                commits=tuple(await _commits(repo, each.head, mark.onto)) if mark else (),
            )
        )
    return found


async def _commits(repo: Repo, tip: str, onto: str) -> list[tuple[str, str]]:
    """(commit, subject) on the branch beyond `onto`, the oldest first."""
    line = await repo.remotes.beyond(tip, onto, MOST)
    return [(commit, (await repo.commit_of(commit)).message.split("\n", 1)[0]) for commit in line]
