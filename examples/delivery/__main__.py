"""`python -m examples.delivery LIST.json`: deliver what was not yet seen; exit code 1 if something is left."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio

from examples.delivery import Book, Delivery
from sweeper.drain import EngineLimits, drain


def main(path: Path) -> int:
    book = Book(path.with_suffix(".db"), f"{os.uname().nodename}:{os.getpid()}")
    try:
        book.add((path.parent / entry["file"], entry["url"]) for entry in json.loads(path.read_text()))
        anyio.run(drain, [Delivery(book)], book, EngineLimits(agents=4))
        states = book.states()
    finally:
        book.close()
    for url, state in states.items():
        print(f"{state:5} {url}")
    return 0 if set(states.values()) <= {"seen"} else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m examples.delivery LIST.json")
    sys.exit(main(Path(sys.argv[1])))
