"""A project as a function of the changes in it: what a whole check would say of any set of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import anyio.lowlevel

from sweeper.backlog.check import Check, Checked
from sweeper.backlog.fingerprint import Difference, line_hashes, stamp
from sweeper.records import Change, CheckResult, CheckState, Finding, Skip, SkipReason, Unit
from sweeper.repo import Repo
from sweeper.sandbox.contract import Facts, Name, Role, Snapshot
from sweeper.verify.verifiers import Candidate, Verifiers
from sweeper.verify.verify import Baseline, Judgement

STRANGER = "zz.py"
ARGV = ("whole",)


@dataclass(frozen=True)
class Effect:
    """What one unit's change does. `mends`: other units whose finding goes with it."""

    fixes: bool = True
    breaks_own: bool = False
    breaks_stranger: bool = False
    breaks_check: bool = False
    unreadable: bool = False
    mends: tuple[int, ...] = ()


@dataclass
class World:
    """`effects[i]` is of the change to `f<i>.py`. `named`: whether whoever is mended names who mends it."""

    effects: list[Effect]
    named: bool = True
    crosses: bool = True
    pauses: int = 2
    asked: list[frozenset[int]] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    running: int = 0
    at_once: int = 0

    root = "."
    argv = ARGV

    # --- the check ---
    def command_for(self, files: list[str]) -> tuple[str, ...]:
        return ARGV

    def vanished(self, difference: Difference, changed: Any) -> list[Finding]:
        return [] if self.crosses else [finding for finding in difference.gone if finding.path not in changed]

    async def run(self, name: Name, snapshot: Snapshot, argv: Any, *, changes: tuple[Change, ...]) -> Checked:
        applied = frozenset(int(change.path[1:-3]) for change in changes)
        self.asked.append(applied)
        self.running += 1
        self.at_once = max(self.at_once, self.running)
        try:
            for _ in range(self.pauses):
                await anyio.lowlevel.checkpoint()
        finally:
            self.running -= 1
        return Checked(self.result(applied), Facts(exit_code=0))

    def result(self, applied: frozenset[int]) -> CheckResult:
        effects = [self.effects[number] for number in applied]
        if any(effect.breaks_check for effect in effects):
            return CheckResult(CheckState.BROKEN, why="it crashed")
        mended = {other for effect in effects for other in effect.mends}
        mended |= {number for number in applied if self.effects[number].fixes}
        found = [finding_of(number) for number in range(len(self.effects)) if number not in mended]
        found += [Finding(f"f{n}.py", 2, 1, "NEW", "own") for n in sorted(applied) if self.effects[n].breaks_own]
        found += [Finding(STRANGER, 1, 1, "NEW", f"by {n}") for n in sorted(applied) if self.effects[n].breaks_stranger]
        skips = [Skip(f"f{n}.py", SkipReason.NOT_PARSED, 1) for n in sorted(applied) if self.effects[n].unreadable]
        if skips:  # as type checkers do: nothing else is looked at
            found = []
        return CheckResult(CheckState.FINDINGS if found else CheckState.CLEAN, tuple(found), tuple(skips))

    # --- the repository ---
    async def changes_of(self, commit: str) -> list[Change]:
        return list(self.changes(int(commit)))

    def changes(self, number: int) -> tuple[Change, ...]:
        by = [other for other, effect in enumerate(self.effects) if number in effect.mends] if self.named else []
        return (Change(f"f{number}.py", f"import {', '.join(f'f{other}' for other in by)}\n".encode()),)

    # --- what is asked of it ---
    def candidate(self, number: int) -> Candidate:
        findings = [finding_of(each) for each in range(len(self.effects))]
        hashes = {finding.path: line_hashes(b"bad\n") for finding in findings}
        stamped = stamp(findings, hashes)
        unit = Unit(f"{number:032x}", "s", f"f{number}.py", (f"f{number}.py",), (stamped[number],))
        return Candidate(
            name=Name("run", unit.key, 1, Role.VERIFIER),
            check=cast(Check, self),
            snapshot=Snapshot("c", {}),
            baseline=Baseline(stamped),
            unread=frozenset(),
            unit=unit,
            commit=str(number),
            changes=self.changes(number),
        )

    def verifiers(self, slots: int, most: int) -> Verifiers:
        return Verifiers(cast(Repo, self), anyio.CapacityLimiter(slots), most)

    def alone(self, number: int) -> bool:
        """Is it fixed, judged one by one?"""
        result = self.result(frozenset({number}))
        if result.state is CheckState.BROKEN or result.skips:
            return False
        return finding_of(number) not in result.findings and not any(f.rule == "NEW" for f in result.findings)


def finding_of(number: int) -> Finding:
    return Finding(f"f{number}.py", 1, 1, "BAD", f"bad {number!r}")


def is_fixed(judged: Judgement) -> bool:
    broken = judged.result.state is CheckState.BROKEN
    return not (broken or judged.unparsable or judged.vanished or judged.difference.new or judged.targeted)
