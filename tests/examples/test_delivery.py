"""The delivery list on the sweep's engine, against a real HTTP server that does not always keep its word."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from examples.delivery import Book, Delivery, Item
from sweeper.drain import Drained, EngineLimits, Tally, Why, drain
from sweeper.ledger.contract import JournalRow
from sweeper.loop import Loop, Page
from sweeper.replay import replay
from tests.drain.loops import Ledger, Memory
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


class Target(ThreadingHTTPServer):
    """Keeps what is put under its path. `loses`: path -> how many puts it answers with 201 and forgets."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.kept: dict[str, bytes] = {}
        self.loses: Counter[str] = Counter()
        self.puts: Counter[str] = Counter()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class Handler(BaseHTTPRequestHandler):
    server: Target

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.puts[self.path] += 1
        if self.server.loses[self.path]:
            self.server.loses[self.path] -= 1
        else:
            self.server.kept[self.path] = body if self.path != "/mangled" else body + b"?"
        self.send_response(201)
        self.end_headers()

    def do_GET(self) -> None:
        body = self.server.kept.get(self.path)
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def target() -> Iterator[Target]:
    with Target() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    book = Book(tmp_path / "book.db", "me")
    yield book
    book.close()


def fill(book: Book, target: Target, folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(name.encode() * 100)
    book.add((folder / name, target.url(name)) for name in names)


async def deliver(book: Book, *others: Loop) -> Drained:
    rows: list[JournalRow] = []
    delivery = Delivery(book, pause=0.01)
    claims = {"delivery": book} | {other.name: Ledger() for other in others}
    drained = await drain([delivery, *others], claims, EngineLimits(agents=3), journal=rows.append)
    report = replay(rows)
    assert (report.difference, report.complete) == (None, True)
    return drained


@pytest.mark.anyio
async def test_every_item_is_seen_at_its_target(book: Book, target: Target, tmp_path: Path) -> None:
    names = [f"item{number}" for number in range(120)]
    fill(book, target, tmp_path, *names)
    drained = await deliver(book)
    assert drained.why is Why.DRAINED
    assert drained.tally == Tally(dispatched=120, settled=120)
    assert set(book.states().values()) == {"seen"}
    assert target.kept == {f"/{name}": (tmp_path / name).read_bytes() for name in names}


@pytest.mark.anyio
async def test_a_target_that_says_yes_and_keeps_nothing_is_not_believed(
    book: Book, target: Target, tmp_path: Path
) -> None:
    fill(book, target, tmp_path, "good", "lost-once", "lost", "mangled", "missing")
    target.loses.update({"/lost-once": 1, "/lost": 99})
    (tmp_path / "missing").unlink()
    drained = await deliver(book)
    states = {url.rpartition("/")[2]: state for url, state in book.states().items()}
    assert states == {"good": "seen", "lost-once": "seen", "lost": "held", "mangled": "held", "missing": "held"}
    assert target.puts == {"/good": 1, "/lost-once": 2, "/lost": 3, "/mangled": 3}
    assert drained.tally == Tally(dispatched=12, settled=2, retried=10, held=3)


@pytest.mark.anyio
async def test_what_was_seen_is_not_delivered_again_and_what_others_have_is_left_alone(
    book: Book, target: Target, tmp_path: Path
) -> None:
    fill(book, target, tmp_path, "a", "b")
    await deliver(book)
    fill(book, target, tmp_path, "a", "b", "c", "d")
    other = Book(tmp_path / "book.db", "somebody else")
    theirs = next(item for item in await other.page(None, 9) if item.url == target.url("c"))
    assert await other.claim(theirs) is not None
    assert await book.claim(theirs) is None
    await book.release(theirs)  # not ours to give back
    await deliver(book)
    assert target.puts == {"/a": 1, "/b": 1, "/d": 1}
    other.forget_claims("somebody else")
    other.close()
    await deliver(book)
    assert target.puts["/c"] == 1


@pytest.mark.anyio
async def test_a_claim_that_is_lost_between_page_and_claim(book: Book, target: Target, tmp_path: Path) -> None:
    fill(book, target, tmp_path, "a", "b")
    other = Book(tmp_path / "book.db", "somebody else")

    class Slow(Delivery):
        async def select_queue(self, cursor: str | None) -> Page:
            page = await super().select_queue(cursor)
            unit: Item = page.units[0]
            await other.claim(unit)
            return page

    drained = await drain([Slow(book)], book, EngineLimits())
    other.close()
    assert drained.tally == Tally(dispatched=1, settled=1, claims_lost=1)


@pytest.mark.anyio
async def test_two_kinds_of_loops_on_one_engine(book: Book, target: Target, tmp_path: Path) -> None:
    fill(book, target, tmp_path, *[f"item{number}" for number in range(20)])
    other = Memory(300)
    drained = await deliver(book, other)
    assert drained.tally == Tally(dispatched=320, settled=320)
    assert len(other.landed) == 300


def test_the_command(target: Target, tmp_path: Path) -> None:
    (tmp_path / "good").write_text("content")
    entries = [{"file": "good", "url": target.url("good")}]
    (tmp_path / "list.json").write_text(json.dumps(entries))
    ran = subprocess.run(
        [sys.executable, "-m", "examples.delivery", str(tmp_path / "list.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, f"seen  {target.url('good')}\n"), ran.stderr
    assert target.kept == {"/good": b"content"}
