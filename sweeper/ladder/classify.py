"""Evidence -> class of an outcome. Pure: no clock, no IO.

`before_verify` looks at how the agent's sandbox ended, `after_verify` at what the verifier saw. An exit code
alone never means that a fixer failed (`ruff check --fix` exits 1 with findings left): a change is always judged.
What an agent says of itself (`Signs.trouble`) decides about its own unit at most, never that a run stops: whether
the account is refused, the gateway knows. Only where no gateway stands between is the agent believed.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sweeper.records import Finding, Kind, Outcome
from sweeper.sandbox.contract import Clock, Facts

MEMORY = "memory"
REMAIN = "findings remain"
EXCHANGED = "exchanged "
NEAR = 3  # lines: what else is mended just above moves a place
CANNOT_START = (126, 127)
SIGKILL = 9
MAX_PAIRS = 8
BROKE = "the check broke"
UNPARSABLE = "does not parse"
UNCOUNTED = frozenset({BROKE, UNPARSABLE})  # reasons of an attempt after which nobody could count findings
MONEY = "limits."  # what the reason of an attempt begins with that the fire's or the day's money ended
NEVER_CALLED = "ended before it called its model"


class Classified(NamedTuple):
    """A kind, and `reason`: the machine word that becomes the evidence's reason ("" needs none)."""

    kind: Kind
    reason: str = ""


class Trouble(enum.StrEnum):
    """What went wrong between an agent and its model, by the agent's own output or by the gateway's account of it."""

    AUTH = "auth"
    QUOTA = "quota"
    UNKNOWN_MODEL = "unknown_model"
    NO_SUCH_PATH = "no_such_path"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    UNREACHABLE = "unreachable"
    CUT = "cut"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_REQUEST = "bad_request"
    TURNS = "turn limit"
    BUDGET = "budget spent"
    ROOT = "refuses to run as root"
    DECLINED = "declined"
    QUESTION = "asks a question"
    UNKNOWN = "unknown error"


ACCOUNT = frozenset({Trouble.AUTH, Trouble.QUOTA, Trouble.UNKNOWN_MODEL, Trouble.NO_SUCH_PATH})
PASSING = frozenset({Trouble.RATE_LIMIT, Trouble.OVERLOADED, Trouble.SERVER, Trouble.UNREACHABLE, Trouble.CUT})
ORDERLY = frozenset({Trouble.TURNS, Trouble.DECLINED, Trouble.QUESTION})  # ends that an answer of the model led to
BUSY = frozenset({Trouble.RATE_LIMIT, Trouble.OVERLOADED, Trouble.UNREACHABLE})


@dataclass(frozen=True, slots=True)
class Traffic:
    """One attempt as its gateway saw it. `error`: the last one; `account`: one that is true of every attempt.

    `failing`: no call was answered after `error`. `declined`: the model refused in its last answer.
    `parked`: the provider asks for a longer wait than the attempt has. `exhausted`: the limit that was reached, "".
    """

    requests: int = 0
    error: Trouble | None = None
    account: Trouble | None = None
    parked: bool = False
    exhausted: str = ""
    failing: bool = False
    declined: bool = False


@dataclass(frozen=True, slots=True)
class Signs:
    """What is known of an agent's run beside how it ended. A program without a model has none.

    `traffic` is None where no gateway stood between. `denied`: tools that the agent was not let use. `silent`: it
    printed nothing.
    """

    trouble: Trouble | None = None
    traffic: Traffic | None = None
    denied: tuple[str, ...] = ()
    silent: bool = False


NOTHING = Signs()


