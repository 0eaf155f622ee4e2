"""The six methods: from a delivery list to items that were seen at their targets."""

from __future__ import annotations

import hashlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from examples.delivery.book import Book, Item
from sweeper.loop import Decision, Go, Hold, Idle, Page, RetryAt, Settled, Slot

PAGE = 50


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the verifier found at the target. `seen`: exactly the file's bytes. `why` explains a no."""

    seen: bool
    why: str = ""


class Delivery:
    """One delivery list. An item that was not seen is tried again `pause` seconds later, `tries` times in all."""

    name = "delivery"

    def __init__(
        self, book: Book, *, tries: int = 3, pause: float = 1.0, clock: Callable[[], float] = time.time
    ) -> None:
        self._book = book
        self._tries = tries
        self._pause = pause
        self._clock = clock
        self._failures: dict[str, int] = {}  # of items that wait for their next try

    async def select_queue(self, cursor: str | None) -> Page:
        items = await self._book.page(cursor, PAGE)
        return Page(items, items[-1].key if len(items) == PAGE else None)

    def tier_policy(self, unit: Item) -> Go | Hold:
        tries = self._failures.get(unit.key, unit.tries)
        return Go("put") if tries < self._tries else Hold(f"not seen at its target after {tries} tries")

    async def dispatch(self, unit: Item, rung: str, slot: Slot) -> Receipt:
        try:
            await anyio.to_thread.run_sync(put, unit.file, unit.url)
        except OSError as problem:
            return Receipt(False, f"not delivered: {problem}")
        finally:
            slot.free()
        return await anyio.to_thread.run_sync(look, unit.file, unit.url)

    async def land(self, unit: Item, result: Receipt | Hold | Exception) -> Decision:
        if isinstance(result, Receipt) and result.seen:
            self._failures.pop(unit.key, None)
            await self._book.record(unit.key, "seen", "", tried=True)
            return Settled()
        if isinstance(result, Hold):
            self._failures.pop(unit.key, None)
            await self._book.record(unit.key, "held", result.reason, tried=False)
            return result
        why = result.why if isinstance(result, Receipt) else f"{type(result).__name__}: {result}"
        await self._book.record(unit.key, "open", why, tried=True)
        self._failures[unit.key] = (await self._book.item(unit.key)).tries
        return RetryAt(self._clock() + self._pause)

    async def on_idle(self) -> Idle:
        return Idle.STOP


def put(file: Path, url: str) -> None:
    """The courier. Raises OSError; that it does not is no proof of anything."""
    request = urllib.request.Request(url, data=file.read_bytes(), method="PUT")
    with urllib.request.urlopen(request, timeout=10):
        pass


def look(file: Path, url: str) -> Receipt:
    """The verifier: asks the target for what is there and compares it with the file."""
    wanted = hashlib.sha256(file.read_bytes())
    found = hashlib.sha256()
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            while chunk := answer.read(1 << 16):
                found.update(chunk)
    except OSError as problem:
        return Receipt(False, f"not seen: {problem}")
    return Receipt(True) if found.digest() == wanted.digest() else Receipt(False, "something else is there")
