"""Syntax trees by tree-sitter; a language's grammar is loaded when its first file comes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from sweeper.policy.languages import LANGUAGES

if TYPE_CHECKING:
    import tree_sitter

MOST = 512 << 10  # bytes of a text that is parsed; a larger one is read by its lines alone


@cache
def _parser(name: str) -> tree_sitter.Parser:
    import tree_sitter  # as late as a grammar

    language = LANGUAGES[name]
    grammar = getattr(import_module(language.module), language.function)()
    return tree_sitter.Parser(tree_sitter.Language(grammar))


def parse(name: str, data: bytes) -> tree_sitter.Tree | None:
    """The tree of `data` in one of LANGUAGES; None where there can be none: too long, or no usable grammar."""
    if name not in LANGUAGES or len(data) > MOST:
        return None
    try:
        return _parser(name).parse(data)
    except (ImportError, AttributeError, ValueError, OSError):
        return None