def before_verify(facts: Facts, *, changed: bool, signs: Signs = NOTHING) -> Classified | None:
    """What an agent's end decides without a verifier; None: there is a change, and the verifier decides.

    `changed`: the agent left any change, in or out of scope.
    """
    signal = facts.signal or _child_signal(facts.exit_code)
    if facts.oom and not (changed and facts.exit_code == 0):
        return Classified(Kind.TRANSIENT, MEMORY)
    if changed:
        return None
    if excused := _outside(facts, signs):
        return excused
    if facts.clock is not None:
        return Classified(Kind.TIMED_OUT, str(facts.clock))
    if facts.disk_full:
        return Classified(Kind.NO_CHANGE, "disk full")
    started = signs.traffic is not None and signs.traffic.requests > 0
    if (facts.exit_code in CANNOT_START and not started) or signs.trouble is Trouble.ROOT:
        return Classified(Kind.REFUSED, "agent cannot start")
    # by no clock of ours and not for memory; an agent may have done it itself, so tries are few
    if facts.signal == SIGKILL:
        return Classified(Kind.TRANSIENT, "the sandbox was killed from outside")
    # some agents exit with an error's status, which as a byte looks like a signal: 400 ends as 144, as signal 16 would
    if signal and signs.trouble in (None, Trouble.DECLINED, Trouble.QUESTION):
        return Classified(Kind.UNCLASSIFIED, f"signal {signal}")
    if own := _own(signs):
        return own
    if facts.exit_code in (0, 1):
        return Classified(Kind.NO_CHANGE, "no change")
    return Classified(Kind.NO_CHANGE, f"exit {facts.exit_code}")


def _outside(facts: Facts, signs: Signs) -> Classified | None:
    """What lies outside of the unit and the agent: the account, money, the provider."""
    traffic, trouble = signs.traffic, signs.trouble
    if traffic is None:
        if trouble in ACCOUNT:
            return Classified(Kind.REFUSED, str(trouble))
        if trouble in PASSING:
            return Classified(Kind.TRANSIENT, str(trouble))
        return Classified(Kind.CONTEXT_OVERFLOW) if trouble is Trouble.CONTEXT_OVERFLOW else None
    if traffic.account:
        return Classified(Kind.REFUSED, str(traffic.account))
    if traffic.exhausted in ("limits.usd_per_fire", "limits.usd_per_day"):
        return Classified(Kind.TRANSIENT, traffic.exhausted)
    if traffic.parked:
        return Classified(Kind.TRANSIENT, str(traffic.error or Trouble.RATE_LIMIT))
    # what a broken answer cost is unknown, so all of it counts
    broken = traffic.error is Trouble.CUT or (traffic.failing and traffic.error in PASSING)
    if traffic.exhausted and not broken:
        return Classified(Kind.NO_CHANGE, str(Trouble.BUDGET))
    overcome = not traffic.failing and (trouble in ORDERLY or traffic.declined)
    failed = (trouble is not None or facts.exit_code != 0) and not overcome
    if failed and traffic.error in (PASSING if traffic.failing or not facts.clock else BUSY):
        return Classified(Kind.TRANSIENT, str(traffic.error))
    if failed and Trouble.CONTEXT_OVERFLOW in (traffic.error, trouble):
        return Classified(Kind.CONTEXT_OVERFLOW)
    return None


def _own(signs: Signs) -> Classified | None:
    """What an agent that has a model did instead of a change."""
    traffic, trouble = signs.traffic, signs.trouble
    if traffic is not None and traffic.declined:
        return Classified(Kind.DECLINED)
    if trouble in (Trouble.TURNS, Trouble.BUDGET):
        return Classified(Kind.NO_CHANGE, str(trouble))
    if trouble is Trouble.DECLINED:
        return Classified(Kind.DECLINED)
    if signs.denied:
        return Classified(Kind.NEEDS_INPUT, f"was denied {', '.join(sorted(set(signs.denied))[:5])}")
    if trouble is Trouble.QUESTION:
        return Classified(Kind.NEEDS_INPUT, str(trouble))
    if traffic is not None and traffic.requests == 0:
        return Classified(Kind.UNCLASSIFIED, NEVER_CALLED)
    if trouble is not None:
        return Classified(Kind.UNCLASSIFIED, str(trouble))
    if traffic is not None and signs.silent:
        return Classified(Kind.UNCLASSIFIED, "said nothing")
    return None


def _child_signal(exit_code: int | None) -> int:
    """The signal that a shell or init reports for its child as 128 + n; 0 for any other exit code."""
    return exit_code - 128 if exit_code is not None and 128 < exit_code < 160 else 0


