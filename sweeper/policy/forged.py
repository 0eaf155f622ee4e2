"""Changed files that the check itself imports or runs: they could print a clean report."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence

from sweeper.policy.rules import Violation

# Packages that linters and test runners import; a file of that name at an import root comes before them.
TOOLS = frozenset({
    "ruff", "flake8", "pycodestyle", "pyflakes", "mccabe", "pylint", "astroid", "isort", "black", "mypy",
    "mypy_extensions", "bandit", "stevedore",
    "pyright", "basedpyright", "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "yamllint", "yaml",
    "sqlfluff", "codespell_lib", "codespell",
    "semgrep", "tomli", "tomlkit", "dill", "platformdirs", "pathspec", "typing_extensions", "click", "colorama",
    "coverage", "hypothesis", "setuptools",
    "pkg_resources", "importlib_metadata", "zipp", "attr", "attrs", "exceptiongroup", "tox", "nox", "vulture",
    "pydocstyle", "autopep8", "yapf",
})  # fmt: skip
ROOTS = frozenset({"", "src", "lib", "python", "tests", "test", "app"})
_RUN = re.compile(
    r"(?:^|/)(?:makefile|gnumakefile|justfile|rakefile|taskfile\.ya?ml|noxfile\.py|tox\.ini|setup\.py|build\.rs"
    r"|gruntfile\.\w+|gulpfile\.\w+"
    r"|conftest\.py|pom\.xml|build\.gradle(?:\.kts)?|build\.sbt|cmakelists\.txt|magefile\.go|gemfile"
    r"|vite\.config\.\w+|webpack\.config\.\w+|babel\.config\.\w+"
    r"|\.babelrc\w*|rollup\.config\.\w+|jest[.-]\w+\.\w+|vitest[.-]\w+\.\w+|tools\.go|dangerfile|spec_helper\.rb"
    r"|rails_helper\.rb|test_helper\.\w+|setup[-_]?tests?\.\w+|phpunit\.xml\S*|\.rspec|\.mocharc\S*)\Z",
    re.IGNORECASE,
)
_PLUGIN = re.compile(
    r"(?:^|/)(?:eslint[-_](?:local[-_])?(?:plugin|rules?|config)[^/]*|\.?eslint[^/]*|pylint[-_][^/]*|[^/]*_?(?:lint"
    r"|pylint|flake8|mypy|checker|pytest)[-_]?plugins?[^/]*"
    r"|(?:lint|eslint|custom|local|stylelint|markdownlint|yamllint|semgrep|ast-grep)[-_]?rules?|rules[-_]?dir"
    r"|formatters?|reporters?|linters?|checkers?|cops?)(?:/|\.[cm]?[jt]s\Z|\.py\Z|\.rb\Z)"
    r"|(?:^|/)rubocop/|(?:^|/)(?:scripts?|tools|bin|ci|build|hack|dev)/[^/]*(?:lint|check|verify|ci|test)[^/]*\Z",
    re.IGNORECASE,
)
_LOADED = re.compile(
    r"\.(?:pth|egg-link)\Z|(?:^|/)(?:site|user)customize(?:\.py|/)|(?:^|/)(?:node_modules|site-packages"
    r"|vendor/bundle|\.venv|venv|\.bin)/",
    re.IGNORECASE,
)
_ENTRY = re.compile(
    r"(?:^|/)(?:[\w-]+\.)?(?:dist|egg)-info/|(?:^|/)\.(?:npmrc|yarnrc\S*|pnp\.\w+|pypirc|cargo/config\S*|nvmrc"
    r"|tool-versions|python-version)\Z",
    re.IGNORECASE,
)


def forged_rules(
    path: str, new: bool, command: Sequence[str], context: Mapping[str, bytes], root: str = "."
) -> Iterator[Violation]:
    """`command`: the words of the check and the test; `context`: the base's files that configure them."""
    if _LOADED.search(path) or _ENTRY.search(path):
        yield Violation("shadowed_module", path, detail="a file that every run of an interpreter loads")
    elif new and _shadows(path, root):
        yield Violation("shadowed_module", path, detail="imported in place of a module of the same name")
    elif _RUN.search(path) or _PLUGIN.search(path):
        yield Violation("forged_verdict", path, detail="a file that checks or builds load by its name")
    elif _named(path, command, root):
        yield Violation("forged_verdict", path, detail="the command of the check names it")
    elif (source := _loaded(path, context)) is not None:
        yield Violation("forged_verdict", path, detail=f"{source} loads it")


def _shadows(path: str, root: str) -> bool:
    folder, _, name = path.rpartition("/")
    stem, dot, suffix = name.partition(".")
    if dot and suffix in ("py", "pyi", "pyc", "so") and (folder in ROOTS or folder == root):
        return stem in TOOLS or stem in sys.stdlib_module_names
    if name == "__init__.py":
        above, _, package = folder.rpartition("/")
        return (above in ROOTS or above == root) and (package in TOOLS or package in sys.stdlib_module_names)
    return False


def _named(path: str, command: Sequence[str], root: str) -> bool:
    """Whether the command runs it: its first word, or what an interpreter is given first."""
    words = [word.removeprefix("./") for word in command]
    own = {path, path.removeprefix(f"{root}/")}
    for number, word in enumerate(words):
        runs = number == 0 or words[number - 1].rsplit("/", 1)[-1] in _INTERPRETERS or words[number - 1] in _LOADING
        runs = runs or any(word.startswith(f"{option}=") for option in _LOADING)
        value = word.split("=", 1)[-1].removeprefix("./")
        if runs and (value in own or _module(path) in (value, value.replace("/", "."))):
            return True
    return False


_INTERPRETERS = frozenset({
    "python", "python3", "bash", "sh", "node", "ruby", "perl", "php", "deno", "bun", "tsx", "ts-node", "make", "source",
    ".", "run", "exec", "env", "&&", ";",
})  # fmt: skip
_LOADING = frozenset({
    "-m", "--load-plugins", "--rulesdir", "--require", "-r", "-p", "--plugin", "--plugins", "--format", "-f",
    "--resolve-plugins-relative-to", "--formatter",
    "--config", "-c", "--rcfile", "--init-hook", "--import", "--custom-syntax", "--rules", "--reporter",
    "--fixture", "-P", "--setup",
})  # fmt: skip


def _module(path: str) -> str:
    """`a/b.py` as Python names it."""
    stem = re.sub(r"(?:/__init__)?\.\w+\Z", "", path)
    return re.sub(r"\A(?:src|lib)\.", "", stem.replace("/", "."))


def _loaded(path: str, context: Mapping[str, bytes]) -> str | None:
    """The configuration that names this file as something to load."""
    module, stem = _module(path), re.sub(r"(?:/index|/__init__)?\.\w+\Z", "", path)
    names = {module, stem, path, "./" + stem.rsplit("/", 1)[-1], "./" + path.rsplit("/", 1)[-1]}
    for source, data in context.items():
        text = data.decode("latin-1")
        for line in text.split("\n"):
            if len(line) < 2000 and _LOADS.search(line) and any(_word(name, line) for name in names if len(name) > 2):
                return source
    return None


_LOADS = re.compile(
    r"plugin|require|import|extends|load|inherit|rulesdir|formatter|reporter|setup|preset|transform|hook|extension"
    r"|custom|-p\s",
    re.IGNORECASE,
)


def _word(name: str, line: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", line) is not None
