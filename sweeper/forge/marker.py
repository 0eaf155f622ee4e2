"""The marker: a pull request's first line, from which any machine knows it for one of a sweep's. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

LINE = re.compile(r"<!-- sweeper (\{[^\r\n]*\}) -->[\r\n]")
SAFE = re.compile(r"[A-Za-z0-9._/-]{0,200}")


@dataclass(frozen=True, slots=True)
class Marker:
    """`part`: "" for the only one. `head`: what we pushed last; `onto`: the base commit that it stands on.

    `until`: epoch seconds until which its run is taken to be under way; 0 once that is over. `titled`: the title that
    we gave it, as a digest: another title is a person's. `shared`: somebody else's commits are below `head`.
    """

    sweep: str
    run: str
    part: str
    head: str
    onto: str
    until: int = 0
    titled: str = ""
    shared: bool = False


def write(marker: Marker) -> str:
    return f"<!-- sweeper {json.dumps(asdict(marker), sort_keys=True, separators=(',', ':'))} -->"


def read(body: str) -> Marker | None:
    """The marker of a body, None without a whole one at its very beginning."""
    found = LINE.match(body)
    if not found:
        return None
    try:
        data = json.loads(found[1])
        marker = Marker(**data)
    except (ValueError, TypeError):
        return None
    texts = (marker.sweep, marker.run, marker.part, marker.head, marker.onto, marker.titled)
    if not all(isinstance(text, str) and SAFE.fullmatch(text) for text in texts) or not _typed(marker):
        return None
    return marker


def _typed(marker: Marker) -> bool:
    return type(marker.until) is int and type(marker.shared) is bool
