"""What a provider's refusal means: its kind, and how long it asks to wait. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from sweeper.gateway.contract import Error

LONGEST_WAIT = 7 * 86400.0
NO_CREDIT = re.compile(
    r"insufficient_quota|billing_(error|hard_limit)|credit balance is too low|specified api usage limits|"
    r"requestsperday"  # Gemini's quota of a day, which it asks to try again in seconds
)
NO_QUOTA = "exceeded your current quota"
NO_KEY = re.compile(
    r"api key (not valid|expired)|api_key_invalid|user location is not supported"
)  # Gemini's 401 is 400
OVERFLOW = re.compile(
    r"prompt is too long|context[_ ]length|context window|context limit|maximum context|input is too long|"
    r"exceeds? the maximum number of|request too large|request_too_large"
)
# By a filter before the model, in the words of those who have one.
POLICY = re.compile(
    r"content[_ ](filter|policy|management policy)|usage polic(y|ies)|responsible_?ai|safety_violation|cyber_policy"
)
FLAGGED = re.compile(r"moderation|flagged")
PASSING = frozenset({408, 409, 425})
NO_MODEL = re.compile(r"model")
# Some say 400 of a model that they don't have.
NO_SUCH_MODEL = re.compile(
    r"model_(not_found|decommissioned|not_active)|not a valid model|unknown model|invalid model\b|"
    r"\bmodel (not exist|is not supported)|\bmodel\b.{0,80}(does not exist|is not found)"
)
RETRY_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")
# Which status an error would have had that came within an answer: the first whose words are in it.
STATUSES = (
    (
        429,
        re.compile(r"rate.?limit|too many requests|resource_exhausted|insufficient_quota|exceeded your current quota"),
    ),
    (529, re.compile(r"overloaded|slow_down|unavailable|high demand")),
    (401, re.compile(r"authentication_error|invalid_api_key|unauthenticated|permission_(error|denied)")),
    (404, re.compile(r"not_found")),
    (400, re.compile(r"invalid_(request|prompt|argument)|context|content_filter|policy|too (long|large)")),
)


def kind_of(status: int, body: bytes) -> Error:
    """The kind of a refusal with this status and body."""
    words = body[:20_000].decode("utf-8", "replace").lower()
    if status in (401, 403):
        return Error.DECLINED if status == 403 and FLAGGED.search(words) else Error.AUTH
    if status == 402 or (status in (400, 429) and NO_CREDIT.search(words)):
        return Error.QUOTA
    if status == 429 and NO_QUOTA in words and "retrydelay" not in words:  # Gemini says so of a minute's quota too
        return Error.QUOTA
    if status == 400 and NO_KEY.search(words):
        return Error.AUTH
    if status == 413 or (status in (400, 422, 429) and OVERFLOW.search(words)):  # 429: larger than a minute's quota
        return Error.CONTEXT_OVERFLOW
    if status == 404:
        return Error.UNKNOWN_MODEL if NO_MODEL.search(words) else Error.NO_SUCH_PATH
    if status == 429:
        return Error.RATE_LIMIT
    if status in (503, 529):
        return Error.OVERLOADED
    if status in (400, 422) and NO_SUCH_MODEL.search(words):
        return Error.UNKNOWN_MODEL
    if status in (400, 422) and POLICY.search(words):
        return Error.DECLINED
    return Error.BAD_REQUEST if status < 500 and status not in PASSING else Error.SERVER


def kind_within(error: Any) -> Error:
    """The kind of an error that came within an answer of status 200: an object of any protocol's shape, or words."""
    words = json.dumps(error)[:20_000].lower()
    code = str(error.get("code", "")) if isinstance(error, dict) else ""
    if re.fullmatch(r"[45]\d\d", code):
        return kind_of(int(code), words.encode())
    return kind_of(next((status for status, said in STATUSES if said.search(words)), 500), words.encode())


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
