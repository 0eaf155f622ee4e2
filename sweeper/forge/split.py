"""One run into several pull requests: by owners, directory, rule or number of files. Pure.

Changes that share a path or a bond stay together, so that each part is complete by itself.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MOST = 50  # pull requests of one run; what is beyond shares the last one
OWNERS_OF = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Item:
    """One change. `paths` is never empty. `bond`: those with an equal one, but "", stay together as well."""

    id: str
    paths: tuple[str, ...]
    rules: tuple[str, ...] = ()
    bond: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """One part. `label`: for people, untrusted text; `slug`: of a branch's name, unique among the parts."""

    label: str
    slug: str
    ids: tuple[str, ...]


def split(items: Sequence[Item], how: str, owners_of: OWNERS_OF = lambda path: ()) -> list[Share]:
    """The parts in the order of their first items; each keeps its items in the order given.

    `how`: none | owners | directory | rule | max_files = N.
    """
    if how == "none":
        return [Share("", "", tuple(item.id for item in items))] if items else []
    clusters = _clusters(items)
    if how.startswith("max_files"):
        labels = _by_size(clusters, int(how.rpartition("=")[2]))
    else:
        name = {"owners": lambda some: _owners(some, owners_of), "directory": _directory, "rule": _rule}[how]
        labels = [name(cluster) for cluster in clusters]
    kept = list(dict.fromkeys(labels))
    if len(kept) > MOST:
        rest = set(kept[MOST - 1 :])
        labels = ["everything else" if label in rest else label for label in labels]
    of = {item.id: label for cluster, label in zip(clusters, labels, strict=True) for item in cluster}
    parts: dict[str, list[str]] = {}
    for item in items:
        parts.setdefault(of[item.id], []).append(item.id)
    return [Share(label, slug(label), tuple(ids)) for label, ids in parts.items()]


def slug(label: str) -> str:
    """A branch's name part for a label; different labels give different ones."""
    plain = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40].strip("-")
    if plain == label:
        return plain
    mark = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain}-{mark}" if plain else mark


def _clusters(items: Sequence[Item]) -> list[list[Item]]:
    """Items that share a path or a bond, directly or through others, in the order of their first ones."""
    home: dict[tuple[str, bool], int] = {}  # path, or bond -> an item that has it
    parent = list(range(len(items)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for number, item in enumerate(items):
        ties = [(path, False) for path in item.paths] + ([(item.bond, True)] if item.bond else [])
        for tie in ties:
            one, other = root(home.setdefault(tie, number)), root(number)
            parent[max(one, other)] = min(one, other)
    found: dict[int, list[Item]] = {}
    for number, item in enumerate(items):
        found.setdefault(root(number), []).append(item)
    return list(found.values())


def _owners(cluster: Sequence[Item], owners_of: OWNERS_OF) -> str:
    owners = sorted({owner for item in cluster for path in item.paths for owner in owners_of(path)})
    return " ".join(owners) or "nobody's"


def _directory(cluster: Sequence[Item]) -> str:
    tops = {path.partition("/")[0] if "/" in path else "." for item in cluster for path in item.paths}
    return tops.pop() if len(tops) == 1 else "several directories"


def _rule(cluster: Sequence[Item]) -> str:
    """The rule that most of its changes are of; of several the first by name."""
    counted = Counter(rule for item in cluster for rule in item.rules)
    return min(counted, key=lambda rule: (-counted[rule], rule)) if counted else "no rule"


def _by_size(clusters: Sequence[Sequence[Item]], most: int) -> list[str]:
    labels, part, files = [], 1, 0
    for cluster in clusters:
        size = len({path for item in cluster for path in item.paths})
        if files and files + size > most:
            part, files = part + 1, 0
        files += size
        labels.append(f"part {part}")
    return labels
