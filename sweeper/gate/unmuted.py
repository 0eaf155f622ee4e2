"""The check with suppressions switched off: what comments hide may become less, never more.

Whatever a suppression looks like, to the tool it is one: this sees spellings that no policy knows. It judges a merged
tree, by counts of a rule in a file, so that a suppressed line may be edited or moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import anyio

from sweeper.backlog.check import Check, Checked
from sweeper.ground import Ground
from sweeper.records import Change, CheckResult
from sweeper.sandbox.contract import Name

Hidden = Counter[tuple[str, str]]


class Unmuted:
    """On one ground. `name` gives the next sandbox's name."""

    def __init__(self, check: Check, ground: Ground, name: Callable[[], Name]) -> None:
        self._check, self._ground, self._name = check, ground, name
        self._works = bool(check.unmuted_argv)
        self._before: Hidden | None = None
        self._looking = anyio.Lock()

    async def look(self, changes: tuple[Change, ...]) -> Checked | None:
        """The unmuted check on the ground plus changes; None where the tool has no way. Raises SandboxFailed."""
        async with self._looking:
            if self._works and self._before is None:
                self._before = hidden(await self._run(()), self._ground.result)
                self._works = self._before is not None
        return await self._run(changes) if self._works else None

    async def _run(self, changes: tuple[Change, ...]) -> Checked:
        return await self._check.run(self._name(), self._ground.snapshot, self._check.unmuted_argv, changes=changes)

    def more(self, unmuted: Checked, muted: CheckResult) -> list[tuple[str, str]]:
        """Path and rule of whatever suppressions hide more often than on the ground."""
        now = hidden(unmuted, muted)
        return [] if now is None else sorted(now - (self._before or Counter()))


def hidden(unmuted: Checked, muted: CheckResult) -> Hidden | None:
    """How many findings of a rule in a file only the unmuted check reports; None if it does not work."""
    if unmuted.result.broken:
        return None
    all_of, seen = (Counter((f.path, f.rule) for f in result.findings) for result in (unmuted.result, muted))
    return all_of - seen
