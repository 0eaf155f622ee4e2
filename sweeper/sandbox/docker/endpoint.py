"""Which docker engine this user's command line talks to, found as the command line finds it.

DOCKER_HOST, then DOCKER_CONTEXT, then the current context of the client's configuration, then the sockets where
engines are known to listen. The first that names an engine decides: a broken one is never passed over for another,
because that would start sandboxes on a machine which nobody chose.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker.tls import TLSConfig

from sweeper.errors import SandboxFailed


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an engine listens. `source` says what named it; `tried` what was looked at before."""

    url: str
    source: str
    tls: TLSConfig | None = field(default=None, repr=False)
    tried: tuple[str, ...] = ()


def find_endpoint(environ: Mapping[str, str], home: Path) -> Endpoint:
    """The engine of this environment. Raises SandboxFailed (final) with the list of what was tried."""
    if host := environ.get("DOCKER_HOST", ""):
        return Endpoint(as_url(host), "DOCKER_HOST", environment_tls(environ, home))
    tried = ["DOCKER_HOST is not set"]
    settings = Path(environ.get("DOCKER_CONFIG") or home / ".docker")
    name, source = environ.get("DOCKER_CONTEXT", ""), "DOCKER_CONTEXT"
    if not name:
        tried.append("DOCKER_CONTEXT is not set")
        source = f"currentContext of {settings / 'config.json'}"
        name = str(read_json(settings / "config.json").get("currentContext", ""))
    if name and name != "default":
        return context_endpoint(name, f"{source} = {name}", settings, tuple(tried))
    tried.append(f"{source} = default" if name else f"no {source}")
    for path in well_known_sockets(environ, home):
        if path.exists():
            return Endpoint(f"unix://{path}", f"the socket {path}", tried=tuple(tried))
        tried.append(f"no {path}")
    raise SandboxFailed(
        "no docker engine was found; tried: " + "; ".join(tried),
        hint="start an engine, or set DOCKER_HOST; `--sandbox bubblewrap` needs none on Linux",
    )


def as_url(host: str) -> str:
    """A bare path is a unix socket, as some tools write it into DOCKER_HOST."""
    return f"unix://{host}" if host.startswith("/") else host


def well_known_sockets(environ: Mapping[str, str], home: Path) -> list[Path]:
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return [
        Path("/var/run/docker.sock"),
        Path(runtime) / "docker.sock",
        home / ".docker/run/docker.sock",
        home / ".docker/desktop/docker.sock",
        home / ".colima/default/docker.sock",
        home / ".colima/docker.sock",
        home / ".orbstack/run/docker.sock",
        home / ".rd/docker.sock",
    ]


def read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def context_endpoint(name: str, source: str, settings: Path, tried: tuple[str, ...]) -> Endpoint:
    folder = hashlib.sha256(name.encode()).hexdigest()
    meta = settings / "contexts/meta" / folder / "meta.json"
    docker = read_json(meta).get("Endpoints", {}).get("docker", {})
    host = docker.get("Host", "")
    if not host:
        raise SandboxFailed(
            f"the docker context {name!r} ({source}) names no engine; tried: "
            + "; ".join([*tried, f"{source}: no endpoint in {meta}"]),
            hint="`docker context ls` lists the contexts; `docker context use NAME` chooses one",
        )
    tls = certificates(settings / "contexts/tls" / folder / "docker", verify=not docker.get("SkipTLSVerify"))
    return Endpoint(as_url(host), source, tls, tried)


def environment_tls(environ: Mapping[str, str], home: Path) -> TLSConfig | None:
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    folder = environ.get("DOCKER_CERT_PATH")
    if not verify and not folder:
        return None
    return certificates(Path(folder or home / ".docker"), verify=verify)


def certificates(folder: Path, *, verify: bool) -> TLSConfig | None:
    """The client certificate and authority in a folder laid out as docker's client does."""
    cert, key, authority = folder / "cert.pem", folder / "key.pem", folder / "ca.pem"
    if not authority.exists() and not cert.exists():
        return None
    return TLSConfig(
        client_cert=(str(cert), str(key)) if cert.exists() else None,
        ca_cert=str(authority) if authority.exists() else None,
        verify=verify,
    )
