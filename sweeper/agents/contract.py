"""What an adapter gets and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sweeper.config import RungConfig


@dataclass(frozen=True, slots=True)
class Task:
    """One unit on one rung. `files` are relative to the sandbox's working folder (the sweep's root).

    `prompt` is the rendered prompt file; `number` counts the unit's attempts from 1.
    """

    rung: RungConfig
    files: tuple[str, ...]
    prompt: bytes = field(repr=False)
    title: str
    number: int


@dataclass(frozen=True, slots=True)
class Start:
    """How to start: the command, what it reads on stdin (which always ends) and files under INPUTS."""

    argv: tuple[str, ...]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, bytes] = field(default_factory=dict, repr=False)


class Agent(Protocol):
    """Satisfied by a module of `sweeper.agents`."""

    def tools(self, rung: RungConfig) -> tuple[str, ...]:
        """Programs that the toolchain must offer. Raises ConfigError for a rung that can't work."""

    def start(self, task: Task) -> Start: ...
