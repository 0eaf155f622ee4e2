"""The marker: a pull request's first line, from which any machine knows it for one of a sweep's. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass

LINE = re.compile(r"(?m)^<!-- sweeper (\{[^\r\n]*\}) -->[\r\n]")
END = "<!-- /sweeper -->"  # what stands below it is a person's
ALONE = re.compile(rf"(?m)^{END}[ \t]*$")
SAFE = re.compile(r"[A-Za-z0-9._/-]{0,200}")


@dataclass(frozen=True, slots=True)
class Marker:
    """`part`: "" for the only one. `head`: what we pushed last; `onto`: the base commit that it stands on.

    `until`: epoch seconds until which its run is taken to be under way; 0 once that is over. `titled`: the title that
    we gave it, as a digest: another title is a person's; `base`: the base that we gave it, likewise; `ready`: we have
    marked it ready: a draft is a person's then. `shared`: somebody else's commits are below `head`.
    """

    sweep: str
    run: str
    part: str
    head: str
    onto: str
    until: int = 0
    titled: str = ""
    shared: bool = False
    base: str = ""
    ready: bool = False


def write(marker: Marker) -> str:
    return f"<!-- sweeper {json.dumps(asdict(marker), sort_keys=True, separators=(',', ':'))} -->"


def read(body: str) -> Marker | None:
    """The marker of a body: the first line that is one; None without a whole one."""
    found = LINE.search(body)
    if not found:
        return None
    try:
        data = json.loads(found[1])
        marker = Marker(**data)
    except (ValueError, TypeError):
        return None
    texts = (marker.sweep, marker.run, marker.part, marker.head, marker.onto, marker.titled, marker.base)
    if not all(isinstance(text, str) and SAFE.fullmatch(text) for text in texts) or not _typed(marker):
        return None
    return marker


def _typed(marker: Marker) -> bool:
    return type(marker.until) is int and type(marker.shared) is type(marker.ready) is bool


def around(body: str) -> tuple[str, str]:
    """What a person wrote above and below our text, stripped; a body without a trace of ours is all theirs."""
    text = body.replace("\r\n", "\n")
    found = LINE.search(text)
    # Ours is a line of its own; what a person, or a file's name in our own text, says of it stands within one.
    end = ALONE.search(text, found.end() if found else 0)
    last = end.end() if end else text.rfind(END) + len(END) if END in text else -1
    below = text[last:].strip() if last >= 0 else ""
    above = text[: found.start()] if found else "" if last >= 0 else text
    return above.strip(), below
