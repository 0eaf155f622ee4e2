"""How a project itself starts its linters: scripts of package.json, recipes, tox, tasks, CI and pre-commit hooks."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sweeper.backlog.tools import GENERIC, Tool, recognise
from sweeper.backlog.tools.commandline import program_at, program_name
from sweeper.starter.hooks import hooks
from sweeper.starter.project import WORKFLOWS, Project, joined, strings, table

# Rows of one tool that stand for another way to ask it.
ALIASES = {
    "biome-check": "biome",
    "biome-ci": "biome",
    "golangci-lint-v1": "golangci-lint",
    "markdownlint-cli": "markdownlint",
    "semgrep-short": "semgrep",
}
RECIPES = ("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml")
_MAKE_PROGRAM = re.compile(r"\$[({]\w+[)}]/(?:bin/)?(?=\w)")
_MAKE_PYTHON = re.compile(r"\$[({](?:PYTHON|PY|python)[)}](?= -m )")
_OPERATORS = frozenset({"&&", "||", ";", "&"})
_ASSIGNMENT = re.compile(r"^[A-Za-z_]\w*=")
_LIST_ITEM = re.compile(r"^\s*(?:-\s+)?(?:run:\s*|cmd:\s*|command:\s*)?[|>]?-?\s*")
_TOX = re.compile(r"^\s*(?:commands\s*=)?[\s-]*")
_SESSION = re.compile(r"session\.run\(\s*((?:\"[^\"\n]*\"|'[^'\n]*'|\s|,)+)")
_LITERAL = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")
_PLACEHOLDER = re.compile(r"\{posargs[^}]*\}")
_SHELL = re.compile(r"[$`\\{}]")
# No check: they print something about the tool, never end, or start a server.
_NO_CHECK = frozenset({"--version", "-V", "--help", "-h", "--watch", "-w", "--build", "-b", "--print-config", "--init"})


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command line of a tool, without its runner. `folder`: where it is started; `source`: the file that has
    it. `tool`: the name of its sign. `everywhere`: a hook, which is given files of any folder; `version`: the
    tool's, "" if nothing says; `companions`: packages that are installed with it."""

    tool: str
    words: tuple[str, ...]
    folder: str
    source: str
    everywhere: bool = False
    version: str = ""
    companions: tuple[str, ...] = ()


def invocations(project: Project) -> list[Invocation]:
    """Those of known tools, the most telling sources first."""
    found: list[Invocation] = []
    for folder, source, line in _lines(project):
        for where, words in commands(line, folder):
            invocation = _known(words, where, source)
            if invocation is not None:
                found.append(invocation)
    for hook in hooks(project):
        invocation = _known(hook.words, ".", hook.source)
        if invocation is not None:
            found.append(replace(invocation, everywhere=True, version=hook.version, companions=hook.companions))
    return found


def _known(words: tuple[str, ...], folder: str, source: str) -> Invocation | None:
    tool = recognise(words)
    if tool is GENERIC or tool.name == "gcc" or not _NO_CHECK.isdisjoint(words):
        return None
    return Invocation(ALIASES.get(tool.name, tool.name), _own(words, tool), folder, source)


def _own(words: tuple[str, ...], tool: Tool) -> tuple[str, ...]:
    """Without `uv run`, `npx` and the like: a set-up makes the tool known by its name. Bundler finds the right gem."""
    if words[0] == "bundle":
        return words
    at = program_at(words, tool.programs) - 1
    return (program_name(words[at]), *words[at + 1 :])


def commands(text: str, folder: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The plain commands of a shell line with the folder that each is started in; none that needs a shell."""
    text = _MAKE_PYTHON.sub("python", _MAKE_PROGRAM.sub("", _PLACEHOLDER.sub("", text)))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return
    words: list[str] = []
    for token in [*tokens, ";"]:
        if token not in _OPERATORS:
            words.append(token)
            continue
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        if len(words) == 2 and words[0] == "cd":
            folder = joined(folder, words[1])
        elif words and not any(set(word) <= set("|()<>&") or _SHELL.search(word) for word in words):
            yield folder, tuple(words)
        words = []


def _lines(project: Project) -> Iterator[tuple[str, str, str]]:
    """(folder, source, shell line)"""
    for path in project.named("package.json"):
        scripts = table(project.tree(path), "scripts").values()
        yield from ((_folder(path), path, line) for line in scripts if isinstance(line, str))
    for path in project.named(*RECIPES, "lint.sh", "check.sh"):
        yield from ((_folder(path), path, line.lstrip("@-+ ")) for line in _written(project, path, _LIST_ITEM))
    for path in project.named("tox.ini"):
        yield from ((_folder(path), path, line) for line in _written(project, path, _TOX))
    for path in project.named("pyproject.toml"):
        yield from ((_folder(path), path, line) for line in _tasks(project.tree(path)))
    for path in project.named("noxfile.py"):
        for called in _SESSION.findall(project.text(path)):
            yield _folder(path), path, shlex.join(first or second for first, second in _LITERAL.findall(called))
    for path in [*project.named(".gitlab-ci.yml"), *(p for p in project.paths if p.startswith(WORKFLOWS))]:
        yield from ((".", path, line) for line in _written(project, path, _LIST_ITEM))


def _written(project: Project, path: str, lead: re.Pattern[str]) -> Iterable[str]:
    """The lines of a file, continued ones as one, without what leads to their command."""
    return (lead.sub("", line) for line in project.text(path).replace("\\\n", " ").splitlines())


def _tasks(tree: Mapping[str, Any]) -> Iterable[str]:
    """Commands of the task runners that are configured in pyproject.toml."""
    tools = table(tree, "tool")
    places = [table(tools, "poe", "tasks"), table(tools, "taskipy", "tasks"), table(tools, "pdm", "scripts")]
    places += [table(each, "scripts") for each in table(tools, "hatch", "envs").values()]
    for place in places:
        for value in place.values():
            lines = [value] if isinstance(value, str) else strings(value)
            command = table(value).get("cmd")
            yield from [*lines, command] if isinstance(command, str) else lines


def _folder(path: str) -> str:
    return posixpath.dirname(path) or "."
