"""Which files of a commit decide what `Toolchain.setup` installs, as a digest: when it changes, set up again. Pure.

They are those that a command names, and those that its package manager reads by itself. A command that names no known
manager (`make deps`) may use any of them, so all count.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sweeper.records import BaseEntry
from sweeper.sandbox.contract import Toolchain

PYTHON = (
    "requirements*.txt", "requirements*.in", "constraints*.txt", "pyproject.toml", "setup.py", "setup.cfg",
    "poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "pylock.toml", "pylock.*.toml", ".python-version",
)  # fmt: skip
NODE = (
    "package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml",
    "bun.lock", "bun.lockb", ".npmrc", ".yarnrc", ".yarnrc.yml",
)  # fmt: skip
GO = ("go.mod", "go.sum", "go.work", "go.work.sum")
RUST = ("Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml")
RUBY = ("Gemfile", "Gemfile.lock", "*.gemspec", ".ruby-version")
MANAGERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("pip", "pip3", "python", "python3", "uv", "uvx", "poetry", "pdm", "pipenv", "pipx"), PYTHON),
    **dict.fromkeys(("npm", "npx", "node", "yarn", "pnpm", "bun", "corepack"), NODE),
    "go": GO,
    **dict.fromkeys(("cargo", "rustup"), RUST),
    **dict.fromkeys(("bundle", "bundler", "gem", "ruby"), RUBY),
}
ALL = (*PYTHON, *NODE, *GO, *RUST, *RUBY)
# What follows one of these is where a command works, not what it installs.
PLACES = ("cd", "-C", "--cwd", "--dir", "--directory", "--prefix", "--project", "--workspace", "-w")
TOKEN = re.compile(r"""[^\s'"`;&|()<>=,]+""")


def key(toolchain: Toolchain, listing: Mapping[bytes, BaseEntry]) -> str:
    """A digest of the lock files' names and blob ids; "" if nothing is set up."""
    if not toolchain.setup:
        return ""
    digest = hashlib.sha256()
    for path in lock_files(toolchain.setup, listing):
        digest.update(b"%s\0%s\0" % (path, listing[path].oid.encode()))
    return digest.hexdigest()[:32]


def keyed(toolchain: Toolchain, listing: Mapping[bytes, BaseEntry]) -> Toolchain:
    """The toolchain as this commit needs it."""
    return replace(toolchain, key=key(toolchain, listing))


def lock_files(commands: Iterable[tuple[str, ...]], listing: Mapping[bytes, BaseEntry]) -> list[bytes]:
    """The paths, sorted."""
    patterns: set[str] = set()
    named: set[str] = set()
    for command in commands:
        tokens = [token for word in command for token in TOKEN.findall(word)]
        known = [MANAGERS[name] for token in tokens if (name := posixpath.basename(token)) in MANAGERS]
        patterns.update(pattern for names in known or [ALL] for pattern in names)
        for before, token in zip(["", *tokens], tokens, strict=False):
            if before not in PLACES:
                # An option with its value in one word: -rrequirements.txt.
                named.add(posixpath.normpath(token[2:] if re.match(r"-\w.", token) else token))
    # Files that a named one includes lie beside it (requirements/dev.txt: -r common.txt).
    beside = {posixpath.dirname(name) for name in named if name.endswith((".txt", ".in"))} - {""}
    return sorted(path for path in listing if _counts(os.fsdecode(path), patterns, named, beside))


def _counts(path: str, patterns: set[str], named: set[str], beside: set[str]) -> bool:
    folder, name = posixpath.split(path)
    if path in named or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
        return True
    if folder in beside and name.endswith((".txt", ".in")):
        return True
    # A folder of the repository that is installed from (`pip install ./tools/our-lint`), but never the whole tree.
    return any(parent in named for parent in _parents(path))


def _parents(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))
