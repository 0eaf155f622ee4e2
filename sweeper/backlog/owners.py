"""Who owns which path, by a CODEOWNERS file. Pure.

GitHub's rules: the last line that matches decides, a line without owners says that nobody owns its paths, and of
gitignore's syntax neither `!` nor `[ ]` nor an escaped `#` is known. GitLab's sections each decide for themselves, and
a path's owners are those of all of them. A line that means nothing is skipped and reported, as the forges do.

No regular expression is made of a pattern: the file is the repository's, and a hostile one must not cost more than the
length of what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

LOCATIONS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
MAX_BYTES = 3 << 20  # GitHub loads no larger one
MAX_NOTES = 10
_OWNER = re.compile(r"@[\w.-]+(?:/[\w.-]+)*|@@[a-z]+|[^\s@]+@[^\s@]+")  # a person or team, a GitLab role, an address
_SECTION = re.compile(r"\^?\[[^\[\]]+\](?:\[\d+\])?(?=\s|$)")
_WORD = re.compile(r"(?:\\.|[^\s\\]|\\$)+")
_MANY = "**"  # any number of folders

Segment = tuple[str, ...]  # characters; "*" and "?" are wildcards, an escaped character is "\\" and itself


@dataclass(slots=True)
class _Section:
    """Patterns by how they are looked up: those without a wildcard by name, the others one by one, the last first.

    Values are numbers of rules. A `..._below` matches only what is in a folder, not a file of that name.
    """

    defaults: tuple[str, ...] = ()
    rules: list[tuple[str, ...]] = field(default_factory=list)
    place: dict[str, int] = field(default_factory=dict)
    place_below: dict[str, int] = field(default_factory=dict)
    name: dict[str, int] = field(default_factory=dict)
    name_below: dict[str, int] = field(default_factory=dict)
    globs: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    def add(self, pattern: Sequence[str], owners: tuple[str, ...]) -> None:
        number = len(self.rules)
        self.rules.append(owners or self.defaults)
        anywhere = pattern[0] == _MANY
        body = list(pattern[1:] if anywhere else pattern)
        below = body[-2:] == ["*", _MANY]
        if below or body[-1] == _MANY:
            body = body[: -2 if below else -1]
            if body and not any("*" in part or "?" in part for part in body) and (len(body) == 1 or not anywhere):
                tables = (self.name, self.name_below) if anywhere else (self.place, self.place_below)
                tables[below]["/".join(map(_plain, body))] = number
                return
        self.globs.append((number, tuple(pattern)))

    def owners(self, path: str) -> tuple[str, ...]:
        parts = path.split("/")
        found = -1
        for at in range(len(parts)):
            folder = "/".join(parts[: at + 1])
            found = max(found, self.place.get(folder, -1), self.name.get(parts[at], -1))
            if at + 1 < len(parts):
                found = max(found, self.place_below.get(folder, -1), self.name_below.get(parts[at], -1))
        for number, pattern in reversed(self.globs):
            if number < found:
                break
            if _fits(pattern, parts):
                found = number
                break
        return self.rules[found] if found >= 0 else ()


@dataclass(frozen=True, slots=True)
class Owners:
    """A CODEOWNERS file as read. `bad`: (1-based line, what is wrong with it)."""

    bad: tuple[tuple[int, str], ...] = ()
    _sections: tuple[_Section, ...] = ()

    def of(self, path: str) -> tuple[str, ...]:
        """A path's owners in the file's order, each in its first spelling; () where nobody owns it."""
        return tuple(dict.fromkeys(owner for section in self._sections for owner in section.owners(path)))


def read(data: bytes) -> Owners:
    """Any bytes make some owners."""
    sections = [_Section()]
    bad: list[tuple[int, str]] = []
    spellings: dict[str, str] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        text = line.decode("utf-8", "surrogateescape").strip()
        if not text or text.startswith("#"):
            continue
        section = _SECTION.match(text)
        words = list(_until_comment(_WORD.findall(text[section.end() :] if section else text)))
        owners = tuple(words if section else words[1:])
        wrong = next((f"{word!r} is no owner" for word in owners if not _OWNER.fullmatch(word)), "")
        # equal but for their case they are the same: whoever is spelled first names the group
        owners = tuple(dict.fromkeys(spellings.setdefault(owner.casefold(), owner) for owner in owners))
        pattern: list[str] = []
        if not section and not wrong:
            pattern, wrong = _parse(words[0])
        if wrong:
            bad.append((number, wrong))
        elif section:
            sections.append(_Section(owners))
        else:
            sections[-1].add(pattern, owners)
    return Owners(tuple(bad), tuple(sections))


def owned(data: bytes, paths: Sequence[str]) -> dict[str, Any]:
    """`owners`: those of each path, in order; `bad`: see `Owners`. For the limited child: JSON-able."""
    owners = read(data)
    return {"owners": [owners.of(path) for path in paths], "bad": owners.bad}


def group_of(owners: Iterable[str]) -> str:
    """One name for a set of owners, whatever their order; "" for nobody."""
    return " ".join(sorted(owners, key=lambda owner: (owner.casefold(), owner)))


def notes(where: str, bad: Sequence[tuple[int, str]]) -> list[str]:
    """What a person should know of lines that were skipped."""
    told = [f"{where}:{line}: {why}; the line is skipped" for line, why in bad[:MAX_NOTES]]
    more = len(bad) - len(told)
    return [*told, f"{where}: {more} more lines are skipped"] if more else told


def _until_comment(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("#"):
            return
        yield word


def _parse(pattern: str) -> tuple[list[str], str]:
    """(what a path's parts have to be, why the pattern means nothing or "")."""
    if pattern.startswith("!"):
        return [], "a pattern cannot be negated with '!'"
    if pattern.startswith("\\#"):
        return [], "a pattern cannot start with an escaped '#'"
    bare = re.sub(r"\\.", "", pattern)
    if "[" in bare or "]" in bare:
        return [], "'[ ]' is no range of characters here"
    if bare.endswith("\\"):
        return [], "the pattern ends in a backslash"
    parts = pattern.split("/")
    anchored = len(parts) > 1 and (parts[0] == "" or parts[1:] != [""])
    if parts[0] == "":
        parts = parts[1:]
    folder = parts[-1:] == [""]
    if folder:
        parts = parts[:-1]
    if not parts or "" in parts:
        return [], "the pattern matches no path"
    last = parts[-1]
    if not anchored and last != _MANY:
        parts = [_MANY, *parts]
    if folder or last == _MANY:
        # inside of whatever was named: a folder's name itself may be a file's, but not with a slash behind it
        head = [*parts[:-1], "*"] if last == _MANY else parts
        return ([*head, "*", _MANY] if folder else [*head, _MANY]), ""
    # `docs/*` is what lies in the folder itself; any other name means a folder's whole content, too
    return (parts if last == "*" else [*parts, _MANY]), ""


def _fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a path are what a pattern asks for: only the last `**` is ever tried again."""
    at = here = 0
    again: tuple[int, int] | None = None
    while at < len(parts):
        if here < len(pattern) and pattern[here] == _MANY:
            again = (here, at)
            here += 1
        elif here < len(pattern) and _named(pattern[here], parts[at]):
            here, at = here + 1, at + 1
        elif again is not None:
            again = (again[0], again[1] + 1)
            here, at = again[0] + 1, again[1]
        else:
            return False
    return all(part == _MANY for part in pattern[here:])


def _named(glob: str, name: str) -> bool:
    """Whether a glob without slashes is this name: only the last `*` is ever tried again."""
    wanted = _characters(glob)
    at = here = 0
    again: tuple[int, int] | None = None
    while at < len(name):
        if here < len(wanted) and wanted[here] == "*":
            again = (here, at)
            here += 1
        elif here < len(wanted) and (wanted[here] == "?" or wanted[here][-1] == name[at]):
            here, at = here + 1, at + 1
        elif again is not None:
            again = (again[0], again[1] + 1)
            here, at = again[0] + 1, again[1]
        else:
            return False
    return all(character == "*" for character in wanted[here:])


@lru_cache(maxsize=4096)
def _characters(glob: str) -> Segment:
    return tuple(re.findall(r"\\.|[^\\]", glob, re.DOTALL))


def _plain(glob: str) -> str:
    return re.sub(r"\\(.)", r"\1", glob, flags=re.DOTALL)
