"""From a stopped sandbox's layer to a commit: what counts, what is dropped, what is refused, each by name.

Only the layer is looked at: whatever an agent did with git inside its sandbox (commits, branches, stashes, a
rewritten base) changes nothing here. Bytes are carried through as they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sweeper.policy.content import secret_rules
from sweeper.records import Change, Listing
from sweeper.redact import Redactor
from sweeper.repo import Repo
from sweeper.sandbox.contract import Entry, EntryKind, Layer

FILE, EXECUTABLE, LINK, GITLINK = 0o100644, 0o100755, 0o120000, 0o160000

# What tools leave behind for themselves, in repositories whose .gitignore does not name it. Only untracked paths are
# looked up here: a cache is never anybody's fix.
CACHES = frozenset(
    {
        b"__pycache__", b".ruff_cache", b".mypy_cache", b".dmypy.json", b".pytest_cache", b".hypothesis", b".tox",
        b".nox", b".eslintcache", b".stylelintcache", b".cache", b".parcel-cache", b".turbo", b".gradle", b".DS_Store",
    }
)  # fmt: skip

REASONS = {
    EntryKind.SYMLINK: "is a symbolic link",
    EntryKind.SPECIAL: "is a device, pipe or socket",
    EntryKind.REFUSED_NAME: "has a name that git or a terminal could misread",
    EntryKind.TOO_BIG: "is too large",
    EntryKind.TOO_DEEP: "lies too deep or has too long a path",
    EntryKind.TOO_MANY: "is one of too many changed paths",
    EntryKind.UNREADABLE: "could not be read",
    EntryKind.ODD: "was changed in a way that a plain write does not",
}
KEPT_NAMES = 50  # names of each kind that the commit's message keeps
REFUSED, OUT_OF_SCOPE, DROPPED = "Sweeper-Refused: ", "Sweeper-Out-Of-Scope: ", "Sweeper-Dropped: "
TRAILERS = (REFUSED, OUT_OF_SCOPE, DROPPED)


@dataclass(frozen=True, slots=True)
class Refused:
    """A write that no commit may hold. `path` is "" for the layer as a whole."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Captured:
    """What a sandbox changed. `commit` is "" if nothing of it counts: then there is no commit and no ref.

    `changes`: sorted by path, all within the scope. `out_of_scope`: other paths that were written, for the policy
    to judge. `dropped_ignored`: git-ignored paths and tool caches.
    """

    commit: str
    changes: tuple[Change, ...] = ()
    refused: tuple[Refused, ...] = ()
    dropped_ignored: int = 0
    out_of_scope: tuple[str, ...] = ()

    @property
    def touched(self) -> bool:
        """Whether the sandbox wrote anything that counts for or against it."""
        return bool(self.changes or self.refused or self.out_of_scope)


async def capture(
    layer: Layer,
    repo: Repo,
    base: str,
    listing: Listing,
    in_scope: Callable[[bytes], bool],
    ref: str,
    message: str,
    when: float,
    secrets: Sequence[bytes] = (),
) -> Captured:
    """Commit what counts on top of `base`, under `ref`; `when`: the commit's time, in epoch seconds.

    Equal layers give an equal commit. What holds one of `secrets` is refused here already, so that no object of the
    repository ever does. Raises GitFailed.
    """
    entries = [entry for entry in layer.entries if entry.path and not beside_the_tree(entry.path, listing)]
    ignored = await repo.check_ignore(base, [entry.path for entry in entries if entry.path not in listing])
    kept, outside, dropped = sort_out(entries, listing, ignored, in_scope)
    filtered = await repo.attributes(base, [e.path for e in kept if e.kind is EntryKind.FILE], ("filter",))
    changes: list[Change] = []
    refused = [Refused("", "too many paths were changed to look at all of them")] if layer.truncated else []
    for entry in kept:
        driver = filtered.get(entry.path, {}).get("filter", "unset")
        path = os.fsdecode(entry.path)
        if why := refusal(entry, listing, driver):
            refused.append(Refused(path, why))
        elif any(secret_rules(path, None, entry.data or b"", secrets)):
            refused.append(Refused(path, "holds a known credential"))
        else:
            changes.append(change_of(entry, listing))
    text = Redactor(secrets).text(message.rstrip("\n") + trailers(refused, outside, dropped))
    commit = await repo.write_change(base, changes, text, ref, when) if changes else ""
    return Captured(commit, tuple(changes) if commit else (), tuple(refused), dropped, tuple(outside))


