"""Letters that a reader takes for others than the compiler does: escapes that are code, twins of other alphabets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from sweeper.policy.languages import LANGUAGES
from sweeper.policy.rules import Violation
from sweeper.policy.version import Pair

_ESCAPE = re.compile(r"\\u+(?:\{0*([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))|\\U([0-9a-fA-F]{8})")
_ENDS = frozenset('"\\\n\r')  # what ends a string or a line
_WORD = re.compile(r"[^\W\d][\w\u0300-\u036f]*")
_MARK = re.compile("[\u0300-\u036f]")
# Letters of other alphabets that look like Latin ones: Cyrillic, Greek, Armenian.
_TWINS = re.compile(
    "[\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420"
    "\u0421\u0422\u0425\u0405\u0406\u0408\u03bf\u03bd\u03b9\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5"
    "\u03a7\u0585\u057d\u0578\u04cf\u04c0\u0475\u0461\u03c1\u03b1\u03b3\u03ba]"
)
_LATIN = re.compile(r"[A-Za-z]")
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_CONTINUES = re.compile(r"\?\?/[ \t]*$")
_PER_LANGUAGE = frozenset({"java", "javascript", "typescript", "tsx", "c", "cpp"})


def disguise_rules(pair: Pair) -> Iterator[Violation]:
    """New lines with such letters; the lines are read with their comments and strings apart."""
    new = [number for number in sorted(pair.changed_lines) if number <= len(pair.after.lines)]
    known = set(pair.before.lines)
    lines = [number for number in new if pair.after.lines[number - 1] not in known and _worth(pair, number)]
    if not lines:
        return
    code = pair.after.code.split("\n")
    comments = pair.after.without_comments.split("\n")
    found: dict[str, list[int]] = {}
    for number in lines:
        raw = pair.after.lines[number - 1]
        plain = pair.before.code.isascii()
        if (said := _said(pair.after.language, raw, code[number - 1], comments[number - 1], plain)) is not None:
            found.setdefault(said, []).append(number)
    for said, where in found.items():
        yield Violation("hidden_character", pair.path, tuple(where), said)


def _worth(pair: Pair, number: int) -> bool:
    line = pair.after.lines[number - 1]
    return not line.isascii() or "\\u" in line or "\\U" in line or "??" in line


def _said(language: str, raw: str, code: str, uncommented: str, plain: bool) -> str | None:
    """`plain`: whether the names of the base are of plain letters alone."""
    if language in _PER_LANGUAGE and (said := _escaped(language, raw, code, uncommented)) is not None:
        return said
    if language not in LANGUAGES or code.isascii():
        return None
    for word in _WORD.findall(code.encode("latin-1", "replace").decode("utf-8", "replace")):
        if word.isascii():
            continue
        if _LATIN.search(word) and _TWINS.search(word) and _TWINS.sub("", word).isascii():
            return "a name of letters of two alphabets"
        if plain and not _TWINS.sub("", word):
            return "a name of letters that look like others"
        folded = unicodedata.normalize("NFKC", word)
        if folded.isascii():
            return "a name in letters that a compiler or a reader takes for plain ones"
        if _MARK.search(folded):
            return "a name with a mark that belongs to no letter"
    return None


def _escaped(language: str, raw: str, code: str, uncommented: str) -> str | None:
    """Escapes count in a name anywhere; in Java, whose compiler reads them first, wherever they end something."""
    for match in _ESCAPE.finditer(raw):
        letter = chr(min(int(next(filter(None, match.groups())), 16), 0x10FFFF))
        in_code = code[match.start() : match.end()].strip() != ""
        in_comment = not uncommented[match.start() : match.end()].strip()
        early = language == "java" and (letter in _ENDS or (in_comment and letter > " "))
        if letter.isascii() and (in_code or early):
            return "an escape that the compiler reads as code"
    if language in ("c", "cpp") and (_TRIGRAPH.search(code) or _CONTINUES.search(raw)):
        return "a trigraph"
    return None
