"""The formats, one module each: name -> how to recognise and how to parse it.

A new format is a module with a way to recognise and a way to parse it, and a row here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sweeper.backlog.formats import (
    actionlint,
    bandit,
    biome,
    cargo,
    checkstyle,
    codespell,
    cppcheck,
    eslint,
    gcc,
    github,
    gitlab,
    go_vet,
    golangci,
    hadolint,
    markdownlint,
    mypy,
    oxlint,
    pattern,
    pylint,
    pyrefly,
    pyright,
    rdjson,
    rubocop,
    ruff_json,
    sarif,
    semgrep,
    shellcheck,
    sqlfluff,
    stylelint,
    text,
    tsc,
    typos,
    yamllint,
    zizmor,
)
from sweeper.backlog.formats.declared import Document, Lines
from sweeper.backlog.formats.lines import TextLines
from sweeper.backlog.parsed import Parsed


@dataclass(frozen=True, slots=True)
class Format:
    """`looks_like` gets the head of an output (escapes stripped); rows are asked in the table's order.

    `printed_columns`: columns are as the tool prints them, so its own first column counts; others start at 1.
    """

    parse: Callable[[bytes, bytes], Parsed]
    looks_like: Callable[[str], bool]
    printed_columns: bool = False


def _native(document: Document | Lines | TextLines) -> Format:
    return Format(document.parse, document.looks_like)


# What a format is recognised by may be part of a more general one: the special ones come first.
FORMATS: dict[str, Format] = {
    sarif.NAME: Format(sarif.parse, sarif.looks_like),
    cargo.NAME: _native(cargo.LINES),
    mypy.NAME: _native(mypy.LINES),
    ruff_json.LINES_NAME: _native(ruff_json.LINES),
    typos.NAME: _native(typos.LINES),
    actionlint.LINES_NAME: _native(actionlint.LINES),
    rdjson.LINES_NAME: _native(rdjson.LINES),
    ruff_json.NAME: _native(ruff_json.DOCUMENT),
    eslint.NAME: _native(eslint.DOCUMENT),
    eslint.META_NAME: _native(eslint.META),
    stylelint.NAME: _native(stylelint.DOCUMENT),
    sqlfluff.NAME: _native(sqlfluff.DOCUMENT),
    actionlint.NAME: _native(actionlint.DOCUMENT),
    pylint.OLD_NAME: _native(pylint.OLD),
    gcc.NAME: _native(gcc.DOCUMENT),
    zizmor.NAME: _native(zizmor.DOCUMENT),
    github.JSON_NAME: _native(github.DOCUMENT),
    shellcheck.OLD_NAME: _native(shellcheck.OLD),
    hadolint.NAME: _native(hadolint.DOCUMENT),
    gitlab.NAME: _native(gitlab.DOCUMENT),
    gitlab.STREAM_NAME: Format(gitlab.parse_stream, gitlab.looks_like_stream),
    shellcheck.NAME: _native(shellcheck.DOCUMENT),
    pylint.NAME: _native(pylint.DOCUMENT),
    pyright.NAME: _native(pyright.DOCUMENT),
    bandit.NAME: _native(bandit.DOCUMENT),
    semgrep.NAME: _native(semgrep.DOCUMENT),
    rubocop.NAME: _native(rubocop.DOCUMENT),
    oxlint.NAME: _native(oxlint.DOCUMENT),
    biome.NAME: _native(biome.DOCUMENT),
    rdjson.NAME: _native(rdjson.DOCUMENT),
    golangci.NAME: _native(golangci.DOCUMENT),
    go_vet.NAME: Format(go_vet.parse, go_vet.looks_like),
    pyrefly.NAME: _native(pyrefly.DOCUMENT),
    checkstyle.NAME: Format(checkstyle.parse, checkstyle.looks_like, printed_columns=True),
    cppcheck.NAME: Format(cppcheck.parse, cppcheck.looks_like),
    github.NAME: Format(github.parse, github.looks_like, printed_columns=True),
    markdownlint.NAME: _native(markdownlint.TEXT),
    yamllint.NAME: _native(yamllint.TEXT),
    hadolint.TEXT_NAME: _native(hadolint.TEXT),
    tsc.NAME: Format(tsc.parse, tsc.TEXT.looks_like),
    codespell.NAME: _native(codespell.TEXT),
    text.NAME: Format(text.parse, text.looks_like, printed_columns=True),
}
PATTERN = pattern.NAME
NAMES = frozenset({*FORMATS, PATTERN})