def after_verify(
    *,
    broken: bool,
    unparsable: bool,
    vanished: bool = False,
    targeted_before: int,
    targeted_after: int,
    new: int,
    clock: Clock | None = None,
    swapped: Collection[str] = (),
    rules: Collection[str] = (),
    facts: Facts | None = None,
    signs: Signs = NOTHING,
) -> Classified:
    """The class of a captured change that the policy let through.

    `broken`: the check proved nothing on it; `unparsable`: a path of the unit no longer parses.
    `vanished`: findings went from files that were not changed. `clock`: ours
    that ended the agent: what it had left by then counts, only a failure is put down to the clock.
    `swapped`: pairs of rules, as `swaps` tells them, for the conflict of two rules. `rules`: of the new findings.
    `facts`, `signs`: of the agent; half a change that the provider cut short is not held against it.
    """
    fine = not broken and not unparsable and not vanished and new == 0
    if fine and targeted_after == 0:
        return Classified(Kind.FIXED)
    if fine and targeted_after < targeted_before:
        return Classified(Kind.PARTIAL)
    if facts is not None and (excused := _outside(facts, signs)):
        return excused
    if broken:
        return Classified(Kind.NOT_FIXED, BROKE)
    if unparsable:
        return Classified(Kind.NOT_FIXED, UNPARSABLE)
    if vanished:
        return Classified(Kind.NOT_FIXED, "findings vanished from unchanged files")
    if new and swapped:
        return Classified(Kind.NOT_FIXED, EXCHANGED + " ".join(sorted(swapped)[:MAX_PAIRS]))
    if clock is not None:
        return Classified(Kind.TIMED_OUT, str(clock))
    return Classified(Kind.NOT_FIXED, _named(rules) if new else REMAIN)


def _named(rules: Collection[str]) -> str:
    known = sorted({rule for rule in rules if rule})
    more = f" and {len(known) - MAX_PAIRS} more" if len(known) > MAX_PAIRS else ""
    return f"new findings: {', '.join(known[:MAX_PAIRS])}{more}" if known else "new findings"


def swaps(gone: Sequence[Finding], new: Sequence[Finding]) -> set[str]:
    """Pairs of rules, as "A/B", of which a finding of one went and one of the other came at its place.

    Of several that went around there only the nearest is told: the others had nothing to do with it.
    """
    pairs = set()
    for came_up in new:
        near = [one for one in gone if one.rule != came_up.rule and _apart(one, came_up) <= NEAR]
        closest = min((_apart(one, came_up) for one in near), default=0)
        pairs |= {"/".join(sorted((one.rule, came_up.rule))) for one in near if _apart(one, came_up) == closest}
    return pairs


def _apart(one: Finding, other: Finding) -> float:
    """Lines between two findings of one file."""
    return abs(one.line - other.line) if one.path == other.path else float("inf")


def exchanged(reason: str) -> frozenset[str]:
    """The pairs of rules, as "A/B", of which an attempt with this reason mended one and broke the other."""
    return frozenset(reason.removeprefix(EXCHANGED).split()) if reason.startswith(EXCHANGED) else frozenset()


def came(kind: str, reason: str) -> str:
    """An outcome, and its reason where that says more."""
    return f"{kind} ({reason})" if reason and reason.replace(" ", "_") != kind else kind


def common_failure(first: Sequence[Outcome], count: int = 5) -> str:
    """Why the first `count` outcomes of a fire all failed in the same odd way on one rung; "" if they did not.

    That many equal crashes are one wrong command or broken tool, not that many hard units: worth stopping for,
    before each of them climbs the ladder. An agent that ends without a word to its model is so at once.
    """
    if first and first[0].evidence.reason == NEVER_CALLED:
        return f"the first agent on rung {first[0].rung + 1} {NEVER_CALLED}"
    if len(first) < count:
        return ""
    signatures = {(o.rung, o.kind, o.evidence.exit_code, o.evidence.reason) for o in first[:count]}
    if len(signatures) > 1:
        return ""
    rung, kind, exit_code, reason = signatures.pop()
    crashed = kind is Kind.UNCLASSIFIED or (kind is Kind.NO_CHANGE and exit_code not in (0, 1))
    return f"the first {count} attempts on rung {rung + 1} all ended the same way: {reason or kind}" if crashed else ""
