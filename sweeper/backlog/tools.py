"""The linters that are known by name: one row each, and a row for every other command.

A row is data; the same few rewritings of a command line serve all rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from sweeper.records import CheckState

FILES = "{files}"
_RUNNERS = {  # programs that only start another one: name -> the words between them
    "uv": (("run",), ("tool", "run")),
    "uvx": ((),),
    "pipx": (("run",),),
    "poetry": (("run",),),
    "pdm": (("run",),),
    "hatch": (("run",),),
    "rye": (("run",),),
}
_PYTHON = re.compile(r"^(?:python(?:\d(?:\.\d+)?)?|pypy3?)$")


@dataclass(frozen=True, slots=True)
class Tool:
    """How one linter is started, asked and understood.

    `program` and `command`: `ruff` and `check` in `ruff check`. `value_options` take the next word.
    `dropped` maps options that would make a check change files, hide findings or print something else to the
    number of values they take. `machine_format`: option and value that ask for the best format;
    `good_formats`: values of that option that are parsed as well. `check_options` go into every check,
    `file_options` into every run on named files (the same excludes as a whole run), `fix_options`: one
    list a fixer, safest first. `no_suppressions` shows what suppression comments hide.
    `exit_codes` gives the meaning of the codes; an unlisted code has none. `streams`: where findings
    are printed. `column_base`: the number of the first column. `incomplete`: what the tool says on
    stderr when it did not look at everything. `config_files`: names, at any depth, that change what the check
    reports; `config_section`: where only one table of such a file does.
    """

    name: str
    program: str = ""
    command: tuple[str, ...] = ()
    value_options: frozenset[str] = frozenset()
    dropped: Mapping[str, int] = field(default_factory=dict)
    machine_format: tuple[str, str] = ("", "")
    good_formats: frozenset[str] = frozenset()
    check_options: tuple[str, ...] = ()
    file_options: tuple[str, ...] = ()
    fix_options: tuple[tuple[str, ...], ...] = ()
    no_suppressions: tuple[str, ...] = ()
    exit_codes: Mapping[int, CheckState] = field(default_factory=dict)
    streams: tuple[str, ...] = ("stdout", "stderr")
    column_base: int = 1
    incomplete: str = ""
    config_files: tuple[str, ...] = ()
    config_section: Mapping[str, str] = field(default_factory=dict)

    def check(self, argv: Sequence[str]) -> list[str]:
        """The same check in a format that is understood, changing no file and hiding nothing by its exit code."""
        parts = self._split(argv)
        if parts is None:
            return list(argv)
        return [*parts.start, *self._asked(parts), *parts.paths]

    def unit_check(self, argv: Sequence[str]) -> list[str]:
        """The check on named files ("{files}") with the excludes of a whole run; [] if the tool is not known."""
        parts = self._split(argv)
        if parts is None or parts.reads_stdin:
            return []
        return [*parts.start, *self._asked(parts), *_missing(parts.options, self.file_options), FILES]

    def without_suppressions(self, argv: Sequence[str]) -> list[str]:
        """The check, or unit check, that also reports what suppression comments hide; [] if there is no way."""
        parts = self._split(argv)
        if parts is None or not self.no_suppressions:
            return []
        return [*parts.start, *self._asked(parts), *_missing(parts.options, self.no_suppressions), *parts.paths]

    def fixers(self, argv: Sequence[str]) -> list[list[str]]:
        """The tool's own fixers for the findings of this check, safest first, each a template with "{files}"."""
        parts = self._split(argv)
        if parts is None or parts.reads_stdin:
            return []
        option = self.machine_format[0]
        options = _without(parts.options, option)
        files = _missing(options, self.file_options)
        check_only = {name for name in self.check_options if name.startswith("--no-fix")}
        kept = [word for word in options if word not in check_only]
        always = [word for word in self.check_options if word not in check_only and word not in kept]
        return [[*parts.start, *kept, *always, *fix, *files, FILES] for fix in self.fix_options]

    def _asked(self, parts: _Parts) -> list[str]:
        option, best = self.machine_format
        options = parts.options
        given = [value for name, value in _values(options) if name == option]
        if not given or given[-1] not in self.good_formats:
            options = [*_without(options, option), option, best]
        return [*options, *_missing(options, self.check_options)]

    def _split(self, argv: Sequence[str]) -> _Parts | None:
        """Program and command, options (normalised to "--name value"), paths; None if it is another program."""
        at = _program_at(argv, self.program) if self.program else -1
        if at < 0:
            return None
        start = list(argv[:at])
        options: list[str] = []
        paths: list[str] = []
        command = list(self.command)
        words = iter(argv[at:])
        for word in words:
            name, equals, value = word.partition("=")
            if word == "--":
                paths.extend("./" + path if path.startswith("-") else path for path in words)
            elif word.startswith("-") and word != "-":
                takes = int(name in self.value_options)
                values = [value] if equals else [next(words, "") for _ in range(self.dropped.get(name, takes))]
                if name in self.dropped:
                    continue
                options.extend([name, *values])
            elif command and word == command[0]:
                start.append(command.pop(0))
            elif command:
                return None
            else:
                paths.append(word)
        return None if command else _Parts(start, options, paths)


