"""Which paths a unit may change: its own and the sweep's scope, never those that steer CI, git, agents or checks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache

from pathspec import GitIgnoreSpec

from sweeper.records import Unit

# gitignore syntax, compared without regard to case: the file system of a later reader may not care for it.
DENIED = (
    # continuous integration and what else runs by itself
    "**/.github/workflows/", "**/.github/actions/", "**/.github/dependabot.y*ml", "codeowners",
    "renovate.json*", ".renovaterc*",
    ".gitlab-ci*.y*ml", ".gitlab/", ".circleci/", ".travis.y*ml", "*appveyor.y*ml", "azure-pipelines*.y*ml",
    ".azure-pipelines/", "jenkinsfile*", "bitbucket-pipelines.y*ml", ".drone.y*ml", ".woodpecker*", ".buildkite/",
    ".teamcity/", ".semaphore/", "cloudbuild*.y*ml", "buildspec*.y*ml", ".gitea/", ".forgejo/", ".cirrus.*",
    ".husky/", ".lefthook*", "lefthook.*", ".envrc", ".vscode/", ".idea/", ".devcontainer/", ".devcontainer.json",
    # git's own
    ".git", ".gitattributes", ".gitignore", ".gitmodules", ".gitconfig", ".git-blame-ignore-revs", ".mailmap",
    # ours
    "sweeper.toml",
    # what instructs agents
    "agents.md", "agents.override.md", "agent.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md", "skill.md",
    ".claude/", ".codex/", ".gemini/", ".cursor/", ".cursorrules", ".windsurf/", ".windsurfrules", ".clinerules",
    ".roo/", ".roorules*", ".aider*", ".kiro/", ".junie/", ".goosehints", ".continue/", ".opencode/", "opencode.json*",
    ".amazonq/", ".qwen/", ".mcp.json", ".rules", "**/.github/copilot-instructions.md", "**/.github/instructions/",
    "**/.github/prompts/", "**/.github/agents/", "**/.github/chatmodes/",
)  # fmt: skip

# File names, compared without regard to case; a tool's own list comes on top (`check_config_files`).
CHECK_CONFIG = (
    "ruff.toml", ".ruff.toml", ".flake8", "*pylintrc", "*pylintrc.toml", "mypy.ini", ".mypy.ini", "pyrightconfig.json",
    "pyrefly.toml", "ty.toml", "pytest.ini", ".pytest.ini", "tox.ini", ".bandit", "bandit.y*ml", ".isort.cfg",
    ".pycodestyle", ".pydocstyle", ".pydocstyle.ini", ".coveragerc", ".style.yapf", ".pre-commit-config.y*ml",
    ".eslintrc*", "eslint.config.*", ".eslintignore", ".prettierrc*", "prettier.config.*", ".prettierignore",
    "biome.json*", ".biome.json*", "tsconfig*.json", "jsconfig*.json", "tslint.json", ".jshintrc", ".jshintignore",
    ".jscsrc", "*oxlintrc*.json", "deno.json*", ".stylelintrc*", "stylelint.config.*", ".stylelintignore", ".swcrc",
    ".golangci.*", "staticcheck.conf", "revive.toml", "clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml",
    "deny.toml", ".rubocop*.yml", ".standard.yml", ".reek.yml", ".shellcheckrc", "shellcheckrc", "*hadolint.y*ml",
    ".yamllint*", ".markdownlint*", ".rumdl.toml", "rumdl.toml", ".remarkrc*", ".textlintrc*", ".clang-tidy*",
    ".clang-format*", "cppcheck*.cfg", "phpcs.xml*", ".phpcs.xml*", "phpstan*.neon*", "psalm*.xml*", ".php-cs-fixer*",
    "*checkstyle*.xml", "pmd.xml", "pmd-*.xml", "*spotbugs*.xml", "detekt*.yml", ".editorconfig", ".swiftlint.yml",
    ".swiftformat", ".scalafmt.conf", ".scalafix.conf", "scalastyle*.xml", ".luacheckrc", "selene.toml", "*stylua.toml",
    ".sqlfluff*", ".vale.ini", ".codespellrc", "*typos.toml", "*cspell*.json", "cspell.config.*", ".semgrep*.y*ml",
    ".semgrepignore", ".gitleaks.toml", ".gitleaksignore", ".tflint.hcl", ".tfsec*", ".checkov*", ".trivyignore*",
    ".ansible-lint*", ".credo.exs", ".lintr", "analysis_options.y*ml", ".perlcriticrc", ".perltidyrc", "buf.yaml",
    ".solhint*", ".djlintrc", ".htmlhintrc", ".ecrc", "sonar-project.properties", ".codeclimate.yml", "*codecov.y*ml",
)  # fmt: skip

# What steers a run of the tests: configuration wherever a sweep has a test command.
TEST_CONFIG = (
    "conftest.py", "noxfile.py", "jest.setup.*", "jest.config.*", ".mocharc*", "vitest.config.*", "vitest.setup.*",
    "karma.conf.*", "playwright.config.*", "cypress.config.*", ".rspec", "spec_helper.rb", "rails_helper.rb",
    "phpunit.xml*", "runtests.*",
)  # fmt: skip

# Where a check's plugins and scripts are named; by exact name, for they are looked up in every tree.
CONFIGURED = frozenset({
    "pyproject.toml", "setup.cfg", "tox.ini", ".flake8", ".pylintrc", "pylintrc", "mypy.ini", ".mypy.ini",
    "pytest.ini", "conftest.py",
    "package.json", ".eslintrc", ".eslintrc.json", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.yml",
    ".eslintrc.yaml", "eslint.config.js",
    "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", ".stylelintrc.json", "stylelint.config.js",
    ".markdownlint-cli2.jsonc",
    ".markdownlint-cli2.yaml", ".rubocop.yml", ".golangci.yml", ".golangci.yaml", ".pre-commit-config.yaml",
    "makefile", "justfile", "jest.config.js",
    "jest.config.ts", "vitest.config.ts", "vitest.config.js", ".semgrep.yml", ".yamllint", "babel.config.js",
    ".mocharc.json", ".rspec",
})  # fmt: skip

# Suppressions that live in a file of their own.
BASELINES = (
    "*eslint-suppressions.json", ".eslint-bulk-suppressions*", ".rubocop_todo.yml",
    "phpstan-baseline*", "psalm-baseline*", "detekt-baseline*", "*lint-baseline*", "*mypy-baseline*",
    ".secrets.baseline", ".betterer.results", "*basedpyright*baseline.json", ".flake8-baseline", "*bandit*baseline*",
    ".erb_lint_todo.yml", ".haml-lint_todo.yml", ".i18n-todo.yml", "*known_issues.json", ".eslint-todo",
)  # fmt: skip
BASELINE_FOLDERS = (".basedpyright/", ".lint-todo/")


@dataclass(frozen=True, slots=True)
class Scope:
    """A sweep's globs (gitignore syntax, from the repository's top).

    `globs`: what a unit may change beyond its own paths; `allow`: what lifts a rule that `allow` can lift.
    """

    globs: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()

    def matcher(self, unit: Unit) -> Callable[[bytes], bool]:
        """Whether `unit` may change a path (bytes, repository-relative)."""
        own = frozenset(os.fsencode(path) for path in unit.paths)
        globs = _spec(self.globs)
        return lambda path: path in own or globs.match_file(os.fsdecode(path))

    def allows(self, path: str) -> bool:
        return _spec(self.allow).match_file(path)


@lru_cache(maxsize=32)
def _spec(globs: tuple[str, ...]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(globs)


def denied(path: str) -> bool:
    """Whether the path steers CI, git, agents, hooks or sweeper itself."""
    return _spec(DENIED).match_file(path.lower())


def is_baseline(path: str) -> bool:
    """Whether the path is a file of suppressions."""
    return _named(path, BASELINES) or _spec(BASELINE_FOLDERS).match_file(path.lower())


def is_check_config(path: str, more: Iterable[str] = ()) -> bool:
    """Whether the whole file configures a check; `more`: names or globs that the sweep's tool reads."""
    known = (*CHECK_CONFIG, *(name.lower() for name in more))
    return _named(path, known)


def _named(path: str, names: Sequence[str]) -> bool:
    return _any_of(tuple(names)).match(path.rsplit("/", 1)[-1].lower()) is not None


@lru_cache(maxsize=32)
def _any_of(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, globs)) or r"(?!)")
