"""Rules about the bytes of one changed file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sweeper.policy.rules import Violation
from sweeper.redact import forms, loose_forms, loosened

BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
SHRUNK_FROM = 20  # lines
CONFLICT = re.compile(rb"^(?:<{7}|>{7}|\|{7})(?:[ \t][^\r\n]*)?\r?$", re.MULTILINE)
LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n|\Z)")
# Rules of linters whose fix *is* a change of line endings or of a byte-order mark.
LINE_ENDING_RULES = re.compile(
    r"line-?break-?style|line-?endings?|end-?of-?line$|new-lines$|crlf|^C032[78]$|^MIXED|^prettier", re.IGNORECASE
)
ENCODING_RULES = re.compile(r"bom\b|byte-?order|^UP009$|^C2503$|encoding", re.IGNORECASE)


def text_rules(path: str, before: bytes | None, after: bytes, linter_rules: Iterable[str]) -> Iterator[Violation]:
    """Everything that is wrong with `after` as a text; `before` is None for a new file."""
    linter_rules = tuple(linter_rules)
    old = before or b""
    if b"\0" in after:
        yield Violation("binary", path)
        return
    if old.strip() and not after.strip():
        yield Violation("emptied", path)
        return
    if not any(ENCODING_RULES.search(rule) for rule in linter_rules):
        yield from _encoding(path, before, after)
    if hidden := _hidden(old, after):
        yield Violation("hidden_character", path, hidden)
    if not any(LINE_ENDING_RULES.search(rule) for rule in linter_rules):
        yield from _line_endings(path, old, after)
    if len(CONFLICT.findall(after)) > len(CONFLICT.findall(old)):
        yield Violation("conflict_marker", path, tuple(_line(after, m.start()) for m in CONFLICT.finditer(after)))
    lines_before, lines_after = (sum(bool(line.strip()) for line in data.splitlines()) for data in (old, after))
    if lines_before >= SHRUNK_FROM and lines_after * 2 < lines_before:
        yield Violation("shrunk", path, detail=f"{lines_before} lines became {lines_after}")


def _line(data: bytes, offset: int) -> int:
    return len(re.findall(rb"\r\n|\r|\n", data[:offset])) + 1


def _bom(data: bytes) -> bytes:
    return next((bom for bom in BOMS if data.startswith(bom)), b"")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# Invisible, or turning the direction: zero width, bidirectional marks, soft hyphen, fillers, tags.
HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\uffa0\U000e0000-\U000e007f]"
)


def _hidden(before: bytes, after: bytes) -> tuple[int, ...]:
    """Lines of `after` with hidden characters, if there are more than before."""
    new = after.decode("utf-8", "replace")
    if new.isascii() or len(HIDDEN.findall(new)) <= len(HIDDEN.findall(before.decode("utf-8", "replace"))):
        return ()
    return tuple(number for number, line in enumerate(re.split("\r\n|\r|\n", new), 1) if HIDDEN.search(line))


COOKIE = re.compile(rb"\A(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)")


def _declared(data: bytes) -> bytes:
    found = COOKIE.match(data)
    return found[1].lower().replace(b"_", b"-") if found else b"utf-8"


def _encoding(path: str, before: bytes | None, after: bytes) -> Iterator[Violation]:
    old = before or b""
    if _bom(old) != _bom(after):
        yield Violation("encoding", path, (1,), "a byte-order mark came or went")
    elif path.endswith((".py", ".pyw", ".rb")) and _declared(old) != _declared(after):
        yield Violation("encoding", path, (1,), "another encoding is declared")
    elif _is_utf8(old) and not _is_utf8(after):
        yield Violation("encoding", path, detail="no longer UTF-8" if before is not None else "not UTF-8")
    elif not _is_utf8(old):
        kept = set(after.splitlines())
        recoded = {
            line.decode(codec, "replace").encode()
            for line in old.splitlines()
            if not _is_utf8(line) and line not in kept
            for codec in ("latin-1", "cp1252")
        }
        if lines := tuple(n for n, line in enumerate(after.splitlines(), 1) if line in recoded):
            yield Violation("encoding", path, lines, "untouched lines were encoded anew")


def _endings(data: bytes) -> Counter[tuple[bytes, bytes]]:
    """How often a line stands with an ending. The last line, if it has none, is left out: B04 is no change of style."""
    return Counter((m[1], m[2]) for m in LINE.finditer(data) if m[2])


def _line_endings(path: str, before: bytes, after: bytes) -> Iterator[Violation]:
    if b"\r" not in before and b"\r" not in after:
        return
    old, new = _endings(before), _endings(after)
    lost, came = old - new, new - old
    contents = {content for content, _ in lost} & {content for content, _ in came}
    styles_old, styles_new = {ending for _, ending in old}, {ending for _, ending in new}
    if contents:
        lines = tuple(
            number for number, m in enumerate(LINE.finditer(after), 1) if m[1] in contents and (m[1], m[2]) in came
        )
        yield Violation("line_endings", path, lines, "untouched lines have other endings")
    elif len(styles_old) == 1 and not styles_new <= styles_old:
        lines = tuple(n for n, m in enumerate(LINE.finditer(after), 1) if m[2] and m[2] not in styles_old)
        yield Violation("line_endings", path, lines, "endings other than the file's own")


# --- known secrets ---


def secret_rules(path: str, before: bytes | None, after: bytes, secrets: Sequence[bytes]) -> Iterator[Violation]:
    """A known secret that `after` (or the path) holds and `before` does not, in any common encoding."""
    name = path.encode("utf-8", "surrogateescape")
    if not secrets:
        return
    packed, loose, loose_before = b"".join(after.split()), loosened(after), loosened(before or b"")
    for secret in secrets:
        for form in forms(secret):
            if form in name:
                yield Violation("secret", "(a path that holds it)")
                return
            # base64 is wrapped into lines by most tools
            if (form in after or form in packed) and form not in (before or b""):
                at = after.find(form)
                yield Violation("secret", path, (_line(after, at),) if at >= 0 else ())
                return
        loose_name = loosened(name)
        for form in loose_forms(secret):
            if form in loose_name:
                yield Violation("secret", "(a path that holds it)")
                return
            if form in loose and form not in loose_before:
                yield Violation("secret", path)
                return
