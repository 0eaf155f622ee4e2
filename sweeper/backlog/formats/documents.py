"""JSON documents: finding them in output that has human text around them, reading them without holding them whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from sweeper.backlog.parsed import Parsed, plain

_DECODER = json.JSONDecoder()
_START = re.compile(r"^[ \t\ufeff]*([\[{]|null[ \t\r]*$)", re.MULTILINE)
_SPACE = re.compile(r"[ \t\r\n]*")
_OPENING = re.compile(r"\[\s*[\]{]|\{\s*[}\"]|null")
_INLINE = re.compile(r"\[\s*\{\s*\"|\{\s*\"")
_EMPTY_LIST = re.compile(r"\[\s*\]|null")
MAX_CANDIDATES = 1000

Visit = Callable[[Any, Parsed], bool]


class Broken(ValueError):
    """A document starts here and is not whole."""


def starts(text: str) -> Iterator[int]:
    """Where a document may start: at the beginning of a line, and as a last resort at the first bracket."""
    first = -1
    for number, match in enumerate(_START.finditer(text)):
        if number == MAX_CANDIDATES:
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


def decode(text: str, start: int) -> tuple[Any, int]:
    value: Any
    value, end = _DECODER.raw_decode(text, start)
    return value, end


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
        following = text[index : index + 1]
        if following != "," and following != "]":
            index = _skip(text, index)
            following = text[index : index + 1]
        if following == "]":
            return index + 1
        if following != ",":
            raise json.JSONDecodeError("Expecting ',' or ']'", text, index)
        index = _skip(text, index + 1)


def members(text: str, index: int, streamed: str, visit: Callable[[Any], None]) -> tuple[dict[str, Any], int]:
    """The members of the object that starts at `index`, and its end.

    The array of the member `streamed` is visited element by element and comes back as []. Raises ValueError.
    """
    found: dict[str, Any] = {}
    index = _skip(text, index + 1)
    if text[index : index + 1] == "}":
        return found, index + 1
    while True:
        name, index = _DECODER.raw_decode(text, index)
        index = _skip(text, index)
        if not isinstance(name, str) or text[index : index + 1] != ":":
            raise json.JSONDecodeError("Expecting a member", text, index)
        index = _skip(text, index + 1)
        if name == streamed and text[index : index + 1] == "[":
            index = array(text, index, visit)
            found[name] = []
        else:
            found[name], index = _DECODER.raw_decode(text, index)
        index = _skip(text, index)
        following = text[index : index + 1]
        if following == "}":
            return found, index + 1
        if following != ",":
            raise json.JSONDecodeError("Expecting ',' or '}'", text, index)
        index = _skip(text, index + 1)


def find(text: str, read: Callable[[str, int], int | None]) -> list[str] | None:
    """Read every document that `read(text, start)` accepts (it returns the document's end, None to decline).

    Returns the texts around them, None if there is none. A candidate that stops being JSON on its first line
    was no document ("[WARNING] ..."); one that goes on for longer is a broken one: raises Broken.
    """
    texts: list[str] = []
    while True:
        for start in starts(text):
            try:
                end = read(text, start)
            except json.JSONDecodeError as error:
                if "\n" in text[start : error.pos].strip():
                    raise Broken(f"the JSON document is not whole: {error.msg} at character {error.pos}") from None
                continue
            if end is not None:
                break
        else:
            return [*texts, text] if texts else None
        texts.append(text[:start])
        text = text[end:]
        if not text or text.isspace():
            return texts


def opening(text: str) -> str:
    """What follows from the first place where a document seems to start, "" if there is none."""
    for start in starts(text):
        at_beginning = not text[text.rfind("\n", 0, start) + 1 : start].strip(" \t\ufeff")
        if (_OPENING if at_beginning else _INLINE).match(text, start):
            return text[start:]
    return ""


def empty_list(text: str) -> bool:
    return bool(_EMPTY_LIST.match(opening(text)))


def after_empty_lists(text: str) -> str:
    """The text without the empty lists that it begins with, as long as a document with something in it follows."""
    rest = text
    while empty_list(opened := opening(rest)):
        rest = opened[opened.index("]") + 1 :] if opened.startswith("[") else opened[len("null") :]
    return rest if opening(rest) else text


def first_object(text: str) -> dict[str, Any]:
    """The object that the text begins with, or the first line that does; {} if there is none or it is not whole."""
    text = opening(text)
    if text.startswith("{"):
        try:
            value, _ = decode(text, 0)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}
    return {}


def malformed(parsed: Parsed, value: Any) -> None:
    """Account for a part of a document that has no known shape."""
    parsed.malformed += 1
    parsed.residue = parsed.residue or plain(repr(value)[:400], 200) or "a result of no known shape"
