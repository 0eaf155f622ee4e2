"""What a provider's refusal means: its kind, and how long it asks to wait. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from sweeper.gateway.contract import Error

BUSY = frozenset({429, 503, 529})
LONGEST_WAIT = 7 * 86400.0
NO_CREDIT = re.compile(r"insufficient_quota|billing_(error|hard_limit)|credit balance is too low")
NO_QUOTA = "exceeded your current quota"
OVERFLOW = re.compile(
    r"prompt is too long|context_length|context window|maximum context|input is too long|exceeds? the maximum number of"
)
NO_MODEL = re.compile(r"model")
RETRY_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


def kind_of(status: int, body: bytes) -> Error:
    """The kind of a refusal with this status and body."""
    words = body[:20_000].decode("utf-8", "replace").lower()
    if status in (401, 403):
        return Error.AUTH
    if status == 402 or (status in (400, 429) and NO_CREDIT.search(words)):
        return Error.QUOTA
    if status == 429 and NO_QUOTA in words and "retrydelay" not in words:  # Gemini says so of a minute's quota too
        return Error.QUOTA
    if status == 400 and "api key not valid" in words:  # Gemini's way to say 401
        return Error.AUTH
    if status == 404:
        return Error.UNKNOWN_MODEL if NO_MODEL.search(words) else Error.BAD_REQUEST
    if status == 429:
        return Error.RATE_LIMIT
    if status in (503, 529):
        return Error.OVERLOADED
    if status in (400, 413, 422) and OVERFLOW.search(words):
        return Error.CONTEXT_OVERFLOW
    return Error.BAD_REQUEST if status < 500 else Error.SERVER


def wait_of(headers: Mapping[str, str], body: bytes, now: float) -> float | None:
    """Seconds that the provider asks to wait, None if it doesn't say. `now`: epoch seconds.

    Retry-After as seconds or as an HTTP date, retry-after-ms, or Gemini's RetryInfo in the body.
    """
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value):
            return min(float(value) * factor, LONGEST_WAIT)
        if value and name == "retry-after" and (at := _date(value)) is not None:
            return min(max(0.0, at - now), LONGEST_WAIT)
    return _retry_info(body)


def _date(value: str) -> float | None:
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _retry_info(body: bytes) -> float | None:
    if b"retryDelay" not in body:
        return None
    try:
        data: Any = json.loads(body)
        for detail in data["error"]["details"]:
            if found := RETRY_DELAY.fullmatch(str(detail.get("retryDelay", ""))):
                return min(float(found[1]), LONGEST_WAIT)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return None
