"""Where the comments of a source file are. Safe on hostile input: linear scans, no recursion.

In doubt text counts as a comment: an unclosed string, an unknown language or a file that does not tokenise hides
nothing. Columns and offsets refer to the text with every line ending written as one line feed.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

# What a comment or a string looks like. A group named c* is a comment, s* a string. A string over several lines
# that is never closed is taken for a comment to the end.
_DOUBLE = r'(?P<s1>"(?:\\.|[^"\\\n])*")'
_SINGLE = r"(?P<s2>'(?:\\.|[^'\\\n])*')"
_CHAR = r"(?P<s3>'(?:\\[^\n]{1,9}?|[^'\\\n])')"
_TRIPLE = r'(?P<s4>"""[\s\S]*?""")|(?P<c7>"""[\s\S]*)'
_ESCAPED = r"(?P<s9>\\.)"
_SLASHES = r"(?P<c1>//[^\n]*)"
_BLOCK = r"(?P<c2>/\*(?:[\s\S]*?\*/|[\s\S]*))"
_HASH = r"(?P<c3>#[^\n]*)"
_WORD_HASH = r"(?P<c3>(?:(?<=[\s;&|()`])|^)#[^\n]*)"
_HTML = r"(?P<c4><!--(?:[\s\S]*?-->|[\s\S]*))"
_DASHES = r"(?P<c5>--[^\n]*)"
_C = (_SLASHES, _BLOCK, _DOUBLE)
# A slash opens a regular expression where no value stands before it: its quotes are none.
_JS_REGEX = (
    r"(?P<s6>(?:(?<=[(,=:\[!&|?{};+\-*%<>~^\n])|\b(?:return|typeof|case|in|of|do|else|void|delete|new|throw|yield|await))"
    r"[^\S\n]*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n]){0,500}\]|[^/\\\n\[]){1,2000}/)"
)

LEXERS: dict[str, tuple[str, ...]] = {
    "c": (
        r'(?P<s5>R"(?P<d>[^()\\\s]{0,16})\([\s\S]*?\)(?P=d)")|(?P<c8>R"[^()\\\s]{0,16}\([\s\S]*)',
        *_C,
        _CHAR,
        _ESCAPED,
    ),
    "js": (_JS_REGEX, *_C, _SINGLE, r"(?P<template>`)", r"(?P<open>\{)", r"(?P<close>\})", _ESCAPED),
    "go": (*_C, _CHAR, r"(?P<s5>`[^`]*`)|(?P<c8>`[\s\S]*)", _ESCAPED),
    "rust": (
        r'(?P<s5>\br(?P<d>#{0,16})"[\s\S]*?"(?P=d))|(?P<c8>\br#{0,16}"[\s\S]*)',
        _SLASHES,
        _BLOCK,
        r'(?P<s1>"(?:\\[\s\S]|[^"\\])*")|(?P<c7>"[\s\S]*)',
        _CHAR,
        _ESCAPED,
    ),
    "jvm": (_TRIPLE, *_C, _CHAR, _ESCAPED),
    "dart": (_TRIPLE, r"(?P<s5>'''[\s\S]*?''')|(?P<c8>'''[\s\S]*)", *_C, _SINGLE, _ESCAPED),
    "cs": (r'(?P<s5>[@$]{1,2}"(?:""|[^"])*")|(?P<c8>@"[\s\S]*)', _TRIPLE, *_C, _CHAR, _ESCAPED),
    "css": (_BLOCK, _SLASHES, _DOUBLE, _SINGLE, _ESCAPED),
    "php": (*_C, r"(?P<c3>#(?!\[)[^\n]*)", _HTML, _SINGLE, _ESCAPED),
    "hash": (_HASH, _DOUBLE, _SINGLE, _ESCAPED),
    "shell": (_WORD_HASH, _DOUBLE, r"(?P<s2>'[^'\n]*')", _ESCAPED),
    "yaml": (_WORD_HASH, _DOUBLE, r"(?P<s2>'[^'\n]*')"),
    "hcl": (_HASH, *_C, _ESCAPED),
    "ini": (r"(?P<c3>[#;][^\n]*)",),
    "html": (_HTML,),
    "web": (_HTML, _SLASHES, _BLOCK),
    "sql": (_DASHES, _BLOCK, r"(?P<s2>'(?:''|[^'\n])*')", _DOUBLE),
    "lua": (
        r"(?P<c6>--\[\[(?:[\s\S]*?\]\]|[\s\S]*))",
        _DASHES,
        _DOUBLE,
        _SINGLE,
        r"(?P<s5>\[\[[\s\S]*?\]\])|(?P<c8>\[\[[\s\S]*)",
    ),
    "haskell": (_DASHES, r"(?P<c6>\{-(?:[\s\S]*?-\}|[\s\S]*))", _DOUBLE, _CHAR),
    "percent": (r"(?P<c5>%[^\n]*)",),
    "semicolon": (r"(?P<c5>;[^\n]*)", _DOUBLE),
    "any": (r"(?P<c1>[^\n]+)",),  # an unknown language: anything may be a comment
}

