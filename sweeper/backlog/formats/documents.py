"""Finding a JSON document in output that has human text before or after it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

_DECODER = json.JSONDecoder()
_START = re.compile(r"^[ \t\ufeff]*([\[{]|null[ \t\r]*$)", re.MULTILINE)
_SPACE = re.compile(r"[ \t\r\n]*")
MAX_CANDIDATES = 1000


class Broken(ValueError):
    """A document starts here and is not whole."""


def starts(text: str) -> Iterator[int]:
    """Where a document may start: at the beginning of a line, and as a last resort at the first bracket."""
    first = -1
    for count, match in enumerate(_START.finditer(text)):
        if count == MAX_CANDIDATES:
            return
        if first < 0:
            first = match.start(1)
        yield match.start(1)
    if first < 0:
        inline = re.search(r"[\[{]", text)
        if inline:
            yield inline.start()


def _skip(text: str, index: int) -> int:
    match = _SPACE.match(text, index)
    return match.end() if match else index


def array(text: str, index: int, visit: Callable[[Any], None]) -> int:
    """Visit the elements of the array that starts at `index`, holding one at a time; returns its end.

    Raises ValueError with `pos` where the text stops being JSON.
    """
    index = _skip(text, index + 1)
    if text[index : index + 1] == "]":
        return index + 1
    while True:
        value, index = _DECODER.raw_decode(text, index)
        visit(value)
        index = _skip(text, index)
        following = text[index : index + 1]
        if following == "]":
            return index + 1
        if following != ",":
            raise json.JSONDecodeError("Expecting ',' or ']'", text, index)
        index = _skip(text, index + 1)


def find(text: str, read: Callable[[str, int], int | None]) -> tuple[str, str] | None:
    """Read the document that `read(text, start)` accepts (it returns the document's end, None to decline).

    Returns the text before and after it, None if there is none. A candidate that stops being JSON on its
    first line was no document ("[WARNING] ..."); one that goes on for longer is a broken one: raises Broken.
    """
    for start in starts(text):
        try:
            end = read(text, start)
        except json.JSONDecodeError as error:
            if "\n" in text[start : error.pos].strip():
                raise Broken(f"the JSON document is not whole: {error.msg} at character {error.pos}") from None
            continue
        if end is not None:
            return text[:start], text[end:]
    return None


def decode(text: str, start: int) -> tuple[Any, int]:
    value: Any
    value, end = _DECODER.raw_decode(text, start)
    return value, end
