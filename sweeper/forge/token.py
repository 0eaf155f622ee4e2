"""The token: from the environment, or from the user's own `gh`. It is kept in memory only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sweeper.errors import ForgeFailed
from sweeper.forge.address import Address

PUBLIC = ("GH_TOKEN", "GITHUB_TOKEN")
ENTERPRISE = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
NAMES = (*PUBLIC, *ENTERPRISE)
GH_WALL = 15.0  # seconds; gh may ask a keyring


@dataclass(frozen=True, slots=True)
class Token:
    """`source`: where it came from, for people."""

    value: str = field(repr=False)
    source: str


def find(
    address: Address, environ: Mapping[str, str], *, name: str = "", gh: Callable[[str], str] | None = None
) -> Token:
    """The token for this forge's host: of the variable `name`, of the host's usual ones, or `gh auth token`.

    A token of github.com is never offered to another host, unless the runner says that it is its server
    (GITHUB_SERVER_URL). A variable that is empty is not set. Raises ForgeFailed if there is none.
    """
    if name:
        if value := environ.get(name, "").strip():
            return Token(value, name)
        raise ForgeFailed(
            f"{name} is not set, and [pull_request] token names it", hint="export it", reason="unauthorised"
        )
    names = names_for(address, environ)
    for each in names:
        if value := environ.get(each, "").strip():
            return Token(value, each)
    if value := (gh or ask_gh)(address.host):
        return Token(value, "gh auth token")
    raise ForgeFailed(
        f"no token for {address.host}",
        hint=f"export {' or '.join(names)}, or log in with `gh auth login`",
        reason="unauthorised",
    )


def names_for(address: Address, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that may hold a token for this host, the first wins."""
    if address.host == "github.com" or address.host.endswith(".ghe.com"):
        return PUBLIC
    if urlsplit(environ.get("GITHUB_SERVER_URL", "")).netloc == address.host:
        return (*ENTERPRISE, *PUBLIC)
    return ENTERPRISE


def ask_gh(host: str) -> str:
    """What the user's gh says, "" if there is none or it is not logged in there."""
    words = ["gh", "auth", "token", "--hostname", host]
    quiet = os.environ | {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1"}
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=GH_WALL, check=False, stdin=subprocess.DEVNULL, env=quiet
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
