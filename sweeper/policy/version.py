"""One version of a text file as the rules read it, and two of them side by side."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from sweeper.policy import comments
from sweeper.policy.explain import Explained
from sweeper.policy.hollow import squeezed
from sweeper.policy.languages import language_of
from sweeper.policy.lines import Hunk, hunks
from sweeper.policy.names import is_test_file
from sweeper.policy.outline import Outline, blanked
from sweeper.policy.pieces import Pieces
from sweeper.policy.walk import outline


class Version:
    """A text: `data` with line feeds only, `text` the same as Latin-1, so that an offset is a byte's.

    `pieces`: statements that were read already, in this or another version of the file.
    """

    def __init__(self, path: str, data: bytes, pieces: Pieces | None = None) -> None:
        self.path = path
        self._pieces = pieces
        self.data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.text = self.data.decode("latin-1")
        self.test_file = is_test_file(path)
        self.language = language_of(path, self.text[:200])

    @cached_property
    def outline(self) -> Outline | None:
        return outline(self.language, self.data, self.test_file, self._pieces)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _spans(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Comments, and contents of strings."""
        if self.outline is not None:
            return sorted(self.outline.comments), sorted(self.outline.strings)
        source = comments.read(self.path, self.text)
        return list(source.comments), list(source.strings)

    @cached_property
    def source(self) -> comments.Source | None:
        """What the grammar takes for comments and strings, in the text itself; None where it is not sure."""
        if self.outline is None or self.outline.broken:
            return None
        try:
            text = self.data.decode()
        except UnicodeDecodeError:
            return None
        spans = [(start, end, True) for start, end in self.comments] + [
            (start, end, False) for start, end in self.strings
        ]
        if len(text) != len(self.data):
            place = [0, *accumulate((byte & 0xC0) != 0x80 for byte in self.data)]
            spans = [(place[start], place[end], comment) for start, end, comment in spans]
        return comments.source_of(text, sorted(spans))

    @property
    def comments(self) -> list[tuple[int, int]]:
        return self._spans[0]

    @property
    def strings(self) -> list[tuple[int, int]]:
        return self._spans[1]

    @cached_property
    def code(self) -> str:
        """The text with comments and contents of strings blanked."""
        return (
            self.outline.code if self.outline is not None else blanked(self.text, sorted(self.comments + self.strings))
        )

    @cached_property
    def without_comments(self) -> str:
        """The text without comments and strings of several lines: what runs, with its literals."""
        long = [(start, end) for start, end in self.strings if "\n" in self.text[start:end]]
        return blanked(self.text, sorted(self.comments + long))

    @cached_property
    def running(self) -> list[str]:
        """The lines of `without_comments`, without blanks."""
        return [squeezed(line) for line in self.without_comments.split("\n")]

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    def line_at(self, offset: int) -> int:
        """The 1-based line of an offset."""
        return bisect_right(self._starts, offset)

    @cached_property
    def tokens(self) -> Counter[str]:
        """How often a line of code stands in it, without blanks and comments."""
        return Counter(line for line in self.running if line)


@dataclass(frozen=True)
class Pair:
    """A file before and after a change, and what its findings explain."""

    before: Version
    after: Version
    explained: Explained

    @property
    def path(self) -> str:
        return self.after.path

    @cached_property
    def hunks(self) -> list[Hunk]:
        return hunks(self.before.lines, self.after.lines)

    @cached_property
    def came(self) -> Counter[str]:
        """Lines of code that `after` has more often, without blanks."""
        return self.after.tokens - self.before.tokens

    @cached_property
    def new_words(self) -> frozenset[str]:
        """The words of the new and changed lines of code."""
        lines = self.after.without_comments.split("\n")
        fresh = (lines[n - 1] for n in self.changed_lines if n <= len(lines) and self.came[self.after.running[n - 1]])
        return frozenset(word for line in fresh for word in re.findall(r"\w+", line))

    @cached_property
    def went(self) -> Counter[str]:
        return self.before.tokens - self.after.tokens

    @cached_property
    def changed_lines(self) -> frozenset[int]:
        """The lines of `after` that are new or changed."""
        return frozenset(line for hunk in self.hunks for line in range(hunk.after, hunk.after_end))
