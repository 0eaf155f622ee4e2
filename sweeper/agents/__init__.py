"""How each agent starts headless, and what it leaves. One module per agent, a literal dict of them.

An adapter never sees the ledger, other units or the host: a `Task` in, a `Start` out.
"""

from __future__ import annotations

from sweeper.agents import command, scripted
from sweeper.agents.contract import Agent, Start, Task
from sweeper.errors import ConfigError

AGENTS: dict[str, Agent] = {
    "command": command,
    "scripted": scripted,
}


def find(name: str) -> Agent:
    """The adapter of that name. Raises ConfigError naming the known ones."""
    try:
        adapter: Agent = AGENTS[name]
    except KeyError:
        raise ConfigError(
            f"unknown agent {name!r} on the ladder", hint=f"one of: {', '.join(sorted(AGENTS))}"
        ) from None
    return adapter


__all__ = ["AGENTS", "Agent", "Start", "Task", "find"]
