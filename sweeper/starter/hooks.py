"""The linters of a .pre-commit-config.yaml, read line by line: of the file only a few plain keys are needed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sweeper.starter.project import Project

# Hook id -> the command that it stands for.
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "ruff": ("ruff", "check"),
    "ruff-check": ("ruff", "check"),
    "sqlfluff-lint": ("sqlfluff", "lint"),
    "golangci-lint": ("golangci-lint", "run"),
    "golangci-lint-full": ("golangci-lint", "run"),
    "biome-check": ("biome", "check"),
    "biome-lint": ("biome", "lint"),
    "biome-ci": ("biome", "ci"),
    "hadolint-docker": ("hadolint",),
    "semgrep": ("semgrep", "scan"),
    "ty": ("ty", "check"),
    "pyrefly-check": ("pyrefly", "check"),
    **{
        name: (name,)
        for name in (
            "mypy", "flake8", "pylint", "bandit", "codespell", "typos", "yamllint", "shellcheck", "hadolint",
            "actionlint", "zizmor", "markdownlint", "markdownlint-cli2", "eslint", "stylelint", "rubocop", "pyright",
            "basedpyright", "oxlint", "cppcheck",
        )
    },
}  # fmt: skip
# What a hook adds when its `args` are not given.
DEFAULTS: Mapping[str, tuple[str, ...]] = {"mypy": ("--ignore-missing-imports",)}
# Their revision is that of the hook, or of a wrapper, not the tool's.
OTHER_VERSIONS = ("biome-check", "biome-lint", "biome-ci", "hadolint-docker")
_KEY = re.compile(r"^(?P<indent>\s*)(?P<item>-\s+)?(?P<key>[\w-]+):\s*(?P<value>.*?)\s*$")
_ITEM = re.compile(r"^\s*-\s+(?P<value>.*?)\s*$")
_FLOW_ITEM = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s,\[\]\"'#][^,\[\]#]*)(?<! )")
_SCALAR = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|(\S+))")
_IN_BRACES = re.compile(r"\{\s*(id:[^{}]*)\}")
_NEXT_KEY = re.compile(r",(?=\s*[a-z_]+:)")
_VERSION = re.compile(r"^v?(\d+(?:\.\d+)+)$")


@dataclass(frozen=True, slots=True)
class Hook:
    """`version`: the tool's, "" if the revision names none; `companions`: packages that are installed with it."""

    words: tuple[str, ...]
    source: str
    version: str
    companions: tuple[str, ...]


@dataclass(slots=True)
class _Entry:
    id: str
    rev: str
    lists: dict[str, list[str]] = field(default_factory=dict)


def hooks(project: Project) -> list[Hook]:
    """Those of known linters, in the file's order."""
    found = []
    for path in project.named(".pre-commit-config.yaml", ".pre-commit-config.yml"):
        if "/" in path:
            continue
        for entry in _entries(project.text(path)):
            if entry.id in COMMANDS:
                arguments = entry.lists.get("args", list(DEFAULTS.get(entry.id, ())))
                version = _VERSION.match(entry.rev) if entry.id not in OTHER_VERSIONS else None
                words = (*COMMANDS[entry.id], *arguments)
                companions = tuple(entry.lists.get("additional_dependencies", ()))
                found.append(Hook(words, path, version[1] if version else "", companions))
    return found


def _entries(text: str) -> Iterator[_Entry]:
    rev = ""
    entry: _Entry | None = None
    open_list: list[str] | None = None
    for line in _IN_BRACES.sub(_unfolded, text).splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _KEY.match(line)
        if match is None or (open_list is not None and match["item"] and match["key"] not in ("id", "repo")):
            item = _ITEM.match(line)
            if open_list is not None:
                open_list.extend([_plain(item["value"])] if item else _flow(line.strip()))
            continue
        key, value = match["key"], match["value"]
        open_list = None
        if key == "repo":
            rev = ""
        elif key == "rev":
            rev = _plain(value)
        elif key == "id":
            if entry is not None:
                yield entry
            entry = _Entry(_plain(value), rev)
        elif key in ("args", "additional_dependencies") and entry is not None:
            open_list = entry.lists.setdefault(key, [])
            open_list.extend(_flow(value))
    if entry is not None:
        yield entry


def _unfolded(match: re.Match[str]) -> str:
    """A hook in braces as lines of a list's item."""
    return "\n- " + "\n  ".join(part.strip() for part in _NEXT_KEY.split(match[1])) + "\n"


def _flow(value: str) -> list[str]:
    """The items of a list in one line, or of a part of one."""
    if not value.startswith("[") and "," not in value:
        return [plain for plain in [_plain(value)] if plain not in ("", "]")]
    return [double or single or bare for double, single, bare in _FLOW_ITEM.findall(value)]


def _plain(value: str) -> str:
    match = _SCALAR.match(value)
    return (match[1] or match[2] or match[3] or "") if match else ""
