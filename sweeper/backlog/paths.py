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
# Names of what is no file: standard input, what a compiler makes up, a tool's own configuration.
_NO_FILE = frozenset({"", "-", "stdin", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "(standard input)", "nofile"}) | {
    "Command line",
    "Command line or configuration file",
}
_MADE_UP = re.compile(r"<[^<>/\\]*>$|<::[^<>]*>$")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_URL = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+://")
VENDOR_FOLDERS = frozenset({"node_modules", "bower_components", "vendor", "third_party", "third-party", "Godeps"})
# Where installed packages, and what a build wrote, lie: the check saw them, the commit doesn't have them.
_INSTALLED = VENDOR_FOLDERS | {"site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox", ".yarn", "Pods"}
_BUILT = frozenset({"build", "_build", "dist", "target", "out", "obj", "bazel-out", ".gradle", ".dart_tool"}) | {
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".angular",
    "__generated__",
}
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
    are the repository's root where the check ran (several spellings of one place). `foreign`: a directory and the
    folder of the repository that was there, as `foreign_checkout` found them. `hanging`: absolute paths are the
    repository's own with a slash before them.
    """

    def __init__(
        self,
        *,
        root: str = ".",
        listing: Listing | None,
        checkouts: Sequence[str] = (WORK,),
        foreign: tuple[str, str] = ("", ""),
        hanging: bool = False,
    ) -> None:
        self._root = _normal(root)
        self._listing = listing
        self._checkouts = [c.replace("\\", "/").rstrip("/") for c in checkouts]
        self._places = [(checkout, "") for checkout in self._checkouts] + ([foreign] if foreign[0] else [])
        self._hanging = hanging
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
        if _MADE_UP.match(printed):
            return printed, SkipReason.NO_LOCATION
        if not candidates or _URL.match(printed):
            return printed, SkipReason.OUTSIDE
        return candidates[0], _not_committed(candidates[0]) or SkipReason.MISSING

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
            if self._hanging:
                yield places[0].lstrip("/")
        else:
            places = [
                posixpath.normpath(posixpath.join(checkout, start, spelling))
                for start in dict.fromkeys((self._root, ""))
                for checkout in self._checkouts
            ]
        for place in places:
            for directory, folder in self._places:
                if place.startswith(directory + "/"):
                    yield posixpath.join(folder, place[len(directory) + 1 :])


def is_absolute(path: str) -> bool:
    return path.startswith("/") or bool(_DRIVE.match(path))


def foreign_checkout(printed: Iterable[str], listing: Listing, root: str = ".") -> tuple[str, str]:
    """The directory of another machine that these absolute paths share, and which folder of the repository it was.

    That is the repository's top ("") or `root`; the answer is ("", "") if it is not unambiguous. A directory
    qualifies if at least four of five absolute paths below it name a file of the tree; of two that explain equally
    many paths the one with more of them below `root` is it, else it is ambiguous.
    """
    paths = {posixpath.normpath(s) for p in printed for s in _spellings(p)[-1:] if is_absolute(s)}
    root = _normal(root)
    votes: Counter[tuple[str, str]] = Counter()
    inside: Counter[tuple[str, str]] = Counter()
    below: Counter[str] = Counter()
    for path in paths:
        parts = path.split("/")
        for at in range(1, len(parts)):
            prefix, rest = "/".join(parts[:at]), "/".join(parts[at:])
            below[prefix] += 1
            for folder in ("", root) if root and not prefix.endswith("/" + root) else ("",):
                name = posixpath.join(folder, rest)
                if prefix and entry_reason(name, listing) is None:
                    votes[prefix, folder] += 1
                    inside[prefix, folder] += not root or name.startswith(root + "/")
    best = [(count, inside[place], place) for place, count in votes.items() if count * 5 >= below[place[0]] * 4]
    best.sort(key=lambda vote: (-vote[0], -vote[1], vote[2]))
    if not best or (len(best) > 1 and best[1][:2] == best[0][:2]):
        return "", ""
    return best[0][2]


def hangs(printed: Iterable[str], listing: Listing, checkouts: Sequence[str]) -> bool:
    """Whether every absolute path outside of the checkouts is one of the tree with a slash before it."""
    paths = {posixpath.normpath(s) for p in printed for s in _spellings(p)[-1:] if s.startswith("/")}
    outside = [path for path in paths if not any(path.startswith(c.rstrip("/") + "/") for c in checkouts)]
    return bool(outside) and all(entry_reason(path.lstrip("/"), listing) is None for path in outside)


def _not_committed(path: str) -> SkipReason | None:
    """What a file that the commit doesn't have must be, by the folders that it lies in."""
    folders = set(path.split("/")[:-1])
    if not folders.isdisjoint(_INSTALLED):
        return SkipReason.VENDORED
    return None if folders.isdisjoint(_BUILT) else SkipReason.GENERATED


def _normal(root: str) -> str:
    normal = posixpath.normpath(root or ".")
    return "" if normal == "." else normal


def _spellings(printed: str) -> list[str]:
    """The ways to read a printed path: as it is, then with its backslashes as separators, else percent-decoded."""
    path = printed
    if path.startswith("file:"):
        rest = path[5:]
        rest = "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest
        path = os.fsdecode(unquote_to_bytes(rest.encode("utf-8", "surrogateescape")))
        path = path[1:] if _DRIVE.match(path[1:]) and path.startswith("/") else path
    if _ENCODED.search(path) and not path.startswith("file:"):
        return [path, os.fsdecode(unquote_to_bytes(path.encode("utf-8", "surrogateescape")))]
    if "\\" not in path:
        return [path]
    slashed = path.replace("\\", "/")
    return [slashed] if _DRIVE.match(path) else [path, slashed]
