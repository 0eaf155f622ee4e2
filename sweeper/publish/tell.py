"""From the ledger to what a reviewer is told."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sweeper.commands import argv
from sweeper.forge.story import Change, Left, Part, Rule, Story
from sweeper.ledger.contract import Ledger, Run
from sweeper.publish.pieces import TRAILER, Piece
from sweeper.records import Unit, UnitState
from sweeper.repo import Repo
from sweeper.report import phrases
from sweeper.report.build import build
from sweeper.report.model import SweepReport, Try, UnitReport

COMMAND = 120  # characters of a command that are shown
BOT = (
    "Opened with the token of an Actions job: such a pull request starts no other workflow, so required checks may "
    "wait for ever. The token of a GitHub App or of a person (`[pull_request] token`) starts them."
)


class Teller:
    """What is to be told of one run. `report`: its report as the ledger has it now."""

    def __init__(self, run: Run, report: SweepReport, notes: Mapping[str, Any], units: Mapping[str, Unit]) -> None:
        self.run, self.report = run, report
        self._notes, self._units = notes, units

    @classmethod
    async def of(cls, run: Run, ledger: Ledger) -> Teller:
        units = {queued.key: queued.unit async for queued in ledger.units(run.sweep)}
        return cls(run, await build(ledger, run), await ledger.notes(run.id), units)

    def story(
        self, pieces: Sequence[Piece], *, base: str, onto: str, branch: str, commits: Mapping[str, str], tip: str,
        left: Sequence[tuple[str, str]], notes: Sequence[str], label: str, index: Sequence[Part], first: bool,
        shared: bool,
    ) -> Story:  # fmt: skip
        """`commits`: unit -> its commit on the published branch. `first`: it tells of what no part holds."""
        out = {title for title, _ in left}
        changes = self._changes([piece for piece in pieces if piece.title not in out], commits, tip)
        report, config = self.report, self._notes.get("config", {})
        fixed = sum(max(0, rule.before - rule.after) for change in changes for rule in change.rules)
        return Story(
            sweep=self.run.sweep,
            run=self.run.id,
            base=base,
            base_commit=onto,
            branch=branch,
            headline=phrases.headline(report),
            fixed=report.buckets.fixed if first and not label and not left else fixed,
            remaining=report.buckets.remaining + report.buckets.appeared if first else 0,
            changes=tuple(changes),
            held=tuple(self._held()) if first else (),
            left_out=tuple(Left(title, why) for title, why in left),
            open=tuple(self._open()) if first else (),
            notes=tuple(notes),
            gates=tuple(said for said, _ in phrases.gates(report)) if first else (),
            usage=report.usage,
            seconds=report.seconds,
            attempts=phrases.attempts(report),
            spending=tuple(phrases.spending(report)),
            check=report.check,
            test=tuple(argv(config.get("test", ""))),
            tests=report.tests,
            index=tuple(index),
            part=label,
            shared=shared,
        )

    def _changes(self, pieces: Iterable[Piece], commits: Mapping[str, str], tip: str) -> list[Change]:
        reports = {unit.key: unit for unit in self.report.units}
        found: dict[str, Change] = {}
        for piece in pieces:
            if piece.unit in found:
                continue
            unit = reports.get(piece.unit)
            merged = [t for t in unit.tries if t.merged] if unit else []
            found[piece.unit] = Change(
                key=piece.unit,
                title=piece.title,
                rules=tuple(self._rules(piece)),
                rung=", ".join(dict.fromkeys(self._rung(t.rung) for t in merged)) or self._rung(piece.rung),
                evidence=_evidence(merged[-1]) if merged else "",
                commit=commits.get(piece.unit, tip),
                reviews=unit.reviews if unit else piece.reviews,
            )
        return list(found.values())

    def _rules(self, piece: Piece) -> Iterable[Rule]:
        """Findings of the unit's files by rule: in the first check, and in the newest."""
        unit = self._units.get(piece.unit)
        first, last = self._notes.get("first", {}), self._notes.get("last", {})
        paths = unit.paths if unit else piece.paths
        names = set(piece.rules)
        if self._notes.get("config", {}).get("partition") != "rule":
            names |= {rule for path in paths for rule in first.get(path, {})}
        for name in sorted(names):
            before, now = (sum(tally.get(path, {}).get(name, 0) for path in paths) for tally in (first, last))
            if before or now:
                yield Rule(name, before, now)

    def _rung(self, number: int) -> str:
        ladder = self._notes.get("config", {}).get("ladder", [])
        if number >= len(ladder):
            return f"rung {number + 1}"
        rung = ladder[number]
        written = rung.get("run") or ""
        how = written if isinstance(written, str) else shlex.join(written)
        how = how or " ".join(filter(None, (rung.get("agent", ""), rung.get("model", ""))))
        return f"rung {number + 1}: {how[:COMMAND]}"

    def _held(self) -> Iterable[Left]:
        for unit in self.report.units:
            if unit.state is UnitState.HELD:
                yield Left(unit.title, phrases.why(unit), unit.findings, _last_line(unit))

    def _open(self) -> Iterable[tuple[str, int]]:
        yield from self.report.buckets.open.items()
        for reason, number in self.report.buckets.skipped.items():
            yield f"skipped, {reason}", number


def _evidence(attempt: Try) -> str:
    counts = f"{phrases.count(attempt.before, 'finding')} before, {attempt.after} after"
    if not attempt.command:
        return counts
    code = "" if attempt.exit_code is None else f" (exit code {attempt.exit_code})"
    return f"{counts}: {shlex.join(attempt.command)[:COMMAND]}{code}"


def _last_line(unit: UnitReport) -> str:
    step = phrases.step(unit.tries[-1]) if unit.tries else ""
    return ": ".join(filter(None, (step, phrases.evidence(unit))))


async def commits_by_unit(repo: Repo, tip: str, onto: str, most: int) -> dict[str, str]:
    """Unit -> its newest commit on a published branch, looking back from the tip at most `most` commits."""
    found: dict[str, str] = {}
    left = most
    async for at, commit in repo.line(tip, onto):
        for name, value in TRAILER.findall(commit.message):
            if name == "Unit":
                found.setdefault(value, at)
        left -= 1
        if left <= 0:
            break
    return found
