"""Run a check in a sandbox without credentials and say what it said.

The whole check looks at the whole tree; a unit check looks at named files with the same excludes. Output goes
to capped files and is parsed in a limited child.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

from sweeper.backlog.child import Parser
from sweeper.backlog.fingerprint import Difference
from sweeper.backlog.tools import Tool
from sweeper.commands import with_files
from sweeper.records import BaseEntry, Change, CheckResult, CheckState, Finding, Listing
from sweeper.sandbox.contract import Clocks, Facts, Name, Snapshot, nothing_wanted
from sweeper.sandbox.sandboxing import Sandboxing

PLAIN = {"NO_COLOR": "1"}  # the sandbox has no terminal; some tools colour their output all the same
MAX_ARGUMENT_BYTES = 100_000  # a longer file list is checked as a whole run instead


@dataclass(frozen=True, slots=True)
class Checked:
    result: CheckResult
    facts: Facts


@dataclass(frozen=True, slots=True)
class Check:
    """One sweep's check. `unit_argv` is a template with "{files}", () if only whole runs judge.

    `unmuted_argv`: the whole check that also reports what suppression comments hide, () where there is no way.
    """

    sandboxing: Sandboxing
    parser: Parser
    tool: Tool
    argv: tuple[str, ...]
    unit_argv: tuple[str, ...]
    unmuted_argv: tuple[str, ...] = ()
    root: str = "."
    format: str = "auto"
    pattern: str = ""
    project_wide: bool = False
    clocks: Clocks = field(default_factory=lambda: Clocks(wall=1800.0))

    def without_unit_check(self) -> Check:
        return replace(self, unit_argv=())

    def vanished(self, difference: Difference, changed: Container[str]) -> list[Finding]:
        """Findings that went from files that were not changed, though nothing in them was mended.

        That is a silenced check, unless the tool's findings of one file depend on others.
        """
        if self.project_wide or self.tool.whole_project or self.tool.crosses:
            return []
        return [finding for finding in difference.gone if finding.path not in changed]

    def with_memory(self, factor: int) -> Check:
        """The same check with so many times the memory."""
        limits = self.sandboxing.limits
        larger = replace(limits, memory=limits.memory * factor)
        return self if factor == 1 else replace(self, sandboxing=replace(self.sandboxing, limits=larger))

    def command_for(self, files: Sequence[str]) -> tuple[str, ...]:
        """The command that judges these files (relative to the sweep's root); the whole check if it must."""
        if not self.unit_argv or sum(len(name) + 1 for name in files) > MAX_ARGUMENT_BYTES:
            return self.argv
        return with_files(self.unit_argv, files)

    async def run(
        self,
        name: Name,
        snapshot: Snapshot,
        argv: tuple[str, ...] | None = None,
        *,
        changes: tuple[Change, ...] = (),
    ) -> Checked:
        """Run the whole check, or `argv`, on the snapshot with `changes`. Raises SandboxFailed."""
        spec = self.sandboxing.spec(
            name,
            snapshot,
            argv or self.argv,
            cwd=self.root,
            changes=changes,
            clocks=self.clocks,
            env=PLAIN,
            wanted=nothing_wanted,
            read_layer=False,
        )
        ran = await self.sandboxing.backend.run(spec)
        result = await self.parser.parse(
            spec.stdout,
            spec.stderr,
            exit_code=ran.facts.exit_code,
            signal=ran.facts.signal,
            truncated=ran.facts.output_truncated,
            format=self.format,
            pattern=self.pattern,
            tool=self.tool,
            root=self.root,
            listing=_with(snapshot.listing, changes),
        )
        if ran.facts.clock or ran.facts.oom:
            what = f"ran into its {ran.facts.clock} clock" if ran.facts.clock else "ran out of memory"
            result = CheckResult(state=CheckState.BROKEN, why=f"the check {what}", format=result.format)
        if result.broken:
            result = replace(result, why=f"{result.why}\nwhat it printed: {spec.stdout.parent}")
        else:
            self.sandboxing.drop_logs(name)
        return Checked(result, ran.facts)


def _with(listing: Listing, changes: Sequence[Change]) -> Listing:
    """The tree that was checked: the snapshot's with the changes. New files are few, so they are laid over it."""
    new = {os.fsencode(c.path): BaseEntry(c.mode, "") for c in changes if c.data is not None}
    return ChainMap(new, listing) if new else listing  # type: ignore[arg-type]  # only read
