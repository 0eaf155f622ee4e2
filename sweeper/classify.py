"""Evidence -> class of an outcome. Pure: no clock, no IO; it never reads an agent's own words.

`before_verify` looks at how the agent's sandbox ended, `after_verify` at what the verifier saw. An exit code
alone never means that a fixer failed (`ruff check --fix` exits 1 with findings left): a change is always judged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sweeper.records import Kind, Outcome
from sweeper.sandbox.contract import Clock, Facts

MEMORY = "memory"
EXCHANGED = "exchanged "
CANNOT_START = (126, 127)
MAX_PAIRS = 8


class Classified(NamedTuple):
    """A kind, and `reason`: the machine word that becomes the evidence's reason ("" needs none)."""

    kind: Kind
    reason: str = ""


def before_verify(facts: Facts, *, changed: bool) -> Classified | None:
    """What an agent's end decides without a verifier; None: there is a change, and the verifier decides.

    `changed`: the agent left any change, in or out of scope.
    """
    signal = facts.signal or _child_signal(facts.exit_code)
    if facts.oom and not (changed and facts.exit_code == 0):
        return Classified(Kind.TRANSIENT, MEMORY)
    if changed:
        return None
    if facts.clock is not None:
        return Classified(Kind.TIMED_OUT, str(facts.clock))
    if facts.disk_full:
        return Classified(Kind.NO_CHANGE, "disk full")
    if facts.exit_code in CANNOT_START:
        return Classified(Kind.REFUSED, "agent cannot start")
    if signal:
        return Classified(Kind.UNCLASSIFIED, f"signal {signal}")
    if facts.exit_code in (0, 1):
        return Classified(Kind.NO_CHANGE, "no change")
    return Classified(Kind.NO_CHANGE, f"exit {facts.exit_code}")


def _child_signal(exit_code: int | None) -> int:
    """The signal that a shell or init reports for its child as 128 + n; 0 for any other exit code."""
    return exit_code - 128 if exit_code is not None and 128 < exit_code < 160 else 0


def after_verify(
    *,
    broken: bool,
    unparsable: bool,
    targeted_before: int,
    targeted_after: int,
    new: int,
    clock: Clock | None = None,
    gone_rules: Collection[str] = (),
    new_rules: Collection[str] = (),
) -> Classified:
    """The class of a captured change that the policy let through.

    `broken`: the check proved nothing on it; `unparsable`: a path of the unit no longer parses. `clock`: ours
    that ended the agent: what it had left by then counts, only a failure is put down to the clock.
    `gone_rules`, `new_rules`: rules of the findings that went and came, for the conflict of two rules.
    """
    if broken:
        return Classified(Kind.NOT_FIXED, "the check broke")
    if unparsable:
        return Classified(Kind.NOT_FIXED, "does not parse")
    if new == 0 and targeted_after == 0:
        return Classified(Kind.FIXED)
    if new == 0 and targeted_after < targeted_before:
        return Classified(Kind.PARTIAL)
    if new and (pairs := sorted({_pair(a, b) for a in gone_rules for b in new_rules if a != b})):
        return Classified(Kind.NOT_FIXED, EXCHANGED + " ".join(pairs[:MAX_PAIRS]))
    if clock is not None:
        return Classified(Kind.TIMED_OUT, str(clock))
    return Classified(Kind.NOT_FIXED, "new findings" if new else "findings remain")


def _pair(a: str, b: str) -> str:
    return "/".join(sorted((a, b)))


def exchanged(reason: str) -> frozenset[str]:
    """The pairs of rules, as "A/B", of which an attempt with this reason mended one and broke the other."""
    return frozenset(reason.removeprefix(EXCHANGED).split()) if reason.startswith(EXCHANGED) else frozenset()


def common_failure(first: Sequence[Outcome], count: int = 5) -> str:
    """Why the first `count` outcomes of a fire all failed in the same odd way on one rung; "" if they did not.

    That many equal crashes are one wrong command or broken tool, not that many hard units: worth stopping for,
    before each of them climbs the ladder.
    """
    if len(first) < count:
        return ""
    signatures = {(o.rung, o.kind, o.evidence.exit_code, o.evidence.reason) for o in first[:count]}
    if len(signatures) > 1:
        return ""
    rung, kind, exit_code, reason = signatures.pop()
    crashed = kind is Kind.UNCLASSIFIED or (kind is Kind.NO_CHANGE and exit_code not in (0, 1))
    return f"the first {count} attempts on rung {rung + 1} all ended the same way: {reason or kind}" if crashed else ""
