"""JSON documents: finding them in output that has human text around them, reading them without holding them whole.

A format says in a `Document` or `Lines` what its document looks like and what one result of it is.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sweeper.backlog.formats.residue import around, count, leftover, no_document
from sweeper.backlog.parsed import Parsed, plain, strip_ansi

_DECODER = json.JSONDecoder()
_START = re.compile(r"^[ \t\ufeff]*([\[{]|null[ \t\r]*$)", re.MULTILINE)
_SPACE = re.compile(r"[ \t\r\n]*")
_OPENING = re.compile(r"\[\s*[\]{]|\{\s*[}\"]|null")
_INLINE = re.compile(r"\[\s*\{\s*\"|\{\s*\"")
_EMPTY_LIST = re.compile(r"\[\s*\]|null")
MAX_CANDIDATES = 1000
_SAMPLE = 1 << 16

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


def _has(text: str, names: tuple[str, ...]) -> bool:
    return all(f'"{name}"' in text for name in names)


def malformed(parsed: Parsed, value: Any) -> None:
    """Account for a part of a document that has no known shape."""
    parsed.malformed += 1
    parsed.residue = parsed.residue or plain(repr(value)[:400], 200) or "a result of no known shape"


@dataclass(frozen=True, slots=True)
class Document:
    """A format of one JSON document: an array of results, or an object with `results` as one of its members.

    `names` are quoted in every document that has results, or in every document of an object format.
    `visit(result, parsed)` adds what one result says; False if its shape is not known. `finish(members, parsed)`
    gets the other members of an object. `required` members make an object a document of this format.
    `counts`: the elements of the array are files, so that none means that no file was looked at. `leads`: the
    results are the object's first member, and it has no others but the `required` and `optional` ones.
    """

    names: tuple[str, ...]
    visit: Visit
    results: str = ""
    required: tuple[str, ...] = ()
    finish: Callable[[dict[str, Any], Parsed], None] = field(default=lambda members, parsed: None)
    counts: bool = False
    leads: bool = False
    optional: tuple[str, ...] = ()

    def looks_like(self, text: str) -> bool:
        text = opening(text)
        if self.leads:
            return bool(re.match(rf'\{{\s*"{self.results}"\s*:', text))
        if self.results:
            return text.startswith("{") and _has(text, self.names)
        return bool(_EMPTY_LIST.match(text)) or (text.startswith("[") and _has(text[:_SAMPLE], self.names))

    def parse(self, stdout: bytes, stderr: bytes) -> Parsed:
        texts = []
        for data in (stdout, stderr):
            if data:
                texts.append(strip_ansi(data).decode("utf-8", "surrogateescape"))
                parsed = self._parse(texts[-1])
                if parsed is not None:
                    return parsed
        return no_document("\n".join(texts))

    def _parse(self, text: str) -> Parsed | None:
        parsed = Parsed()

        def visit(value: Any) -> None:
            if self.counts:
                parsed.files = (parsed.files or 0) + 1
            if not self.visit(value, parsed):
                malformed(parsed, value)

        def read(text: str, start: int) -> int | None:
            known = replace(parsed, findings=[])
            number = len(parsed.findings)
            end = None
            try:
                end = self._read(text, start, visit, parsed)
            finally:
                if end is None:  # it was no document: what was visited on the way is forgotten
                    del parsed.findings[number:]
                    parsed.malformed, parsed.residue, parsed.files = known.malformed, known.residue, known.files
                    parsed.failed, parsed.incomplete = known.failed, known.incomplete
            return end

        try:
            texts = find(text, read)
        except Broken as error:
            return Parsed(failed=str(error), unparsed=count(text))
        if texts is None:
            return None
        if self.counts and parsed.files is None:
            parsed.files = 0
        parsed.understood = parsed.malformed == 0
        parsed.unparsed += parsed.malformed
        return around(parsed, *texts)

    def _read(self, text: str, start: int, visit: Callable[[Any], None], parsed: Parsed) -> int | None:
        if not self.results:
            if text[start] == "n":
                return start + len("null")
            return array(text, start, visit) if text[start] == "[" else None
        if text[start] != "{":
            return None
        found, end = members(text, start, self.results, visit)
        if not all(name in found for name in self.required):
            return None
        if self.leads and not found.keys() <= {*self.required, *self.optional}:
            return None
        if found.get(self.results) not in (None, []):
            malformed(parsed, found[self.results])
        self.finish(found, parsed)
        return end


@dataclass(frozen=True, slots=True)
class Lines:
    """A format of one JSON object a line, all of which have members of these `names`.

    `visit` as in `Document`; `finish` is called at the end.
    """

    names: tuple[str, ...]
    visit: Visit
    finish: Callable[[Parsed], None] = field(default=lambda parsed: None)

    def looks_like(self, text: str) -> bool:
        first = first_object(text)
        return bool(first) and all(name in first for name in self.names)

    def parse(self, stdout: bytes, stderr: bytes) -> Parsed:
        parsed = self._parse(stdout)
        if stderr and not parsed.understood and not parsed.findings:
            other = self._parse(stderr)
            if other.understood or other.findings:
                return other
        return parsed

    def _parse(self, data: bytes) -> Parsed:
        parsed = Parsed()
        seen = 0

        def rest() -> Iterator[str]:
            nonlocal seen
            for encoded in io.BytesIO(strip_ansi(data)):
                line = encoded.decode("utf-8", "surrogateescape")
                if not line.lstrip(" \t\ufeff").startswith("{"):
                    yield line
                    continue
                try:
                    value = json.loads(line.strip(" \t\r\n\ufeff"))
                except ValueError:
                    yield line
                    continue
                seen += 1
                if not self.visit(value, parsed):
                    malformed(parsed, value)

        unknown = leftover(parsed, rest()).unparsed
        parsed.understood = bool(seen) and not unknown and not parsed.malformed
        parsed.unparsed += parsed.malformed
        if seen:
            self.finish(parsed)
        return parsed