FAMILIES = {
    "c": "c h cc cpp cxx c++ hh hpp hxx ipp m mm cu glsl proto thrift sol v sv svh groovy gradle zig d jsonc json5",
    "js": "js jsx ts tsx mjs cjs mts cts",
    "go": "go",
    "rust": "rs",
    "jvm": "java kt kts scala sc swift",
    "dart": "dart",
    "cs": "cs fs fsx",
    "css": "css scss sass less",
    "php": "php phtml",
    "hash": "rb rake gemspec pl pm r ex exs nix jl coffee ps1 psm1 cmake bzl bazel star toml graphql cr nim tcl",
    "shell": "sh bash zsh ksh dash bats mk dockerfile containerfile makefile justfile",
    "yaml": "yaml yml",
    "hcl": "tf tfvars hcl",
    "ini": "ini cfg conf properties env",
    "html": "html htm xhtml xml md markdown mdx svg xsd xsl",
    "web": "vue svelte astro erb ejs hbs jinja j2 jinja2",
    "sql": "sql",
    "lua": "lua",
    "haskell": "hs lhs elm purs",
    "percent": "tex sty cls erl hrl",
    "semicolon": "el lisp clj cljs cljc scm rkt asm",
}
BY_SUFFIX = {suffix: family for family, suffixes in FAMILIES.items() for suffix in suffixes.split()}
PYTHON = frozenset({"py", "pyi", "pyw"})
PLAIN = frozenset({"txt", "rst", "json", "csv", "tsv", "lock", "log"})  # no comments at all


@dataclass(frozen=True, slots=True)
class Source:
    """A text, its comments and its strings. `code` is as long as `text`, with both blanked."""

    text: str
    code: str
    comments: tuple[tuple[int, int], ...]
    strings: tuple[tuple[int, int], ...] = ()


def suffix_of(path: str) -> str:
    """The lower-case file name extension, or the whole name where there is none."""
    return path.rsplit("/", 1)[-1].lower().rsplit(".", 1)[-1]


def decode(data: bytes) -> str:
    """As UTF-8, never failing, with every line ending as one line feed."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def read(path: str, text: str) -> Source:
    """The comments of `text` (see `decode`) in the language of `path`."""
    suffix = suffix_of(path)
    if suffix in PLAIN:
        return Source(text, text, ())
    spans: list[tuple[int, int, bool]]
    if suffix in PYTHON:
        try:
            spans = list(_python(text))
        except (tokenize.TokenError, SyntaxError, ValueError, RecursionError, IndexError):
            spans = list(_scan(_lexer("any"), text))
    else:
        family = BY_SUFFIX.get(suffix) or ("shell" if text.startswith("#!") else "any")
        spans = list(_scan(_lexer(family), text))
    return source_of(text, spans)


def source_of(text: str, spans: list[tuple[int, int, bool]]) -> Source:
    """A text and its spans (start, end, is a comment), in order."""
    code = _blank(text, spans)
    strings = tuple((start, end) for start, end, comment in spans if not comment)
    return Source(text, code, tuple((start, end) for start, end, comment in spans if comment), strings)


def _python(text: str) -> Iterator[tuple[int, int, bool]]:
    starts = [0]
    for line in io.StringIO(text):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or token.type == tokenize.STRING:
            (first, column), (last, end) = token.start, token.end
            yield starts[first - 1] + column, starts[last - 1] + end, token.type == tokenize.COMMENT


@cache
def _lexer(family: str) -> re.Pattern[str]:
    return re.compile("|".join(LEXERS[family]), re.MULTILINE)


_TEMPLATE = re.compile(r"\\[\s\S]|(?P<end>`)|(?P<hole>\$\{)")


def _scan(lexer: re.Pattern[str], text: str) -> Iterator[tuple[int, int, bool]]:
    """(start, end, is a comment) of comments and strings. A template's holes `${...}` are code again."""
    depths: list[int] = []  # open braces inside each hole that we are in
    position = 0
    while found := lexer.search(text, position):
        kind = found.lastgroup or ""
        position = found.end()
        if kind == "open" and depths:
            depths[-1] += 1
        elif kind == "close" and depths and depths[-1]:
            depths[-1] -= 1
        elif kind == "template" or (kind == "close" and depths):
            if kind == "close":
                depths.pop()
            end = next((m for m in _TEMPLATE.finditer(text, position) if m.lastgroup), None)
            if end is None:
                continue  # never closed: what follows is read as code, so that it hides nothing
            if end.lastgroup == "hole":
                depths.append(0)
            yield position, end.start(), False
            position = end.end()
        elif kind[0] in "cs" and kind != "close":
            yield found.start(), position, kind[0] == "c"


def blank(text: str) -> str:
    """Blanks, but for line feeds, in place of a text."""
    return "\n".join([" " * len(line) for line in text.split("\n")]) if "\n" in text else " " * len(text)


def _blank(text: str, spans: list[tuple[int, int, bool]]) -> str:
    parts, last = [], 0
    for start, end, _ in spans:
        parts += [text[last:start], blank(text[start:end])]
        last = end
    return "".join([*parts, text[last:]])
