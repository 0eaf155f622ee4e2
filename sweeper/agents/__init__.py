"""How each agent starts headless, and what it leaves. One module per agent, a literal dict of them.

An adapter never sees the ledger, other units or the host: a `Task` in, a `Start` out, and what was printed read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sweeper.agents import aider, claude, codex, command, copilot, gemini, mini, opencode, pi, qwen, scripted
from sweeper.agents.contract import Agent, Left, Model, Needs, Printed, Start, Task
from sweeper.config.models import RungConfig
from sweeper.errors import ConfigError

AGENTS: dict[str, Agent] = {
    "command": command,
    "scripted": scripted,
    "claude": claude,
    "codex": codex,
    "pi": pi,
    "copilot": copilot,
    "gemini": gemini,
    "qwen": qwen,
    "opencode": opencode,
    "aider": aider,
    "mini": mini,
}
IMAGED = frozenset(AGENTS) - {"command", "scripted"}  # those with an image definition of their name


def find(name: str) -> Agent:
    """The adapter of that name. Raises ConfigError naming the known ones."""
    try:
        adapter: Agent = AGENTS[name]
    except KeyError:
        raise ConfigError(
            f"unknown agent {name!r} on the ladder", hint=f"one of: {', '.join(sorted(AGENTS))}"
        ) from None
    return adapter


def start(task: Task) -> Start:
    """How the rung's agent starts on this task. Raises ConfigError."""
    made = find(task.rung.agent).start(task)
    return replace(made, env={**made.env, **task.rung.env})


def imaged(ladder: Iterable[RungConfig]) -> tuple[str, ...]:
    """The agents of a ladder that an image must hold."""
    return tuple(sorted({rung.agent for rung in ladder} & IMAGED))


def needs(rung: RungConfig) -> Needs | None:
    """The provider and model of a rung, None for one that calls no model. Raises ConfigError."""
    own = find(rung.agent).NEEDS
    if own is None and not rung.provider:
        return None
    provider = rung.provider or (own.provider if own else "")
    model = rung.model or (own.model if own and provider == own.provider else "")
    if not model:
        raise ConfigError(
            f"the rung with agent {rung.agent!r} and provider {provider!r} names no model", hint='add model = "..."'
        )
    return Needs(provider, model, own.protocols if own else frozenset({"anthropic", "openai", "gemini"}))


def credential(rung: RungConfig) -> str:
    """What a pause of the provider holds back: one credential's one model. "" for a rung without."""
    needed = needs(rung)
    return f"{needed.provider} {needed.model}" if needed else ""


def injection(rung: RungConfig) -> str:
    """What a person should know of a rung with plain injection; "" for any other."""
    if not rung.inject:
        return ""
    how = "on stdin" if rung.inject == "stdin" else "in a file"
    return (
        f"the real key of {rung.provider} goes into its sandbox ({how}), which reaches {', '.join(rung.egress)} alone; "
        f"it can't be metered, so each attempt is charged ${rung.budget_usd or 0:.2f}"
    )


__all__ = [
    "AGENTS", "IMAGED", "Agent", "Left", "Model", "Needs", "Printed", "Start", "Task", "credential", "find",
    "imaged", "injection", "needs", "start",
]  # fmt: skip
