"""Durations and sizes as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"": 1, "b": 1} | {
    prefix + suffix: factor ** (power + 1)
    for suffix, factor in (("b", 1000), ("ib", 1024))
    for power, prefix in enumerate("kmgt")
}
QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_seconds(value: Any) -> float:
    """Seconds from 10, 1.5, "60s", "3m", "1.5 h" or "2d". Raises ValueError."""
    number = _quantity(value, SECONDS, 'seconds as a number, or a string such as "60s", "3m", "1.5h" or "2d"')
    if number < 0:
        raise ValueError("a duration is never negative")
    return number


def parse_bytes(value: Any) -> int:
    """Bytes from 1024, "512MB" (decimal) or "2GiB" (binary). Raises ValueError."""
    number = _quantity(
        value, BYTES, 'bytes as a whole number, or a string such as "512MB" (decimal) or "2GiB" (binary)'
    )
    if number < 1 or number != int(number):
        raise ValueError("a size is a whole number of bytes above 0")
    return int(number)


def _quantity(value: Any, units: Mapping[str, float], expected: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return value
    if isinstance(value, str) and (found := QUANTITY.fullmatch(value)) and found[2].lower() in units:
        return float(found[1]) * units[found[2].lower()]
    raise ValueError(f"expected {expected}")
