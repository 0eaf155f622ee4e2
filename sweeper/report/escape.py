"""Untrusted text made harmless for a terminal and for Markdown."""

from __future__ import annotations

import re
import unicodedata

# Control, format (bidirectional marks among them), surrogate, private use, line and paragraph separators.
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
MAX_SHOWN = 300


def terminal(text: str, limit: int = MAX_SHOWN) -> str:
    """One line that moves no cursor, changes no colour and reads in the order in which it is written.

    An undecodable byte of a file name is shown as `\\xNN`. Longer than `limit` characters is cut with "...".
    """
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    return text if text.isascii() and text.isprintable() else "".join(map(_shown, text))


def _shown(char: str) -> str:
    code = ord(char)
    if unicodedata.category(char) not in HIDDEN:
        return char
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


APART = "\u200b"  # a space of no width: breaks a word's meaning, not its look
# What a forge acts on in plain text (a commit message, a title): mentions, references to issues in all their
# spellings, addresses, and words that keep checks from running; what a runner acts on in a log.
ACTED_ON = re.compile(
    r"@(?=\w)|#(?=[0-9\[])|(?i:GH-)(?=\d)|:(?=//)|:(?=:)|(?i:\[)(?=(?:skip|ci|no|actions)[ -])|\*\*\*(?=NO_CI)"
    r"|(?i:www)(?=\.)"
)


def inert(text: str, limit: int = MAX_SHOWN) -> str:
    """One line of plain text in which nothing is a mention, a reference, a link or a command."""
    return ACTED_ON.sub(lambda found: found[0] + APART, terminal(text, limit))


def code(text: str, limit: int = MAX_SHOWN) -> str:
    """A Markdown code span: no HTML, no mention, no reference and no link in it has a meaning."""
    safe = terminal(text, limit).replace("##[", f"##{APART}[")  # a runner reads it as a command, wherever it stands
    if not safe.strip():
        return "` `"
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if safe[0] in "` " or safe[-1] in "` " else ""
    return f"{fence}{pad}{safe}{pad}{fence}"
