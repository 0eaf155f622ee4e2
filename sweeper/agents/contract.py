"""What an adapter gets and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sweeper.config.models import RungConfig
from sweeper.ladder.classify import Trouble
from sweeper.records import Usage

PROMPT = "prompt.md"  # the input that is the prompt, for agents that read it from a file


@dataclass(frozen=True, slots=True)
class Model:
    """How an agent reaches its model: the gateway at a loopback address, with a placeholder for the key.

    `base_url` has no version in it ("http://127.0.0.1:8790"). `protocol`: "anthropic", "openai" or "gemini".
    """

    name: str
    base_url: str
    token: str = field(repr=False)
    protocol: str


@dataclass(frozen=True, slots=True)
class Task:
    """One unit on one rung. `files` are relative to the sandbox's working folder (the sweep's root).

    `prompt` is the rendered prompt file; `number` counts the unit's attempts from 1. `usd`: the attempt's money.
    """

    rung: RungConfig
    files: tuple[str, ...]
    prompt: bytes = field(repr=False)
    title: str
    number: int
    model: Model | None = None
    usd: float = 0.0

    @property
    def needed(self) -> Model:
        """The model, for an agent that can't do without one."""
        assert self.model is not None, "an agent that needs a model is given one"
        return self.model


@dataclass(frozen=True, slots=True)
class Start:
    """How to start: the command, what it reads on stdin (which always ends) and files under INPUTS.

    `env`: the adapter's own; the rung's comes on top of it. `masked`: the agent must not find what `masks` names of
    the repository: it would configure it.
    """

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """The ends of what an agent printed."""

    stdout: bytes = b""
    stderr: bytes = b""


@dataclass(frozen=True, slots=True)
class Left:
    """What an agent says of itself; nothing of it is proof.

    `claimed`: its last words. `usage`: by its own count, None if it gives none. `words`: its error message.
    """

    claimed: str = ""
    usage: Usage | None = None
    turns: int | None = None
    denied: tuple[str, ...] = ()
    trouble: Trouble | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """The model that an agent uses unless its rung says otherwise. `protocols`: those that it can speak."""

    provider: str
    model: str
    protocols: frozenset[str]


class Agent(Protocol):
    """Satisfied by a module of `sweeper.agents`."""

    @property
    def NEEDS(self) -> Needs | None: ...

    def tools(self, rung: RungConfig) -> tuple[str, ...]:
        """Programs that the toolchain must offer. Raises ConfigError for a rung that can't work."""

    def start(self, task: Task) -> Start: ...

    def read(self, printed: Printed) -> Left: ...