@dataclass(frozen=True, slots=True)
class _Parts:
    start: list[str]
    options: list[str]
    paths: list[str]

    @property
    def reads_stdin(self) -> bool:
        return "-" in self.paths or "--stdin-filename" in self.options


def _values(options: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, options[at + 1]) for at, name in enumerate(options[:-1]) if name.startswith("-")]


def _without(options: Sequence[str], option: str) -> list[str]:
    """Drop `option` and its value."""
    kept: list[str] = []
    words = iter(options)
    for word in words:
        if word == option:
            next(words, None)
        else:
            kept.append(word)
    return kept


def _missing(options: Sequence[str], wanted: Sequence[str]) -> list[str]:
    return [word for word in wanted if word not in options]


def _program_at(argv: Sequence[str], program: str) -> int:
    """The index after the program's name, through `python -m` and the usual runners; -1 if it is not there."""
    if not argv:
        return -1
    first = PurePosixPath(argv[0]).name
    if first == program:
        return 1
    if _PYTHON.match(first):
        words = list(argv[1:])
        at = words.index("-m") if "-m" in words else -1
        isolated = all(word.startswith("-") for word in words[:at]) if at >= 0 else False
        return at + 3 if isolated and words[at + 1 : at + 2] == [program] else -1
    for between in _RUNNERS.get(first, ()):
        following = 1 + len(between)
        if tuple(argv[1:following]) == between and list(argv[following : following + 1]) == [program]:
            return following + 1
    return -1


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RUFF = Tool(
    name="ruff",
    program="ruff",
    command=("check",),
    value_options=_words(
        "--output-format --target-version --extension --select --ignore --extend-select --extend-ignore "
        "--per-file-ignores --extend-per-file-ignores --fixable --unfixable --extend-fixable --exclude "
        "--extend-exclude --cache-dir --stdin-filename --config --color --line-length --dummy-variable-rgx"
    ),
    dropped={
        **dict.fromkeys(
            _words(
                "--fix --fix-only --unsafe-fixes --show-fixes --diff --watch -w --statistics --add-noqa --add-ignore "
                "--exit-zero -e --exit-non-zero-on-fix --silent -s --verbose -v"
            ),
            0,
        ),
        "--output-file": 1,
        "-o": 1,
    },
    machine_format=("--output-format", "json"),
    good_formats=frozenset({"json", "json-lines", "sarif", "concise", "pylint"}),
    # A cache is of no use in a sandbox that is thrown away, and would be a change of its own. `fix = true` in
    # the project's configuration would let a check repair what it should report.
    check_options=("--no-fix", "--no-cache"),
    file_options=("--force-exclude",),
    fix_options=(("--fix",), ("--fix", "--unsafe-fixes")),
    no_suppressions=("--ignore-noqa",),
    exit_codes={0: CheckState.CLEAN, 1: CheckState.FINDINGS, 2: CheckState.BROKEN},
    streams=("stdout",),
    incomplete=(
        r"(?m)^(?:warning: No Python files found.*|(?:warning|error): (?:Failed to|Panicked|Encountered error).*)"
    ),
    # The ignore files hide a file from a whole run.
    config_files=("ruff.toml", ".ruff.toml", "pyproject.toml", ".gitignore", ".ignore"),
    config_section={"pyproject.toml": "tool.ruff"},
)

# Codes other than 0 and 1 have no known meaning here; what was parsed decides.
GENERIC = Tool(
    name="generic",
    exit_codes={0: CheckState.CLEAN, 1: CheckState.FINDINGS},
    incomplete=r"(?im)^.*\b(?:can't run|cannot run|(?:could not|failed to) (?:load|read|parse|analy[sz]e))\b.*",
)

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (RUFF, GENERIC)}


def recognise(argv: Sequence[str]) -> Tool:
    """The row whose command line this is; GENERIC for every other command."""
    for tool in TOOLS.values():
        if tool.program and tool._split(argv) is not None:
            return tool
    return GENERIC
