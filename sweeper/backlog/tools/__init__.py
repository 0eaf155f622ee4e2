"""The linters that are known by name: one row each, by ecosystem, and a row for every other command."""

from __future__ import annotations

from collections.abc import Sequence

from sweeper.backlog.tools import files, javascript, native, python
from sweeper.backlog.tools.python import RUFF
from sweeper.backlog.tools.tool import FILES, Tool, codes

# Codes other than 0 and 1 have no known meaning here; what was parsed decides.
GENERIC = Tool(
    name="generic",
    exit_codes=codes(),
    incomplete=r"(?im)^.*\b(?:can't run|cannot run|(?:could not|failed to) (?:load|read|parse|analy[sz]e))\b.*",
)

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        RUFF,
        python.FLAKE8,
        python.PYLINT,
        python.BANDIT,
        python.MYPY,
        python.PYRIGHT,
        python.BASEDPYRIGHT,
        python.TY,
        python.PYREFLY,
        javascript.ESLINT,
        javascript.TSC,
        javascript.BIOME,
        javascript.BIOME_CHECK,
        javascript.BIOME_CI,
        javascript.OXLINT,
        javascript.STYLELINT,
        native.CLIPPY,
        native.GOLANGCI_V1,
        native.GOLANGCI,
        native.GO_VET,
        native.RUBOCOP,
        native.CPPCHECK,
        native.GCC,
        files.SHELLCHECK,
        files.HADOLINT,
        files.ACTIONLINT,
        files.ZIZMOR,
        files.YAMLLINT,
        files.MARKDOWNLINT,
        files.MARKDOWNLINT_CLI,
        files.SQLFLUFF,
        files.CODESPELL,
        files.TYPOS,
        files.SEMGREP,
        files.SEMGREP_SHORT,
        GENERIC,
    )
}


def recognise(argv: Sequence[str]) -> Tool:
    """The row whose command line this is; GENERIC for every other command."""
    return next((tool for tool in TOOLS.values() if tool.recognises(argv)), GENERIC)


__all__ = ["FILES", "GENERIC", "RUFF", "TOOLS", "Tool", "recognise"]
