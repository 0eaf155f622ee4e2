"""XML documents of linters, parsed without entities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sweeper.backlog.formats.residue import around, count, no_document
from sweeper.backlog.parsed import Parsed, strip_ansi

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_DECLARATION = re.compile(r"<\?xml[^>]*\?>|<!--.*?-->", re.DOTALL)
# Characters that XML can't hold, and ampersands that stand for nothing, are what tools forget to escape.
_REFERENCE = re.compile(r"&#(?:0*(?:[0-8]|1[124-9]|2\d|3[01])|[xX]0*(?:[0-8bcBCefEF]|1[\da-fA-F]));")
_STRAY = re.compile(r"&(?!#\d+;|#x[\da-fA-F]+;|[A-Za-z][\w.-]*;)")
_INVALID = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def skeleton(tag: str, stdout: bytes, stderr: bytes) -> tuple[Parsed, list[Element]]:
    """The documents whose root is `tag`, one after the other in either stream, and the text around them accounted for.

    A tool that is started for several lists of files, or modules, prints one each time.
    """
    texts = [strip_ansi(data).decode("utf-8", "surrogateescape") for data in (stdout, stderr)]
    opening = re.compile(rf"<{tag}(?:\s[^<>]*?)?(/?)>")
    for text in texts:
        roots: list[Element] = []
        around_them: list[str] = []
        at = 0
        while start := opening.search(text, at):
            around_them.append(text[at : start.start()])
            try:
                root, at = _document(tag, text, start)
            except ValueError as error:
                return Parsed(failed=f"the XML document <{tag}> {error}"[:300], unparsed=count(text)), []
            roots.append(root)
        if roots:
            around_them.append(text[at:])
            return around(Parsed(understood=True), *(_DECLARATION.sub("", part) for part in around_them)), roots
    return no_document("\n".join(texts)), []


def _document(tag: str, text: str, start: re.Match[str]) -> tuple[Element, int]:
    """The document that begins at `start`, and its end. Raises ValueError for one that is broken or not whole."""
    from defusedxml import ElementTree  # only these formats need it
    from defusedxml.common import DefusedXmlException

    end = start.end()
    if not start[1]:
        closing = f"</{tag}>"
        end = text.find(closing, end) + len(closing)
        if end < start.end():
            raise ValueError("is not whole")
    body = mended(text[start.start() : end])
    try:
        # Bytes that are no UTF-8 (in a path) become private characters, and are turned back by `element`.
        return ElementTree.fromstring(_hide(body)), end
    except (ElementTree.ParseError, DefusedXmlException, ValueError) as error:
        raise ValueError(f"is broken: {error}") from None


def mended(text: str) -> str:
    """The document with what tools forget to escape put right."""
    return _STRAY.sub("&amp;", _REFERENCE.sub("?", _INVALID.sub("?", text)))


def settled(parsed: Parsed) -> Parsed:
    """Elements of no known shape mean that the document was not understood."""
    if parsed.malformed:
        parsed.understood = False
        parsed.unparsed += parsed.malformed
    return parsed


def _hide(text: str) -> str:
    return re.sub(r"[\udc80-\udcff]", lambda match: chr(ord(match[0]) - 0xDC00 + 0xF700), text)


def element(text: str) -> str:
    """An attribute's text with the bytes that `skeleton` hid."""
    return re.sub(r"[\uf780-\uf7ff]", lambda match: chr(ord(match[0]) - 0xF700 + 0xDC00), text)
