"""What in a repository speaks for a linter, and the check to suggest: one row each, in the order to drain them.

First those that fix and format on their own, from spelling to style; then those that need a mind; type checkers
last, since what the others do changes what they find.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sign:
    """`sources`: endings of the paths that it would check ("" for any), `under`: the folder that they are in.
    `config`: names of its own configuration files, `packages`: npm packages that a package.json depends on,
    `tables`: (file name, pattern of its part of that file). `alone`: suggested without any configuration,
    unless another linter of its `kind` is configured. `variants`: (file name, (pattern, another check)) where a
    file's content asks for another check."""

    tool: str
    check: str
    sources: tuple[str, ...]
    config: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    tables: tuple[tuple[str, str], ...] = ()
    kind: str = ""
    alone: bool = False
    under: str = ""
    variants: tuple[tuple[str, tuple[str, str]], ...] = ()


def _toml(table: str) -> str:
    """A pattern for the header of a table or of one below it."""
    return r"(?m)^[ \t]*\[[ \t]*" + r"[ \t]*\.[ \t]*".join(table.split(".")) + r"[ \t]*[.\]]"


def _ini(section: str) -> str:
    return rf"(?m)^\[{section}[\]:.-]"


def _tracked(tool: str, *patterns: str) -> str:
    """A check of the tracked files, new ones too, for a tool that has to be given files."""
    quoted = " ".join(f"'{pattern}'" for pattern in patterns)
    return f'sh -c "git ls-files -co --exclude-standard -z -- {quoted} | xargs -0 {tool}"'


