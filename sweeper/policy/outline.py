"""What a source file is made of: definitions with their bodies, calls, assertions, handlers of errors."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sweeper.policy.comments import blank
from sweeper.policy.hollow import hollow
from sweeper.policy.marks import Mark


@dataclass(slots=True)
class Definition:
    """`name`: dotted. `kind`: function, class, value, test or scope. `first`..`last`: its lines, decorators included;
    `head`: the line of its name. `statements`: those of its body, blanks removed, without comments and docstring.
    `size`: statements at any depth. `start`, `end`: offsets. `local`: to a function. `annotations`: of types;
    `guards`: conditions that only leave. Both, and assertions, are counted at the innermost definition.
    """

    name: str
    kind: str
    public: bool
    test: bool
    first: int
    head: int
    last: int
    start: int
    end: int
    statements: tuple[str, ...] = ()
    has_body: bool = False
    size: int = 0
    local: bool = False
    annotations: int = 0
    guards: int = 0
    assertions: list[tuple[str, int]] = field(default_factory=list)

    @property
    def hollow(self) -> bool:
        return self.has_body and hollow(self.statements)

    @property
    def short(self) -> str:
        return self.name.rsplit(".", 1)[-1]

    def moved(self, offset: int, lines: int) -> Definition:
        """The same, so many bytes and lines further down."""
        return Definition(
            self.name, self.kind, self.public, self.test, self.first + lines, self.head + lines, self.last + lines,
            self.start + offset, self.end + offset, self.statements, self.has_body, self.size, self.local,
            self.annotations, self.guards, [(text, line + lines) for text, line in self.assertions],
        )  # fmt: skip


@dataclass(slots=True)
class Outline:
    """`text`: the source as Latin-1, so that offsets are the tree's; `code`: the same with comments and contents of
    strings blanked. `broken`: lines that the grammar does not understand. `called`: what is called, `calls`: how often.
    `top`: what stands in no definition.
    """

    language: str
    text: str
    code: str = ""
    comments: list[tuple[int, int]] = field(default_factory=list)
    strings: list[tuple[int, int]] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    top: Definition = field(default_factory=lambda: Definition("", "scope", True, False, 1, 0, 1, 0, 0))


def blanked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with blanks, but for line feeds, in place of the spans (sorted)."""
    parts, last = [], 0
    for start, end in spans:
        if start >= last:
            parts += [text[last:start], blank(text[start:end])]
            last = end
    return "".join([*parts, text[last:]])
