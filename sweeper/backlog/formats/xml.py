"""XML documents of linters, parsed without entities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sweeper.backlog.formats.residue import around, count, no_document
from sweeper.backlog.parsed import Parsed, strip_ansi

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_INVALID = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def skeleton(tag: str, stdout: bytes, stderr: bytes) -> tuple[Parsed, Element | None]:
    """The document whose root is `tag`, in either stream, and the text around it accounted for."""
    from defusedxml import ElementTree  # only these formats need it
    from defusedxml.common import DefusedXmlException

    texts = [strip_ansi(data).decode("utf-8", "surrogateescape") for data in (stdout, stderr)]
    for text in texts:
        start = re.search(rf"<{tag}[\s>]", text)
        if start is None:
            continue
        closing = f"</{tag}>"
        end = text.rfind(closing)
        if end < 0:
            return Parsed(failed=f"the XML document <{tag}> is not whole", unparsed=count(text)), None
        end += len(closing)
        body = _INVALID.sub("?", text[start.start() : end])
        try:
            # Bytes that are no UTF-8 (in a path) become private characters, and are turned back by `element`.
            root = ElementTree.fromstring(_hide(body))
        except (ElementTree.ParseError, DefusedXmlException, ValueError) as error:
            return Parsed(failed=f"the XML document <{tag}> is broken: {error}"[:300], unparsed=count(text)), None
        before = re.sub(r"<\?xml[^>]*\?>|<!--.*?-->", "", text[: start.start()], flags=re.DOTALL)
        parsed = Parsed(understood=True)
        return around(parsed, before, text[end:]), root
    return no_document("\n".join(texts)), None


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
