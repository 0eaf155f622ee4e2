"""What verified fixes cost: by rung, by model and by rule. Pure.

Every attempt with a model counts, whatever came of it. An attempt's cost is spread over the rules of its unit by their
findings, so that each part sums up to the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeper.records import Usage


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt. `fixed`: its change is on the branch. `findings`: rule -> findings of its unit."""

    rung: int
    usage: Usage
    seconds: float
    fixed: bool
    findings: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Spent:
    """One line. `by`: "rung", "model" or "rule". `fixed`: verified fixes (changes on the branch; of a rule: those
    that touched it). `usd_per_fix` is None where there is no fix."""

    by: str
    name: str
    attempts: int = 0
    fixed: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0

    @property
    def usd_per_fix(self) -> float | None:
        return self.usage.micro_usd / 1e6 / self.fixed if self.fixed else None

    def plus(self, tried: Tried, usage: Usage, seconds: float) -> Spent:
        return Spent(
            self.by,
            self.name,
            self.attempts + 1,
            self.fixed + tried.fixed,
            self.usage + usage,
            round(self.seconds + seconds, 3),
        )


def spending(tries: Sequence[Tried], ladder: Sequence[Mapping[str, Any]]) -> tuple[Spent, ...]:
    """`ladder`: each rung's "agent" and "model" as the run's configuration has them. () where nothing was spent."""
    if not any(tried.usage != Usage() for tried in tries):
        return ()
    lines: dict[tuple[str, str], Spent] = {}

    def add(by: str, name: str, tried: Tried, usage: Usage, seconds: float) -> None:
        lines[by, name] = lines.get((by, name), Spent(by, name)).plus(tried, usage, seconds)

    for tried in sorted(tries, key=lambda tried: tried.rung):
        rung = ladder[tried.rung] if tried.rung < len(ladder) else {}
        add("rung", f"{tried.rung + 1} {rung.get('agent', '')}".strip(), tried, tried.usage, tried.seconds)
        if tried.usage != Usage():
            add("model", str(rung.get("model") or rung.get("agent") or "?"), tried, tried.usage, tried.seconds)
        total = sum(tried.findings.values())
        for rule, part in _parts(tried.usage, tried.findings).items():
            add("rule", rule, tried, part, tried.seconds * tried.findings[rule] / total)
    order = {"rung": 0, "model": 1, "rule": 2}
    return tuple(sorted(lines.values(), key=lambda line: (order[line.by], -line.usage.micro_usd, line.name)))


def _parts(usage: Usage, findings: Mapping[str, int]) -> dict[str, Usage]:
    """Shares in whole units; what does not divide goes to the rules that come first."""
    counted = Counter({rule: number for rule, number in findings.items() if number > 0})
    parts = {}
    left, weight = usage, sum(counted.values())
    for rule, number in counted.most_common():
        values = (left.input_tokens, left.output_tokens, left.micro_usd)
        share = Usage(*(-(-value * number // weight) for value in values))
        left = Usage(
            left.input_tokens - share.input_tokens,
            left.output_tokens - share.output_tokens,
            left.micro_usd - share.micro_usd,
        )
        weight -= number
        parts[rule] = share
    return parts
