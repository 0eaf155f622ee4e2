"""The action's inputs, out of the environment: the only way that they come in. Pure.

An input `pull-request` is the variable INPUT_PULL_REQUEST. An empty one is not given.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeper.errors import ConfigError
from sweeper.runner.verdict import FAIL_ON

DRY_RUNS = ("false", "plan", "fix", "pr")
# Inputs that are settings of the configuration: which, and whether they are lists.
SETTINGS: Mapping[str, tuple[str, bool]] = {
    "base": ("SWEEPER_PULL_REQUEST__BASE", False),
    "branch": ("SWEEPER_PULL_REQUEST__BRANCH", False),
    "title": ("SWEEPER_PULL_REQUEST__TITLE", False),
    "labels": ("SWEEPER_PULL_REQUEST__LABELS", True),
    "reviewers": ("SWEEPER_PULL_REQUEST__REVIEWERS", True),
    "assignees": ("SWEEPER_PULL_REQUEST__ASSIGNEES", True),
    "milestone": ("SWEEPER_PULL_REQUEST__MILESTONE", False),
    "usd-per-fire": ("SWEEPER_LIMITS__USD_PER_FIRE", False),
    "usd-per-day": ("SWEEPER_LIMITS__USD_PER_DAY", False),
}


@dataclass(frozen=True, slots=True)
class Inputs:
    """`run`: what `sweeper run` would be told on its command line. `environ`: settings, as SWEEPER_* variables.

    `dry_run`: "" for a real run.
    """

    run: Mapping[str, Any]
    environ: Mapping[str, str]
    folder: str
    pull_request: bool
    dry_run: str
    fail_on: str


def read(environ: Mapping[str, str]) -> Inputs:
    """Raises ConfigError naming the input."""

    def text(name: str) -> str:
        return environ.get(f"INPUT_{name.upper().replace('-', '_')}", "").strip()

    def lines(name: str) -> tuple[str, ...]:
        return tuple(line.strip() for line in text(name).splitlines() if line.strip())

    run = {
        "sweeps": _parsed("sweeps", text("sweeps"), lambda given: tuple(shlex.split(given)), "names, with spaces"),
        "check": text("check"),
        "config": Path(text("config")) if text("config") else None,
        "fix": lines("fix"),
        "test": text("test") or None,
        "setup": lines("setup"),
        "sandbox": _one_of("sandbox", text("sandbox"), ("", "auto", "docker", "bubblewrap")) or None,
        "slots": _count("slots", text("slots")),
        "units_per_fire": _count("units-per-fire", text("units-per-fire")),
        "max_rounds": _count("max-rounds", text("max-rounds")),
        "wall": text("wall") or None,
        "trust_checkout": _flag("trust-checkout", text("trust-checkout")),
        "yes": True,
    }
    return Inputs(
        run=run,
        environ={
            variable: json.dumps(_listed(text(name))) if is_list else text(name)
            for name, (variable, is_list) in SETTINGS.items()
            if text(name)
        },
        folder=text("working-directory"),
        pull_request=_flag("pull-request", text("pull-request") or "true"),
        dry_run=_one_of("dry-run", text("dry-run") or "false", DRY_RUNS).replace("false", ""),
        fail_on=_one_of("fail-on", text("fail-on") or "error", FAIL_ON),
    )


def _listed(text: str) -> list[str]:
    """A list with commas or lines."""
    return [part.strip() for line in text.splitlines() for part in line.split(",") if part.strip()]


def _flag(name: str, text: str) -> bool:
    return _one_of(name, text or "false", ("true", "false")) == "true"


def _count(name: str, text: str) -> int | None:
    number = _parsed(name, text, int, "a whole number") if text else None
    if number is not None and number < 1:
        raise ConfigError(f"the input {name} is {text!r}", hint="a whole number from 1 on")
    return number


def _one_of(name: str, text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise ConfigError(f"the input {name} is {text!r}", hint=f"one of: {', '.join(filter(None, known))}")
    return text


def _parsed(name: str, text: str, parse: Callable[[str], Any], wanted: str) -> Any:
    try:
        return parse(text)
    except ValueError as problem:
        raise ConfigError(f"the input {name} is {text!r}: {problem}", hint=wanted) from None
