"""Go's build constraints: whether a new one says only what stands beside it in the older spelling."""

from __future__ import annotations

import re

_OLD = re.compile(r"^//[ \t]*\+build[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_NEW = re.compile(r"^//go:build[ \t]+(.+?)[ \t]*$", re.MULTILINE)


def respelt(before: str, after: str) -> bool:
    """Whether the constraint of `after` is that of `before`, in the other spelling or in both."""
    old, new = _constraint(before), _constraint(after)
    return old is not None and old == new


def is_constraint(line: str) -> bool:
    return bool(_OLD.match(line) or _NEW.match(line))


def _constraint(text: str) -> str | None:
    """In the new spelling without blanks, as gofmt writes it; None where there is none or two that differ."""
    found = {"".join(line.split()) for line in _NEW.findall(text)}
    if lines := _OLD.findall(text):
        found.add("".join(_translated(lines).split()))
    return found.pop() if len(found) == 1 else None


def _translated(lines: list[str]) -> str:
    """A blank is an or, a comma an and; lines are joined by and."""
    parts = []
    for line in lines:
        options = [" && ".join(option.split(",")) for option in line.split()]
        bracketed = [f"({one})" if "&&" in one and len(options) > 1 else one for one in options]
        joined = " || ".join(bracketed)
        parts.append(f"({joined})" if len(options) > 1 and len(lines) > 1 else joined)
    return " && ".join(parts)
