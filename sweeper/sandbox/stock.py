"""What is kept between runs in the store (trees, set-ups), how large it is and when it was used; and its removal.

Nothing in use is ever removed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sweeper.sandbox.space import folder_bytes
from sweeper.sandbox.store import Store

KINDS = {"trees": "tree", "setups": "setup", "toolchains": "setup"}  # kind of an entry -> what a user calls it


@dataclass(frozen=True, slots=True)
class Kept:
    """`kind`: "image", "setup" or "tree". `size`: bytes; an image's layers are shared by others, and counted in each.

    `used`: epoch seconds of the last use, 0.0 if nothing is known of it.
    """

    kind: str
    name: str
    size: int
    used: float
    in_use: bool
    place: str = ""


def stored(store: Store) -> list[Kept]:
    """Every tree and set-up of the store. Blocks."""
    return [
        Kept(what, key, folder_bytes(store.root / kind / key), used, in_use, kind)
        for kind, what in KINDS.items()
        for key, used, in_use in store.entries(kind)
    ]


def prune_stored(store: Store, older_than: float) -> list[Kept]:
    """Remove what nobody uses and nobody used for `older_than` seconds; what was removed. Blocks."""
    removed = []
    for each in stored(store):
        if each.in_use or time.time() - each.used < older_than:
            continue
        with store.taken(each.place, each.name) as free:
            if free:
                store.drop(each.place, each.name)
                removed.append(each)
    return removed
