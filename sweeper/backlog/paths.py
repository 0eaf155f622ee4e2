"""Where a path that a linter printed lies in the repository. Pure: nothing is looked up on a disk."""

from __future__ import annotations

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import unquote_to_bytes

from sweeper.records import Listing, SkipReason
from sweeper.sandbox.contract import WORK

_DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
_NO_FILE = frozenset({"", "-", "<stdin>", "stdin", "<unknown>", "<string>"})
LOST = "\ufffd"  # what stands for bytes that are no Unicode
LINK_MODE = 0o120000
SUBMODULE_MODE = 0o160000


def to_root(path: str, root: str) -> str:
    """A repository path as seen from the sweep's root ("../x" for one outside it)."""
    return posixpath.relpath(path, root) if _normal(root) else path


def entry_reason(path: str, listing: Listing) -> SkipReason | None:
    """Why a path of this commit can't be worked on: missing, a link or a submodule, or below one of them."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:
        return SkipReason.MISSING
    entry = listing.get(name)
    while entry is None and b"/" in name:
        name = name.rpartition(b"/")[0]
        entry = listing.get(name)
        if entry is not None and entry.mode not in (LINK_MODE, SUBMODULE_MODE):
            return SkipReason.MISSING
    if entry is None:
        return SkipReason.MISSING
    return {LINK_MODE: SkipReason.LINK, SUBMODULE_MODE: SkipReason.SUBMODULE}.get(entry.mode)


class Resolver:
    """Resolves printed paths against the sweep's root, then the repository's root, and remembers the answers.

    `listing`: the tree that was checked; None resolves by name only. `checkouts`: absolute directories that
    are the repository's root where the check ran (several spellings of one place). `foreign`: a further
    checkout directory, as `foreign_checkout` found it.
    """

    def __init__(
        self, *, root: str = ".", listing: Listing | None, checkouts: Sequence[str] = (WORK,), foreign: str = ""
    ) -> None:
        self._root = _normal(root)
        self._listing = listing
        self._checkouts = [c.replace("\\", "/").rstrip("/") for c in (*checkouts, *([foreign] if foreign else []))]
        self._known: dict[str, tuple[str, SkipReason | None]] = {}
        self._replaced: dict[str, str] | None = None

    def resolve(self, printed: str) -> tuple[str, SkipReason | None]:
        """(repository path, None), or (what was printed, the reason it is none of ours to work on).

        A link or submodule of the tree comes back as a path: it resolves; partition skips it.
        """
        answer = self._known.get(printed)
        if answer is None:
            answer = self._known[printed] = self._resolve(printed)
        return answer

    def _resolve(self, printed: str) -> tuple[str, SkipReason | None]:
        if printed in _NO_FILE:
            return printed, SkipReason.NO_LOCATION
        candidates = [path for spelling in _spellings(printed) for path in self._inside(spelling)]
        for path in candidates:
            if self._listing is None or entry_reason(path, self._listing) is not SkipReason.MISSING:
                return path, None
            if LOST in path and (real := self._lossy().get(path)):
                return real, None
        return (candidates[0], SkipReason.MISSING) if candidates else (printed, SkipReason.OUTSIDE)

    def _lossy(self) -> dict[str, str]:
        """What a linter that knows only Unicode prints of another path -> the path, "" for one that is ambiguous."""
        if self._replaced is None:
            self._replaced = {}
            for path in map(os.fsdecode, self._listing or ()):
                printed = os.fsencode(path).decode("utf-8", "replace")
                if printed != path:
                    self._replaced[printed] = "" if printed in self._replaced else path
        return self._replaced

    def _inside(self, spelling: str) -> Iterable[str]:
        if is_absolute(spelling):
            places = [posixpath.normpath(spelling)]
        else:
            places = [
                posixpath.normpath(posixpath.join(checkout, start, spelling))
                for start in dict.fromkeys((self._root, ""))
                for checkout in self._checkouts
            ]
        for place in places:
            for checkout in self._checkouts:
                if place.startswith(checkout + "/"):
                    yield place[len(checkout) + 1 :]


def is_absolute(path: str) -> bool:
    return path.startswith("/") or bool(_DRIVE.match(path))


def foreign_checkout(printed: Iterable[str], listing: Listing) -> str:
    """The directory of another machine's checkout that these absolute paths share, "" unless it is unambiguous.

    A directory qualifies if at least four of five absolute paths below it name a file of the tree once it is
    cut off; two directories that explain equally many paths are ambiguous.
    """
    paths = {posixpath.normpath(s) for p in printed for s in _spellings(p)[-1:] if is_absolute(s)}
    votes: Counter[str] = Counter()
    below: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")
        for at in range(1, len(parts)):
            prefix = "/".join(parts[:at])
            below[prefix] += 1
            if prefix and entry_reason("/".join(parts[at:]), listing) is None:
                votes[prefix] += 1
    best = [(count, prefix) for prefix, count in votes.items() if count * 5 >= below[prefix] * 4]
    best.sort(key=lambda vote: (-vote[0], vote[1]))
    if not best or (len(best) > 1 and best[1][0] == best[0][0]):
        return ""
    return best[0][1]


def _normal(root: str) -> str:
    normal = posixpath.normpath(root or ".")
    return "" if normal == "." else normal


def _spellings(printed: str) -> list[str]:
    """The ways to read a printed path: as it is, then with its backslashes as separators."""
    path = printed
    if path.startswith("file:"):
        rest = path[5:]
        rest = "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest
        path = os.fsdecode(unquote_to_bytes(rest.encode("utf-8", "surrogateescape")))
        path = path[1:] if _DRIVE.match(path[1:]) and path.startswith("/") else path
    if "\\" not in path:
        return [path]
    slashed = path.replace("\\", "/")
    return [slashed] if _DRIVE.match(path) else [path, slashed]
