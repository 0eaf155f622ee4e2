"""The delivery list, kept in SQLite: what is open, who works on it, what was seen. Also the engine's claims."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")

SCHEMA = """
create table if not exists item (
  key text primary key, file text not null, url text not null,
  state text not null default 'open', tries integer not null default 0, why text not null default '',
  owner text
) strict
"""


@dataclass(frozen=True, slots=True)
class Item:
    """One file and the URL where it has to be seen. `tries` as of when it was read."""

    key: str
    file: Path
    url: str
    tries: int


class Book:
    """`owner` is this process's name in claims. Use it as a context manager; its writes are durable."""

    def __init__(self, path: Path, owner: str) -> None:
        self.owner = owner
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.execute(SCHEMA)
        self._one = anyio.CapacityLimiter(1)

    def close(self) -> None:
        self._db.close()

    def add(self, items: Iterable[tuple[Path, str]]) -> None:
        """Add (file, url) pairs; a url that is on the list already stays as it is."""
        rows = [(url, str(file), url) for file, url in items]
        self._db.executemany("insert or ignore into item (key, file, url) values (?, ?, ?)", rows)

    def states(self) -> dict[str, str]:
        """url -> state (open | seen | held)."""
        return dict(self._db.execute("select url, state from item order by url"))

    async def page(self, after: str | None, limit: int) -> tuple[Item, ...]:
        return await self._do(lambda: tuple(map(_item, self._page(after or "", limit))))

    async def item(self, key: str) -> Item:
        rows = "select key, file, url, tries from item where key = ?"
        return await self._do(lambda: _item(self._db.execute(rows, (key,)).fetchone()))

    async def record(self, key: str, state: str, why: str, *, tried: bool) -> None:
        """The result and the claim's release, in one statement."""
        change = "update item set state = ?, why = ?, tries = tries + ?, owner = null where key = ?"
        await self._do(lambda: self._db.execute(change, (state, why, tried, key)))

    def forget_claims(self, owner: str) -> None:
        """Somebody knows that this owner is gone."""
        self._db.execute("update item set owner = null where owner = ?", (owner,))

    # --- the engine's claims ---
    async def claim(self, unit: Item) -> str | None:
        change = "update item set owner = ? where key = ? and owner is null and state = 'open'"
        won = await self._do(lambda: self._db.execute(change, (self.owner, unit.key)).rowcount)
        return self.owner if won else None

    async def release(self, unit: Item) -> None:
        change = "update item set owner = null where key = ? and owner = ?"
        await self._do(lambda: self._db.execute(change, (unit.key, self.owner)))

    def _page(self, after: str, limit: int) -> list[Any]:
        rows = (
            "select key, file, url, tries from item"
            " where state = 'open' and owner is null and key > ? order by key limit ?"
        )
        return self._db.execute(rows, (after, limit)).fetchall()

    async def _do(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._one)


def _item(row: tuple[str, str, str, int]) -> Item:
    key, file, url, tries = row
    return Item(key, Path(file), url, tries)
