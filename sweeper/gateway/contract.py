"""What the coordinator hands to the gateway and what it reads back."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class Protocol(enum.StrEnum):
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GEMINI = "gemini"


@dataclass(frozen=True, slots=True)
class Provider:
    """One credential. `name`: what its models' prices are looked up under ("anthropic", "openai", "google", ...).

    `base_url` with or without the protocol's version ("https://api.openai.com/v1"). The key is in no repr.
    """

    name: str
    base_url: str
    key: str = field(repr=False)
    protocol: Protocol


class Tokens(NamedTuple):
    """Tokens of one or more calls. `input` counts neither those read from nor those written to a cache."""

    input: int = 0
    cached: int = 0
    written: int = 0
    written_1h: int = 0
    output: int = 0

    @property
    def total_input(self) -> int:
        return self.input + self.cached + self.written + self.written_1h

    def plus(self, other: Tokens) -> Tokens:
        return Tokens(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


NO_TOKENS = Tokens()


class Parked(NamedTuple):
    """The provider asks for a wait that the attempt can't hold a sandbox for. `until`: epoch seconds."""

    until: float
    reason: str


class Try(enum.StrEnum):
    """What an agent asked for and didn't get."""

    TOKEN = "token"
    HOST = "host"
    PATH = "path"
    MODEL = "model"
    TOOL = "tool"  # one that the provider would run
    REMOTE = "remote"  # a file or image that the provider would fetch
    BODY = "body"  # not a request of this protocol


class Error(enum.StrEnum):
    """The last error that a provider answered with, as far as its status and its words tell."""

    AUTH = "auth"
    QUOTA = "quota"
    UNKNOWN_MODEL = "unknown_model"
    NO_SUCH_PATH = "no_such_path"  # the provider doesn't speak this protocol at this address
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_REQUEST = "bad_request"
    DECLINED = "declined"  # by a filter that stands before the model
    SERVER = "server"
    UNREACHABLE = "unreachable"
    CUT = "cut"


# True of every attempt with this credential and model: the run stops, nothing is charged.
ACCOUNT_WIDE = frozenset({Error.AUTH, Error.QUOTA, Error.UNKNOWN_MODEL, Error.NO_SUCH_PATH})


@dataclass(frozen=True, slots=True)
class Meter:
    """One attempt's traffic. `requests`: calls of the agent that were let through; `tries`: calls to the provider.

    `tokens` are the provider's own counts. `micro_usd` prices them, plus `estimated_micro_usd` for calls whose count
    never came (a cut stream: the whole reservation, never less than the truth). `refused`: how often which thing
    was asked for in vain. `failing`: nothing was answered since `last_error`. `declined`: the model refused in its last
    answer. `account`: an error of the whole account, with no later try that it took. `parked`: the wait that the
    provider asked for. `exhausted`: the limit that refused a call ("tokens", "limits.usd_per_attempt", ..._fire,
    ..._day), or "".
    """

    requests: int = 0
    tries: int = 0
    tokens: Tokens = NO_TOKENS
    micro_usd: int = 0
    estimated_micro_usd: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    last_error: Error | None = None
    failing: bool = False
    declined: bool = False
    account: Error | None = None
    parked: Parked | None = None
    exhausted: str = ""


@dataclass(frozen=True, slots=True)
class Door:
    """One attempt's way in. `socket` lies alone in its folder, which can be mounted read-only.

    `token` is the placeholder that the agent gets as its key; of a tunnel it is the key itself.
    """

    attempt: str
    token: str = field(repr=False)
    socket: Path
