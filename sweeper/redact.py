"""Removes known secrets from what is written: raw, backwards, base64, base32, URL-encoded, hexadecimal. Pure.

`forms` is the one list of spellings: what redaction removes, the policy refuses in a change. A change is a person's to
read, so that there `loosened` text is looked through as well: pieces that code puts together are one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote, quote_plus

from sweeper.records import Outcome

SHORTEST_SECRET = 6  # anything shorter is found everywhere
MARK = b"[redacted]"
SHORTEST_LOOSE = 12  # letters and digits
NO_LETTER_OR_DIGIT = bytes(code for code in range(128) if not chr(code).isalnum())
CODE_MARK = re.compile(rb"\\u\{?(?:00)?|\\x|0x|&#x", re.IGNORECASE)
BREAK = rb"(?:\r?\n)?"  # base64 and hexadecimal come wrapped into lines from most tools


def forms(secret: bytes) -> list[bytes]:
    """How a secret may be written: as it is, backwards, base64 and base32 (any alignment), hexadecimal, URL-encoded."""
    secret = secret.strip()
    if len(secret) < SHORTEST_SECRET:
        return []
    found = {secret, secret[::-1], secret.hex().encode(), secret.hex().upper().encode()}
    for quoted in (quote(secret, safe=""), quote_plus(secret), quote(secret)):
        found |= {quoted.encode(), re.sub("%..", lambda code: code[0].lower(), quoted).encode()}
    for encode, size, makes in ((base64.b64encode, 3, 4), (base64.urlsafe_b64encode, 3, 4), (base64.b32encode, 5, 8)):
        for shift in range(size):
            # whatever comes before and after changes the first and last characters only
            usable = len(secret) - (len(secret) + shift) % size
            coded = encode(b"\0" * shift + secret[:usable])[-(-shift * makes // size) :]
            found.add(coded.rstrip(b"="))
    return sorted(form for form in found if len(form) >= SHORTEST_SECRET)


def loosened(data: bytes) -> bytes:
    """Letters and digits alone, in lower case, without what stands between them and marks of characters' codes."""
    return CODE_MARK.sub(b"", data).translate(None, NO_LETTER_OR_DIGIT).lower()


def loose_forms(secret: bytes) -> list[bytes]:
    """What a secret's spellings are in loosened text, those that are long enough to be nothing else."""
    codes = "".join(map(str, secret.strip())).encode()
    found = {loosened(form) for form in (*forms(secret), codes)}
    return sorted(form for form in found if len(form) >= SHORTEST_LOOSE)


class Redactor:
    """Replaces every form of every secret by MARK. Secrets shorter than SHORTEST_SECRET bytes are ignored."""

    __slots__ = ("_longest", "_pattern")

    def __init__(self, secrets: Iterable[bytes | str]) -> None:
        raw = {secret.encode("utf-8", "surrogateescape") if isinstance(secret, str) else secret for secret in secrets}
        # the longest first: a secret may be the beginning of another one
        spellings = sorted({form for secret in raw for form in forms(secret)}, key=lambda form: (-len(form), form))
        self._longest = max((3 * len(form) for form in spellings), default=0)
        self._pattern = re.compile(b"|".join(map(_pattern, spellings))) if spellings else None

    def __repr__(self) -> str:
        return "Redactor()"

    def bytes(self, data: bytes) -> bytes:
        """`data` without the secrets."""
        return self._pattern.sub(MARK, data) if self._pattern else data

    def text(self, text: str) -> str:
        """`text` without the secrets; whatever can't be encoded stays as it is."""
        return self.bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def outcome(self, outcome: Outcome) -> Outcome:
        """`outcome` without the secrets, wherever they came from: a refused file's name, a check that decodes one."""
        evidence = replace(
            outcome.evidence,
            reason=self.text(outcome.evidence.reason),
            lines=tuple(map(self.text, outcome.evidence.lines)),
            new=tuple(replace(finding, message=self.text(finding.message)) for finding in outcome.evidence.new),
        )
        reviews, claimed = tuple(map(self.text, outcome.reviews)), self.text(outcome.claimed)
        return replace(outcome, evidence=evidence, reviews=reviews, claimed=claimed)

    def stream(self) -> RedactedStream:
        """A stream that comes in chunks; each chunk border may lie within a secret."""
        return RedactedStream(self._pattern, self._longest)


class RedactedStream:
    """Feed chunks and write what comes out; `end` gives the rest. Holds back less than three times a secret's form."""

    __slots__ = ("_held", "_longest", "_pattern")

    def __init__(self, pattern: re.Pattern[bytes] | None, longest: int) -> None:
        self._pattern, self._longest, self._held = pattern, longest, b""

    def feed(self, chunk: bytes) -> bytes:
        """What is certain to hold no secret of what was fed so far."""
        if self._pattern is None:
            return chunk
        data = self._held + chunk
        # A match that starts before this place is complete; one that starts later may yet grow.
        sure = max(0, len(data) - self._longest)
        out, at = [], 0
        for match in self._pattern.finditer(data):
            if match.start() >= sure:
                break
            out += [data[at : match.start()], MARK]
            at = match.end()
        keep_from = max(at, sure)
        out.append(data[at:keep_from])
        self._held = data[keep_from:]
        return b"".join(out)

    def end(self) -> bytes:
        rest, self._held = self._held, b""
        return self._pattern.sub(MARK, rest) if self._pattern else rest


def _pattern(form: bytes) -> bytes:
    return BREAK.join(re.escape(form[at : at + 1]) for at in range(len(form)))
