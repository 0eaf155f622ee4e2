"""Commit objects as text: the same parents, tree, message and time give the same id."""

from __future__ import annotations

from typing import NamedTuple

from sweeper.errors import GitFailed
from sweeper.repo.run import Git

SIGNING = 60.0  # seconds for gpg; a prompt on some terminal must not hold a run


class Identity(NamedTuple):
    name: str
    email: str


OURS = Identity("sweeper", "sweeper@localhost")


class Commit(NamedTuple):
    """`when`: committer time, whole seconds since the epoch."""

    tree: str
    parents: tuple[str, ...]
    when: int
    message: str


def encode(commit: Commit, who: Identity) -> bytes:
    """The object's bytes. A name that is no text is shown with backslashes: a message is for reading."""
    stamp = f"{clean(who.name)} <{clean(who.email)}> {commit.when} +0000"
    lines = [f"tree {commit.tree}", *(f"parent {parent}" for parent in commit.parents)]
    lines += [f"author {stamp}", f"committer {stamp}", "", commit.message.replace("\0", "").rstrip("\n") + "\n"]
    return "\n".join(lines).encode("utf-8", "backslashreplace")


def parse(data: bytes) -> Commit:
    """Raises GitFailed for what is no commit."""
    head, _, message = data.partition(b"\n\n")
    tree, parents, when = "", [], 0
    for row in head.split(b"\n"):
        word, _, value = row.partition(b" ")
        if word == b"tree":
            tree = value.decode()
        elif word == b"parent":
            parents.append(value.decode())
        elif word == b"committer":
            when = int(value.rsplit(b" ", 2)[1])
    if not tree:
        raise GitFailed("a commit without a tree")
    return Commit(tree, tuple(parents), when, message.decode("utf-8", "backslashreplace"))


def signed(git: Git, commit: Commit, who: Identity) -> str:
    """Write the commit with the user's signature. Raises GitFailed, within a minute, if that does not work."""
    stamp = f"@{commit.when} +0000"
    environment = {
        **{f"GIT_{role}_NAME": who.name for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": who.email for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_DATE": stamp for role in ("AUTHOR", "COMMITTER")},
    }
    parents = [word for parent in commit.parents for word in ("-p", parent)]
    try:
        words, text = ("commit-tree", "-S", *parents, commit.tree), commit.message.encode("utf-8", "backslashreplace")
        _, out = git.answer(*words, stdin=text, timeout=SIGNING, extra=environment)
    except GitFailed as problem:
        hint = "unlock the key beforehand (gpg-agent), or set commit.gpgsign=false for this repository"
        raise GitFailed(f"the commit could not be signed as commit.gpgsign asks: {problem}", hint=hint) from problem
    return out.decode().strip()


def clean(text: str) -> str:
    """A name without what git's format cannot hold."""
    return "".join(c for c in text if c not in "<>\n\0").strip() or OURS.name
