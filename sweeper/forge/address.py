"""From a remote's URL to the forge that it belongs to: where its API is, and which repository it means. Pure."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from sweeper.errors import ConfigError

SCP = re.compile(r"(?:[^@/\s]+@)?(\[[0-9A-Fa-f:.]+\]|[^:/\s]+):(?!//)(.+)")
NAME = re.compile(r"[A-Za-z0-9._-]+")
OTHERS = ("gitlab.com", "bitbucket.org", "codeberg.org", "dev.azure.com", "ssh.dev.azure.com")
HINT = 'set [pull_request] repository = "owner/name", and `api` where it is not github.com'


@dataclass(frozen=True, slots=True)
class Address:
    """`host` with its port: the forge's, whose token it takes. `web`: where people look, `api`: where the REST API is,
    both without a final slash."""

    host: str
    owner: str
    name: str
    web: str
    api: str

    @property
    def full(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def graphql(self) -> str:
        """GitHub's own host has it beside the REST API, Enterprise below /api."""
        return self.api.removesuffix("/v3") + "/graphql"


def find(url: str, *, api: str = "", repository: str = "") -> Address:
    """The forge of a remote's URL. `api`: the base address of an Enterprise API. `repository`: "owner/name".

    Raises ConfigError for a URL that names no repository of a forge, or a host that is not GitHub's.
    """
    scheme, host, path = _parts(url)
    owner, name = _repository(repository or path, url)
    if not host and not api:
        raise ConfigError(f"the remote {shown(url)} is on no forge", hint=HINT)
    if host.rpartition(":")[0] in OTHERS or host in OTHERS:
        raise ConfigError(f"{host} is not GitHub, and only GitHub's API is spoken", hint="push the branch by hand")
    if api:
        # The token is for the host that it is sent to, whatever the remote is called here.
        web = _origin(api)
        return Address(urlsplit(web).netloc, owner, name, web, api.rstrip("/"))
    return Address(host, owner, name, f"{scheme}://{host}", _api(scheme, host))


def shown(url: str) -> str:
    """A URL without what a person must not see in it: user and password."""
    return re.sub(r"(?<=://)[^/@\s]+@", "", url)


def password(url: str) -> str:
    """The password in a URL, or a token in the user's place; "" without one."""
    if "://" not in url:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https"):
        return ""
    return parts.password or (parts.username or "")


def loopback(host: str) -> bool:
    """Whether a host (perhaps with a port) is this machine, so that plain http crosses no wire."""
    bare = urlsplit(f"//{host}").hostname or ""
    if bare == "localhost":
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def _parts(url: str) -> tuple[str, str, str]:
    """(scheme of the web address, host, path)."""
    if "://" in url:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as problem:
            raise ConfigError(f"the remote {shown(url)} is no URL: {problem}", hint=HINT) from None
        host = parts.hostname or ""
        if parts.scheme in ("http", "https"):
            return parts.scheme, f"{host}:{port}" if port else host, parts.path
        if parts.scheme in ("ssh", "git", "git+ssh"):
            return "https", _known(host), parts.path
        return "https", "", parts.path
    if found := SCP.fullmatch(url):
        return "https", _known(found[1]), found[2]
    return "https", "", url


def _known(host: str) -> str:
    return "github.com" if host == "ssh.github.com" else host


def _repository(path: str, url: str) -> tuple[str, str]:
    words = path.strip("/").removesuffix(".git").split("/")
    if len(words) < 2 or not all(NAME.fullmatch(word) and word.strip(".") for word in words[-2:]):
        raise ConfigError(f"the remote {shown(url)} names no repository as owner/name", hint=HINT)
    return words[-2], words[-1]


def _api(scheme: str, host: str) -> str:
    if host == "github.com":
        return "https://api.github.com"
    if host.endswith(".ghe.com"):
        return f"https://api.{host}"
    return f"{scheme}://{host}/api/v3"


def _origin(api: str) -> str:
    parts = urlsplit(api)
    public = parts.netloc == "api.github.com" or parts.netloc.endswith(".ghe.com")
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.') if public else parts.netloc}"
