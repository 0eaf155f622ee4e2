"""The way to the forge, wired: address, token, the user's git; and the publisher over them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from anyio import to_thread

from sweeper.cli.console import Console
from sweeper.config import Config
from sweeper.errors import ConfigError
from sweeper.forge import address as addresses
from sweeper.forge.contract import Published
from sweeper.forge.token import find
from sweeper.ledger.contract import Ledger
from sweeper.repo import Repo
from sweeper.report.escape import terminal

if TYPE_CHECKING:  # slow to import: an HTTP client
    from sweeper.backlog.child import Parser
    from sweeper.publish.publisher import Publisher


@asynccontextmanager
async def publisher(
    repo: Repo, ledger: Ledger, config: Config, console: Console, *, parser: Parser, base: str = "HEAD"
) -> AsyncIterator[tuple[Publisher, tuple[str, ...]]]:
    """The publisher of this repository, and the secrets that it knows, which no change may contain.

    Raises ConfigError for a remote that is on no forge, ForgeFailed if there is no token.
    """
    from sweeper.forge.github import GitHub
    from sweeper.publish.publisher import Publisher

    chosen = config.pull_request
    url = await repo.remotes.url(chosen.remote)
    address = addresses.find(url, api=chosen.api or _api(url, console), repository=chosen.repository)
    password, url = addresses.password(url), addresses.shown(url)
    for place in (address.api, url):
        if place.startswith("http://") and not addresses.loopback(urlsplit(place).netloc):
            raise ConfigError(f"{place}: a token is never sent over plain http", hint="use https")
    token = await to_thread.run_sync(lambda: find(address, console.environ, name=chosen.token))
    # over ssh, and on another host than the API's, the user's own git knows how to get in
    for_push = token.value if urlsplit(url).scheme in ("http", "https") and _same_host(url, address) else ""
    console.say(f"pull request: {address.full} on {address.host}, token from {token.source}")
    made = Publisher(
        repo,
        ledger,
        GitHub(address, token, say=console.say),
        repo.remotes.at(url, for_push),
        chosen,
        say=console.say,
        base=base,
        parser=parser,
    )
    try:
        yield made, tuple(filter(None, (token.value, password)))
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
