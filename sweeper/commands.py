"""Command lines as they are configured: lists of words, never a shell."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence

from sweeper.errors import ConfigError

FILES = "{files}"
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash"})
# What a shell does itself, and what stands before a command.
_OWN = frozenset((
    ":", ".", "[", "alias", "break", "case", "cd", "continue", "done", "echo", "esac", "eval", "exit", "export",
    "false", "fi", "for", "printf", "pwd", "read", "return", "set", "shift", "source", "test", "trap", "true", "umask",
    "unset", "wait", "}",
))  # fmt: skip
_LEADS = frozenset((
    "!", "{", "command", "do", "elif", "else", "env", "exec", "if", "nohup", "then", "time", "until", "while",
))  # fmt: skip
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


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


def programs_of(words: Sequence[str]) -> Iterator[str]:
    """The programs that a command starts: its own, and those of a shell's script (`sh -c "..."`), as far as it names
    them plainly."""
    yield from words[:1]
    if not words or posixpath.basename(words[0]) not in SHELLS:
        return
    flag = next((place for place, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), 0)
    if flag and len(words) > flag + 1:
        yield from _scripted(words[flag + 1])


def _scripted(script: str) -> Iterator[str]:
    lexer = shlex.shlex(script.replace("\n", ";"), posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    leads, target = True, False
    try:
        for token in lexer:
            if not token.strip(";&|()<>"):
                target = not set(token).isdisjoint("<>")
                leads = leads if target else True
            elif target:
                target = False
            elif leads and token not in _LEADS and not _ASSIGNMENT.match(token):
                leads = False
                if token not in _OWN and not re.search(r"[$`*?]", token):
                    yield token
    except ValueError:
        return  # a quote without its end: the shell will say so
