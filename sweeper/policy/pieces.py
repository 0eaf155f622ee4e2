"""What single statements say, so that one which stands in both versions of a file, or twice in one, is read once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from sweeper.policy.marks import Mark
from sweeper.policy.outline import Definition, Outline

Spans = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Piece:
    """What a statement that started at offset `start` on line `line` added to an outline, and to its owner there."""

    start: int
    line: int
    comments: Spans
    strings: Spans
    definitions: list[Definition]
    marks: list[Mark]
    called: list[str]
    size: int
    annotations: int
    guards: int
    assertions: list[tuple[str, int]]

    def add(self, found: Outline, owner: Definition, start: int, line: int) -> None:
        """The same for the same statement in another place."""
        offset, lines = start - self.start, line - self.line
        for first, end in self.comments:
            found.comments.append((first + offset, end + offset))
        for first, end in self.strings:
            found.strings.append((first + offset, end + offset))
        for one in self.definitions:
            found.definitions.append(one.moved(offset, lines))
        for mark in self.marks:
            found.marks.append(mark._replace(line=mark.line + lines))
        found.called += self.called
        owner.size += self.size
        owner.annotations += self.annotations
        owner.guards += self.guards
        for text, number in self.assertions:
            owner.assertions.append((text, number + lines))


@dataclass(frozen=True, slots=True)
class Place:
    """How far an outline and an owner were when a statement began."""

    start: int
    line: int
    lengths: tuple[int, int, int, int, int]
    size: int
    annotations: int
    guards: int
    assertions: int

    @classmethod
    def of(cls, found: Outline, owner: Definition, start: int, line: int) -> Place:
        lengths = (
            len(found.comments), len(found.strings), len(found.definitions), len(found.marks), len(found.called)
        )  # fmt: skip
        return cls(start, line, lengths, owner.size, owner.annotations, owner.guards, len(owner.assertions))

    def piece(self, found: Outline, owner: Definition) -> Piece:
        """What was added since."""
        comments, strings, definitions, marks, called = self.lengths
        return Piece(
            self.start,
            self.line,
            found.comments[comments:],
            found.strings[strings:],
            found.definitions[definitions:],
            found.marks[marks:],
            found.called[called:],
            owner.size - self.size,
            owner.annotations - self.annotations,
            owner.guards - self.guards,
            owner.assertions[self.assertions :],
        )


Pieces = dict[Hashable, Piece]  # by the statement's text and what it depends on besides
