"""Reads what agents print: JSON lines, and the words of an error, a refusal or a question. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from sweeper.ladder.classify import Trouble

LONGEST_LINE = 4 << 20
LARGEST_NUMBER = 1e15
CLAIM = 2000  # characters of an agent's last words that are kept

# The first kind counts that is found: a limited account comes before a plain status, which may stand in the same text.
ERRORS = (
    (Trouble.DECLINED, r"content.?(filter|policy|management policy)|usage polic(y|ies)"),
    (Trouble.BUDGET, r"max_output_tokens|budget_spent|the budget is spent"),
    (
        Trouble.CONTEXT_OVERFLOW,
        r"prompt (is|as) too long|context[ _](length|window|limit)|input is too long|maximum context",
    ),
    (Trouble.QUOTA, r"insufficient_quota|credit balance|exceeded your current quota|billing|\b402\b|payment required"),
    (Trouble.RATE_LIMIT, r"rate.?limit|too many requests|\b429\b|hit your (usage )?limit|usage limit reached"),
    (Trouble.OVERLOADED, r"overloaded|high demand|\b529\b|\b503\b|service unavailable"),
    (
        Trouble.AUTH,
        r"authentication|unauthori[sz]ed|permission_(error|denied)|invalid.{0,8}api.?key|\b40[13]\b|not logged in|"
        r"please run /login|forbidden|api key not valid|token (has )?expired",
    ),
    (Trouble.UNKNOWN_MODEL, r"model_not_found|unknown model|no such model|model.{0,60}(not found|does not exist)"),
    (
        Trouble.CUT,
        r"stream (disconnected|closed|ended)|connection (reset|closed)|premature|terminated|incomplete.*chunk",
    ),
    (Trouble.UNREACHABLE, r"econnrefused|connection refused|enotfound|fetch failed|\b502\b|can't be reached"),
    (Trouble.SERVER, r"internal server error|\b50[04]\b|api_error|server_error"),
    (Trouble.BAD_REQUEST, r"invalid_request|bad.?request|\b4(00|04|13|22)\b"),
)
ERROR = re.compile("|".join(f"(?P<{trouble.name}>{pattern})" for trouble, pattern in ERRORS), re.IGNORECASE)
DECLINES = re.compile(
    r"\bI(?:'m| am)? (?:can(?:no|')t|cannot|won't|will not|not able to|unable to|must decline|decline)\b.{0,80}"
    r"\b(?:help|assist|do (?:that|this)|comply|request|continue|fulfil)|can't help with this",
    re.IGNORECASE,
)
ASKS = re.compile(
    r"\?\s*(?:[\[(][a-z/, ]+[\])]\s*)?[>:]?\s*$|\b(?:would you like|should I|shall I|do you want|please confirm|"
    r"please (?:let me know|clarify|provide))\b",
    re.IGNORECASE,
)
ROOT = re.compile(r"cannot be used with root|must not be run as root|refus\w+ to run as root", re.IGNORECASE)


def events(printed: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines; of a line that is a list, its objects."""
    for line in printed.splitlines():
        line = line.strip()
        if line[:1] not in (b"{", b"[") or len(line) > LONGEST_LINE:
            continue
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        yield from (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, dict))


def error(words: str) -> Trouble | None:
    """What an error message is about, None if it fits nothing known. Earlier kinds outrank later ones."""
    flat = " ".join(words[:20_000].split())  # some are printed into columns
    found = {match.lastgroup for match in ERROR.finditer(flat)}
    return next((trouble for trouble, _ in ERRORS if trouble.name in found), None)


def prose(claimed: str) -> Trouble | None:
    """Whether an agent's last words decline or ask."""
    if DECLINES.search(claimed[:CLAIM]):
        return Trouble.DECLINED
    return Trouble.QUESTION if ASKS.search(claimed.strip()[-CLAIM:]) else None


def root(stderr: bytes) -> bool:
    return bool(ROOT.search(stderr.decode("utf-8", "replace")))


def part(value: Any, *names: str) -> dict[str, Any]:
    """A nested object, {} where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def count(value: Any, *names: str) -> int:
    """The sum of these numbers of an object; what is no number that a count may be is 0."""
    return sum(round(_number(value, name)) for name in names)


def dollars(value: Any, name: str) -> int:
    """Micro-dollars of an amount of an object, 0 for what is none."""
    return round(_number(value, name) * 1_000_000)


def denied(value: Any) -> tuple[str, ...]:
    """The tools that Claude Code's and Qwen's `permission_denials` name."""
    denials = value if isinstance(value, list) else []
    return tuple(str(each.get("tool_name"))[:100] for each in denials if isinstance(each, dict))


def _number(value: Any, name: str) -> float:
    found = value.get(name) if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return 0
    return found if 0 <= found <= LARGEST_NUMBER else 0  # neither of NaN


def text(value: Any) -> str:
    """A string as it is; of a list of content blocks, their text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        blocks = [each for each in value if isinstance(each, dict)]
        return "".join(each["text"] for each in blocks if isinstance(each.get("text"), str))
    return ""


def tail(printed: bytes) -> str:
    return printed[-2 * CLAIM :].decode("utf-8", "replace").strip()[-CLAIM:]
