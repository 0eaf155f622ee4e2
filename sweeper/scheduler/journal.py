"""The journal's form of events and commands: JSON-able lists in which every float is exact.

An event is `[kind, now, *fields]`, a command `[kind, *fields]`. One line of a journal file is one row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from sweeper.errors import ConfigError
from sweeper.loop import Decision, Hold, Park, Pause, RetryAt, Settled, Stop
from sweeper.scheduler import messages as m
from sweeper.scheduler.messages import Command, Event

_KINDS: dict[type, str] = {
    m.Started: "start",
    m.Paged: "page",
    m.Claimed: "claimed",
    m.ClaimLost: "claim_lost",
    m.SlotFreed: "slot_freed",
    m.Finished: "finished",
    m.Interrupted: "interrupted",
    m.Landed: "landed",
    m.Released: "released",
    m.IdleAnswered: "idle_answer",
    m.LoopFailed: "loop_failed",
    m.Time: "time",
    m.Cancelled: "cancelled",
    m.Poll: "POLL",
    m.Claim: "CLAIM",
    m.Dispatch: "DISPATCH",
    m.Land: "LAND",
    m.Release: "RELEASE",
    m.Cancel: "CANCEL",
    m.WakeAt: "WAKE_AT",
    m.AskIdle: "ASK_IDLE",
    m.End: "END",
    Settled: "settled",
    RetryAt: "retry_at",
    Park: "park",
    Hold: "hold",
    Pause: "pause",
    Stop: "stop",
    m.Entry: "unit",
    m.EngineLimits: "limits",
}
_CLASSES = {kind: made for made, kind in _KINDS.items()}
_FIELDS = {made: tuple(f.name for f in fields(made)) for made in _KINDS}
_EVENTS: frozenset[type] = frozenset(get_args(Event))


def kind_of(decision: Decision) -> str:
    return _KINDS[type(decision)]


def encode_event(now: float, event: Event) -> list[Any]:
    kind, *values = _listed(event)
    return [kind, _plain(now), *values]


def encode_commands(commands: list[Command]) -> list[Any]:
    return [_listed(command) for command in commands]


def _listed(message: Any) -> list[Any]:
    made = type(message)
    return [_KINDS[made], *[_plain(getattr(message, name)) for name in _FIELDS[made]]]


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, float):
        # JSON has no infinity and no NaN.
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) in _KINDS:
        return _listed(value)
    if isinstance(value, tuple):
        return {"each": [_plain(item) for item in value]}
    if isinstance(value, Mapping):
        return {"map": [[key, _plain(item)] for key, item in value.items()]}
    return str(value)


def decode_event(row: Any) -> tuple[float, Event]:
    """The inverse of `encode_event`. Raises ValueError where `row` is no event."""
    try:
        kind, now, *values = row
        event = _decoded([kind, *values])
        when = _decoded(now)
    except (TypeError, KeyError, ValueError, ConfigError) as problem:
        raise ValueError(f"not a scheduler event: {problem}") from problem
    if type(event) not in _EVENTS or not isinstance(when, float | int):
        raise ValueError(f"not a scheduler event: {kind!r} at {now!r}")
    return when, event


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return _CLASSES[value[0]](*[_decoded(item) for item in value[1:]])
    if isinstance(value, dict):
        ((form, items),) = value.items()
        if form == "float":
            return float(items)
        if form == "map":
            return {key: _decoded(item) for key, item in items}
        return tuple(_decoded(item) for item in items)
    return value
