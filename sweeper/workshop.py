"""What every attempt of one sweep in one fire shares: its configuration, its check, its sandboxes, its verifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper import agents
from sweeper.backlog.check import Check
from sweeper.backlog.tools import recognise
from sweeper.commands import argv
from sweeper.config.models import SweepConfig
from sweeper.policy import Level, Scope
from sweeper.progress import Progress
from sweeper.redact import Redactor
from sweeper.repo import Repo
from sweeper.sandbox.contract import Toolchain
from sweeper.sandbox.sandboxing import Sandboxing
from sweeper.verify.verifiers import Verifiers

if TYPE_CHECKING:  # slow to import, and only paid agents need it
    from sweeper.gateway import Gateway

UNTESTED = "unsafe_fixer: its tool does not call such fixes safe, and no test ran"


@dataclass(frozen=True)
class Workshop:
    """What every attempt of one sweep in one fire shares. `name` is the sweep's.

    `secrets`: values that no change may contain. `steering`: names of files that steer check and tests.
    `severities`: of the policy's rules, where the sweep has its own.
    `prompts`: the user's own templates. `gateway`: None where no rung asks a model; `protocols`: what its providers
    speak. `usd_per_attempt`: the money of an attempt whose rung names none. `verifiers`: who judges its changes.
    `progress`: what hears of the gate's runs.
    """

    name: str
    run: str
    config: SweepConfig
    sandboxing: Sandboxing
    toolchain: Toolchain
    repo: Repo
    check: Check
    scope: Scope
    verifiers: Verifiers
    prompts: Path | None = None
    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    steering: tuple[str, ...] = ()
    severities: Mapping[str, Level] = field(default_factory=dict)
    gateway: Gateway | None = None
    protocols: Mapping[str, str] = field(default_factory=dict)
    usd_per_attempt: float = 0.0
    progress: Progress = field(default_factory=Progress, compare=False, repr=False)

    @cached_property
    def untested(self) -> frozenset[int]:
        """Rungs whose fixes their own tool does not call safe, where no test would tell."""
        if argv(self.config.test) or argv(self.config.unit_test):
            return frozenset()
        commands = [argv(rung.run) for rung in self.config.ladder]
        return frozenset(number for number, words in enumerate(commands) if recognise(words).unsafe(words))

    def marks(self, rung: int) -> tuple[str, ...]:
        """What of a change on this rung a person should look at, whatever the change is."""
        return (UNTESTED,) if rung in self.untested else ()

    @property
    def caution(self) -> str:
        """One line about the ladder for a person, "" if there is nothing to say."""
        if not self.untested:
            return ""
        rungs = ", ".join(str(number + 1) for number in sorted(self.untested))
        return (
            f"rung {rungs}: fixes that their own tool does not call safe, and no tests are configured: what they mend "
            'is marked for review; `test` in the configuration, or --test "COMMAND", has the gate run tests'
        )

    @cached_property
    def redactor(self) -> Redactor:
        return Redactor(self.secrets)

    @cached_property
    def credentials(self) -> tuple[str, ...]:
        """What a pause holds back, for each rung."""
        return tuple(agents.credential(rung) for rung in self.config.ladder)