_PYTHON = (".py", ".pyi")
_JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue")
_ESLINTRC = tuple(f".eslintrc{end}" for end in ("", ".js", ".cjs", ".json", ".yml", ".yaml"))
_ESLINT_CONFIG = tuple(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts"))

_WORKFLOWS = ".github/workflows/"
# Version 2 says so in its configuration, and takes other options.
_GOLANGCI_V1 = (
    r"\A(?![\s\S]*(?<![\w-])version[\"']?\s*[:=]\s*[\"']?2\b)",
    "golangci-lint run --out-format json ./...",
)

SIGNS = (
    Sign(
        "codespell",
        "codespell .",
        ("",),
        config=(".codespellrc",),
        tables=(("pyproject.toml", _toml("tool.codespell")), ("setup.cfg", _ini("codespell"))),
    ),
    Sign(
        "typos",
        "typos --format json",
        ("",),
        config=("typos.toml", "_typos.toml", ".typos.toml"),
        tables=(("pyproject.toml", _toml("tool.typos")), ("Cargo.toml", _toml("(?:workspace|package).metadata.typos"))),
    ),
    Sign(
        "biome",
        "npx biome lint --reporter rdjson",
        (*_JAVASCRIPT, ".json", ".jsonc", ".css"),
        config=("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"),
        packages=("@biomejs/biome",),
    ),
    Sign(
        "ruff",
        "ruff check --output-format json .",
        (*_PYTHON, ".ipynb"),
        config=("ruff.toml", ".ruff.toml"),
        tables=(("pyproject.toml", _toml("tool.ruff")),),
        kind="python",
        alone=True,
    ),
    Sign(
        "eslint",
        "npx eslint --format json .",
        _JAVASCRIPT,
        config=(*_ESLINT_CONFIG, *_ESLINTRC),
        packages=("eslint",),
        tables=(("package.json", r'"eslintConfig"\s*:'),),
    ),
    Sign(
        "oxlint",
        "npx oxlint --format json",
        _JAVASCRIPT,
        config=(".oxlintrc.json", ".oxlintrc.jsonc", "oxlint.config.ts"),
        packages=("oxlint",),
    ),
    Sign(
        "stylelint",
        "npx stylelint --formatter json '**/*.{css,scss,less}'",
        (".css", ".scss", ".less"),
        config=(
            *(f".stylelintrc{end}" for end in ("", ".json", ".yml", ".yaml", ".js", ".cjs", ".mjs")),
            *(f"stylelint.config.{end}" for end in ("js", "cjs", "mjs", "ts")),
        ),
        packages=("stylelint",),
        tables=(("package.json", r'"stylelint"\s*:\s*\{'),),
    ),
    Sign(
        "markdownlint",
        "npx markdownlint-cli2 '**/*.md' '#**/node_modules'",
        (".md", ".markdown"),
        config=(
            *(f".markdownlint-cli2.{end}" for end in ("jsonc", "yaml", "cjs", "mjs")),
            *(f".markdownlint.{end}" for end in ("jsonc", "json", "yaml", "yml", "cjs", "mjs")),
        ),
        packages=("markdownlint-cli2",),
    ),
    Sign(
        "sqlfluff",
        "sqlfluff lint --format json .",
        (".sql",),
        config=(".sqlfluff",),
        tables=(
            ("pyproject.toml", _toml("tool.sqlfluff")),
            ("setup.cfg", _ini("sqlfluff")),
            ("tox.ini", _ini("sqlfluff")),
        ),
    ),
    Sign(
        "rubocop",
        "rubocop --format json",
        (".rb", ".rake", "/Gemfile", "/Rakefile", ".gemspec"),
        config=(".rubocop.yml",),
        variants=(("Gemfile.lock", (r"(?m)^    rubocop \(", "bundle exec rubocop --format json")),),
    ),
    Sign(
        "golangci-lint",
        "golangci-lint run --output.json.path stdout ./...",
        (".go",),
        config=(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"),
        kind="go",
        variants=tuple((f".golangci.{end}", _GOLANGCI_V1) for end in ("yml", "yaml", "toml", "json")),
    ),
    Sign(
        "clippy",
        "cargo clippy --message-format json --workspace --all-targets",
        (".rs",),
        config=("Cargo.toml",),
    ),
    Sign(
        "shellcheck",
        _tracked("shellcheck --format json1", "*.sh", "*.bash"),
        (".sh", ".bash"),
        config=(".shellcheckrc", "shellcheckrc"),
        kind="shell",
        alone=True,
    ),
    Sign(
        "zizmor",
        "zizmor --format json-v1 .github",
        (".yml", ".yaml"),
        config=("zizmor.yml", "zizmor.yaml"),
        under=_WORKFLOWS,
    ),
    Sign(
        "semgrep",
        "semgrep scan --json --config .semgrep.yml",
        ("",),
        config=(".semgrep.yml",),
    ),
    Sign(
        "flake8",
        "flake8 .",
        _PYTHON,
        config=(".flake8",),
        tables=(("setup.cfg", _ini("flake8")), ("tox.ini", _ini("flake8"))),
        kind="python",
    ),
    Sign(
        "pylint",
        "pylint --output-format json2 --recursive=y .",
        _PYTHON,
        config=("pylintrc", ".pylintrc", "pylintrc.toml", ".pylintrc.toml"),
        tables=(("pyproject.toml", _toml("tool.pylint")), ("setup.cfg", _ini("pylint"))),
        kind="python",
    ),
    Sign(
        "bandit",
        "bandit --format json -q -r .",
        _PYTHON,
        config=(".bandit",),
        tables=(("pyproject.toml", _toml("tool.bandit")),),
        variants=(("pyproject.toml", (_toml("tool.bandit"), "bandit --format json -q -r -c pyproject.toml .")),),
    ),
    Sign(
        "yamllint",
        "yamllint --format parsable .",
        (".yml", ".yaml"),
        config=(".yamllint", ".yamllint.yaml", ".yamllint.yml"),
    ),
    Sign(
        "hadolint",
        _tracked("hadolint --format json", ":(glob)**/Dockerfile", ":(glob)**/Dockerfile.*", "*.Dockerfile"),
        ("/Dockerfile", ".Dockerfile"),
        config=(".hadolint.yaml", ".hadolint.yml"),
        kind="docker",
        alone=True,
    ),
    Sign(
        "actionlint",
        "actionlint -format '{{json .}}'",
        (".yml", ".yaml"),
        config=("actionlint.yaml", "actionlint.yml"),
        kind="workflows",
        alone=True,
        under=_WORKFLOWS,
    ),
    Sign("cppcheck", "cppcheck -q --xml .", (".c", ".cc", ".cpp", ".cxx"), config=("*.cppcheck",)),
    Sign("go-vet", "go vet -json ./...", (".go",), kind="go", alone=True),
    Sign(
        "mypy",
        "mypy --output json .",
        _PYTHON,
        config=("mypy.ini", ".mypy.ini"),
        tables=(("pyproject.toml", _toml("tool.mypy")), ("setup.cfg", _ini("mypy"))),
    ),
    Sign(
        "pyright",
        "pyright --outputjson",
        _PYTHON,
        config=("pyrightconfig.json",),
        tables=(("pyproject.toml", _toml("tool.pyright")),),
    ),
    Sign(
        "basedpyright", "basedpyright --outputjson", _PYTHON, tables=(("pyproject.toml", _toml("tool.basedpyright")),)
    ),
    Sign(
        "ty",
        "ty check --output-format gitlab",
        _PYTHON,
        config=("ty.toml",),
        tables=(("pyproject.toml", _toml("tool.ty")),),
    ),
    Sign(
        "pyrefly",
        "pyrefly check --output-format json",
        _PYTHON,
        config=("pyrefly.toml",),
        tables=(("pyproject.toml", _toml("tool.pyrefly")),),
    ),
    Sign("tsc", "npx tsc --noEmit --pretty false", (".ts", ".mts", ".cts", ".tsx"), config=("tsconfig.json",)),
)
