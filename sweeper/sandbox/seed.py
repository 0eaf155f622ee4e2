"""`Spec.changes` as a layer between the snapshot and what the command writes: files, and whiteouts for deletions.

The verifier then sees base + change, and its own layer holds only what it did itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from sweeper.records import Change
from sweeper.sandbox.holder import Item
from sweeper.sandbox.layer import LINK, Base


def plan(changes: Sequence[Change], base: Base) -> tuple[list[Item], bytes]:
    """What `holder.lay` writes for these changes over `base` (the snapshot's), and the body it reads.

    A folder that loses its last file disappears as a whole, as in a checkout. A path that the base does not have is
    not whited out.
    """
    after = base.patched(changes)
    files = [change for change in changes if change.data is not None]
    gone = {
        os.fsencode(change.path)
        for change in changes
        if change.data is None and base.get(os.fsencode(change.path)) is not None
    }
    hidden = _highest(gone, after)
    items: list[Item] = [(os.fsdecode(path), "gone", 0, 0, 0) for path in sorted(hidden)]
    body = bytearray()
    for change in sorted(files, key=lambda change: change.path):
        data = change.data or b""
        kind = "link" if change.mode == LINK else "file"
        mode = 0o755 if change.mode & 0o111 else 0o644
        items.append((change.path, kind, mode, len(body), len(data)))
        body += data
    return items, bytes(body)


def _highest(gone: Iterable[bytes], after: Base) -> set[bytes]:
    """Whiteouts that hide the gone paths: a folder's own where nothing is left in it; none below a new file."""
    hidden: set[bytes] = set()
    for path in gone:
        if _alive(path, after) or any(after.get(parent) is not None for parent in _parents(path)):
            continue  # a new folder or file of a change lies there and hides it
        top = path
        for parent in _parents(path):
            if _alive(parent, after):
                break
            top = parent
        hidden.add(top)
    return hidden


def _alive(path: bytes, after: Base) -> bool:
    return after.get(path) is not None or next(after.under(path), None) is not None


def _parents(path: bytes) -> Iterable[bytes]:
    """Its folders, the nearest first, without the top."""
    while b"/" in path:
        path = path.rsplit(b"/", 1)[0]
        yield path
