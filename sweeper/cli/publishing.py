"""The way to the forge, wired: address, token, the user's git; and the publisher over them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from anyio import to_thread

from sweeper.cli.console import Console
from sweeper.config.models import Config
from sweeper.errors import ConfigError, ForgeFailed
from sweeper.forge import address as addresses
from sweeper.forge.contract import Forge, Published, Rendered
from sweeper.forge.token import Token, find
from sweeper.ledger.contract import Ledger
from sweeper.repo import Repo
from sweeper.report.escape import terminal

if TYPE_CHECKING:  # slow to import: an HTTP client
    from sweeper.backlog.child import Parser
    from sweeper.publish.paper import PaperForge
    from sweeper.publish.publisher import Publisher
    from sweeper.publish.upstream import Upstream


@dataclass(frozen=True)
class Way:
    """The publisher of this repository. `secrets`: its token, which no change may contain. `paper`: of a dry run."""

    publisher: Publisher
    secrets: tuple[str, ...]
    repo: Repo
    paper: PaperForge | None = None

    async def rendered(self, published: Sequence[Published]) -> list[Rendered]:
        """What was published on paper, as it would be. Raises GitFailed."""
        from sweeper.publish.paper import render

        return await render(published, self.paper, self.repo) if self.paper else []


@asynccontextmanager
async def publisher(
    repo: Repo, ledger: Ledger, config: Config, console: Console, *, parser: Parser, base: str = "HEAD",
    paper: bool = False,
) -> AsyncIterator[Way]:  # fmt: skip
    """The way to the forge. On `paper` nothing is written there or remembered, and there may be no token.

    Raises ConfigError for a remote that is on no forge, ForgeFailed if there is no token.
    """
    from sweeper.forge.github import GitHub
    from sweeper.publish.paper import PaperForge, PaperRemote
    from sweeper.publish.publisher import Publisher
    from sweeper.publish.record import Records

    chosen = config.pull_request
    url = await repo.remotes.url(chosen.remote)
    address = addresses.find(url, api=chosen.api or _api(url, console), repository=chosen.repository)
    password, url = addresses.password(url), addresses.shown(url)
    for place in (address.api, url):
        if place.startswith("http://") and not addresses.loopback(urlsplit(place).netloc):
            raise ConfigError(f"{place}: a token is never sent over plain http", hint="use https")
    try:
        token = await to_thread.run_sync(lambda: find(address, console.environ, name=chosen.token))
    except ForgeFailed:
        if not paper:
            raise
        token = Token("", "nowhere: the forge is not asked")
    # over ssh, and on another host than the API's, the user's own git knows how to get in
    for_push = token.value if urlsplit(url).scheme in ("http", "https") and _same_host(url, address) else ""
    console.say(f"pull request: {address.full} on {address.host}, token from {token.source}")
    forge: Forge = GitHub(address, token, say=console.say)
    remote: Upstream = repo.remotes.at(url, for_push)
    records, sheets = Records(ledger, kept=not paper), None
    if paper:
        forge = sheets = PaperForge(forge if token.value else None, console.say)
        target = chosen.base or (await repo.remotes.current_branch() if base == "HEAD" else base)
        remote = PaperRemote(remote, sheets, repo, records, console.say, remote=chosen.remote, base=target)
    made = Publisher(
        repo,
        ledger,
        forge,
        remote,
        chosen,
        say=console.say,
        base=base,
        parser=parser,
        records=records,
    )
    try:
        yield Way(made, tuple(filter(None, (token.value, password))), repo, sheets)
    finally:
        await made.aclose()


def lines(published: list[Published]) -> str:
    """One line a pull request."""
    return "".join(
        f"pull request: {each.url} {each.operation}{', draft' if each.draft else ''}"
        f"{f', {terminal(each.part)}' if each.part else ''}\n"
        for each in published
    )


def _api(url: str, console: Console) -> str:
    """The API's address as an Actions runner says it, where the remote is on that runner's server."""
    server = console.environ.get("GITHUB_SERVER_URL", "")
    same = server and urlsplit(server).netloc == urlsplit(addresses.shown(url)).netloc
    return console.environ.get("GITHUB_API_URL", "") if same else ""


def _same_host(url: str, address: addresses.Address) -> bool:
    return urlsplit(url).netloc == address.host
