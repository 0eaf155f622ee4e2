"""The models' providers: where they are, and the keys of the environment. No key is in any configuration file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sweeper import agents
from sweeper.config.file import credential
from sweeper.config.models import ProviderConfig, SweepConfig
from sweeper.errors import ConfigError
from sweeper.gateway import Protocol, Provider


@dataclass(frozen=True, slots=True)
class Known:
    """`key`, `address`: names of environment variables."""

    base_url: str
    key: str
    address: str
    protocol: Protocol


KNOWN = {
    "anthropic": Known("https://api.anthropic.com", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", Protocol.ANTHROPIC),
    "openai": Known("https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL", Protocol.OPENAI),
    "gemini": Known(
        "https://generativelanguage.googleapis.com", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", Protocol.GEMINI
    ),
}


def wanted(sweeps: Iterable[SweepConfig]) -> dict[str, set[str]]:
    """Provider -> the models that these ladders ask. Raises ConfigError."""
    found: dict[str, set[str]] = {}
    for sweep in sweeps:
        for rung in sweep.ladder:
            if needs := agents.needs(rung):
                found.setdefault(needs.provider, set()).add(needs.model)
    return found


def settle(
    sweeps: Iterable[SweepConfig], configured: Mapping[str, ProviderConfig], environ: Mapping[str, str]
) -> tuple[Provider, ...]:
    """The providers of these ladders with their keys. An empty key is a missing one. Raises ConfigError."""
    sweeps = list(sweeps)
    # an injected key needs no address: its agent knows where to go
    keys = {rung.provider for sweep in sweeps for rung in sweep.ladder if rung.inject}
    asked = {
        needs.provider for sweep in sweeps for rung in sweep.ladder if not rung.inject and (needs := agents.needs(rung))
    }
    return tuple(
        _provider(name, configured.get(name), environ, key_alone=name in keys - asked)
        for name in sorted(wanted(sweeps))
    )


def _provider(name: str, configured: ProviderConfig | None, environ: Mapping[str, str], *, key_alone: bool) -> Provider:
    given = configured or ProviderConfig()
    known = KNOWN.get(name)
    protocol = given.protocol or (known.protocol if known else "")
    address = given.base_url or (known and (credential(environ, known.address) or known.base_url)) or ""
    variable = given.key or (known.key if known else "")
    parts = (("key", variable),) if key_alone else (("base_url", address), ("key", variable), ("protocol", protocol))
    missing = [word for word, value in parts if not value]
    if missing:
        raise ConfigError(
            f"the provider {name!r} has no {missing[0]}",
            hint=f"[provider.{name}] with base_url, key (a variable's name) and protocol; known: {', '.join(KNOWN)}",
        )
    key = credential(environ, variable)
    if key is None:
        raise ConfigError(
            f"{variable} is not set or empty, and a rung of the ladder asks {name} for a model",
            hint=f"export {variable}=..., or take the rung off the ladder",
        )
    return Provider(name, address, key, Protocol(protocol or "openai"))