async def recall(repo: Repo, commit: str, in_scope: Callable[[bytes], bool]) -> tuple[Captured, str]:
    """A captured commit as `capture` returned it, and the message it was given: to be judged after a crash.

    Of what was refused or out of scope the first 50 names are known. A change that the scope of today does not
    cover counts as out of scope. Raises GitFailed.
    """
    rows = (await repo.commit_of(commit)).message.rstrip("\n").split("\n")
    kept: dict[str, str] = {}
    while rows and (word := next((word for word in TRAILERS if rows[-1].startswith(word)), None)):
        kept[word] = rows.pop().removeprefix(word)
    changes = await repo.changes_of(commit)
    outside = [*json.loads(kept.get(OUT_OF_SCOPE, "[]"))]
    outside += [change.path for change in changes if not in_scope(os.fsencode(change.path))]
    captured = Captured(
        commit,
        tuple(change for change in changes if in_scope(os.fsencode(change.path))),
        tuple(Refused(path, reason) for path, reason in json.loads(kept.get(REFUSED, "[]"))),
        int(kept.get(DROPPED, "0")),
        tuple(outside),
    )
    return captured, "\n".join(rows).rstrip("\n")


def beside_the_tree(path: bytes, listing: Listing) -> bool:
    """Whether a path is no part of the repository's tree: the sandbox's own `.git`, or inside a submodule."""
    if path == b".git" or path.startswith(b".git/"):
        return True
    above = path.split(b"/")[:-1]
    for i in range(1, len(above) + 1):
        entry = listing.get(b"/".join(above[:i]))
        if entry is not None:
            return entry.mode == GITLINK
    return False


def sort_out(
    entries: Sequence[Entry], listing: Listing, ignored: set[bytes], in_scope: Callable[[bytes], bool]
) -> tuple[list[Entry], list[str], int]:
    """(in scope, out of scope by name, how many were dropped), in the layer's order."""
    kept: list[Entry] = []
    outside: list[str] = []
    dropped = 0
    for entry in entries:
        tracked = listing.get(entry.path)
        if tracked is None and (entry.path in ignored or not CACHES.isdisjoint(entry.path.split(b"/"))):
            dropped += 1
        elif in_scope(entry.path):
            kept.append(entry)
        elif tracked is None or tracked.mode != GITLINK or entry.kind is not EntryKind.DELETED:
            # An empty folder where a submodule was not checked out is nothing that a commit could lose.
            outside.append(os.fsdecode(entry.path))
    return kept, outside, dropped


def refusal(entry: Entry, listing: Listing, driver: str) -> str:
    """Why an entry in scope may not be committed; "" if it may."""
    tracked = listing.get(entry.path)
    if tracked is not None and tracked.mode == GITLINK:
        return "replaces a submodule"
    if entry.kind is EntryKind.DELETED:
        return ""
    if entry.kind is not EntryKind.FILE:
        return REASONS[entry.kind]
    if tracked is not None and tracked.mode == LINK:
        return "replaces a symbolic link"
    if driver != "unset":
        return f"is stored through the git filter {driver!r}"
    return "" if entry.data is not None else "was not read"


def change_of(entry: Entry, listing: Listing) -> Change:
    """The change that an entry makes. A mode is never the sandbox's choice: the base's, or a plain file's."""
    tracked, path = listing.get(entry.path), os.fsdecode(entry.path)
    if entry.kind is EntryKind.DELETED:
        return Change(path, None, tracked.mode if tracked else FILE)
    return Change(path, entry.data, EXECUTABLE if tracked and tracked.mode == EXECUTABLE else FILE)


def trailers(refused: Sequence[Refused], outside: Sequence[str], dropped: int) -> str:
    """What the commit cannot hold, kept in its message, so that judging it again judges the same attempt."""
    rows = [
        *((REFUSED + json.dumps([[r.path, r.reason] for r in refused[:KEPT_NAMES]]),) if refused else ()),
        *((OUT_OF_SCOPE + json.dumps(list(outside[:KEPT_NAMES])),) if outside else ()),
        *((f"{DROPPED}{dropped}",) if dropped else ()),
    ]
    return "\n\n" + "\n".join(rows) if rows else ""
