"""Command lines as they are configured: lists of words, never a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from sweeper.errors import ConfigError

FILES = "{files}"


def argv(template: str | Sequence[str]) -> tuple[str, ...]:
    """The argument list of a command: a string by shell quoting rules without a shell, or a list as it is.

    An empty template gives (). Raises ConfigError for unbalanced quotes and NUL characters.
    """
    try:
        words = tuple(shlex.split(template)) if isinstance(template, str) else tuple(template)
    except ValueError as problem:
        hint = "check the quotes, or write the command as a list of words"
        raise ConfigError(f"not a command line: {template!r}: {problem}", hint=hint) from problem
    if any("\0" in word for word in words):
        raise ConfigError(f"a command cannot hold a NUL character: {template!r}", hint="remove it")
    return words


def with_files(template: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """`{files}` as a word of its own becomes the files; anything else is literal.

    A name that starts with "-" gets "./" in front, so that no file can pose as an option.
    """
    words: list[str] = []
    for word in template:
        if word == FILES:
            words.extend("./" + name if name.startswith("-") else name for name in files)
        else:
            words.append(word)
    return tuple(words)
