"""JSON formats as declarations: what a document looks like, and what one result of it is."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from sweeper.backlog.formats.documents import (
    Broken,
    array,
    decode,
    empty_list,
    find,
    first_object,
    malformed,
    members,
    opening,
)
from sweeper.backlog.formats.residue import around, count, leftover, no_document
from sweeper.backlog.parsed import Parsed, strip_ansi

_SAMPLE = 1 << 16  # characters
_OBJECT = re.compile(r"\{\s*\"")
Visit = Callable[[Any, Parsed], bool]


def _has(text: str, names: tuple[str, ...]) -> bool:
    return all(f'"{name}"' in text for name in names)


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
        return empty_list(text) or (text.startswith("[") and _has(text[:_SAMPLE], self.names))

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
                text = line.strip(" \t\r\n\ufeff")
                while text.startswith("{"):
                    try:
                        value, end = decode(text, 0)
                    except ValueError:
                        break
                    seen += 1
                    if not self.visit(value, parsed):
                        malformed(parsed, value)
                    text = text[end:].lstrip()
                if not _OBJECT.match(text):
                    yield text
                elif line.endswith("\n"):
                    malformed(parsed, text)
                else:
                    parsed.failed = "the last line of the output is not whole"

        unknown = leftover(parsed, rest()).unparsed
        parsed.understood = bool(seen) and not unknown and not parsed.malformed
        parsed.unparsed += parsed.malformed
        if seen:
            self.finish(parsed)
        return parsed
