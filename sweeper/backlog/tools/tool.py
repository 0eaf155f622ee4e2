"""One linter as a row of data, and the few rewritings of a command line that serve all rows."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sweeper.backlog.parsed import How
from sweeper.backlog.tools.commandline import program_at, unwrap
from sweeper.records import CheckState

FILES = "{files}"
# How most tools say that no file was looked at.
NOTHING = (
    r"(?im)^.*\b(?:no (?:[\w.-]+ ){0,3}(?:files?|sources?|inputs?)(?: \w+){0,2} "
    r"(?:found|matched|matching|processed|given|specified)|no files? to (?:check|lint)|matched no packages|"
    r"no packages to vet|no (?:[\w.-]+ )?files matching|no go files to analy[sz]e)\b.*"
)
# A fixer that cannot be told files is run on everything; what it did elsewhere is taken back.
KEEP_FILES_ONLY = (
    '{fix}; n=$#; for f; do set -- "$@" ":(exclude,literal)$f"; done; shift "$n"; git checkout -q -- . "$@"'
)


@dataclass(frozen=True, slots=True)
class Tool:
    """How one linter is started, asked and understood.

    `programs` and `command`: `ruff` and `check` in `ruff check`; `needs`: an option that this row is for.
    `value_options` take the next word; `short` gives the long name of a short option. `dropped` maps options
    that would make a check change files, hide findings or print something else to the number of values they take.
    `machine_format`: the option, and its value if it takes one, that asks for the best format, and `format` its
    name; `good_formats`: values of that option that are parsed as well. `check_options` go into every
    check, `file_options` into every run on named files (the same excludes as a whole run). `fix_options`: one list
    a fixer, the safe one first; `fix_command` takes the place of `command` there, `fix_script` is a shell script around
    "{fix}" whose arguments are the files. `no_suppressions` shows what suppression comments hide.
    `whole_project`: its findings of one file depend on others, so only whole runs judge. `crosses`: files are judged
    alone, but some rules look further, so that a finding may go when another file changes. `passes_on`: what follows
    "--" is for another program. `booleans`: any option may be followed by "true" or "false".
    `exit_codes` gives the meaning of the codes; an unlisted code has none. With `partial` ones it did not look at
    everything. `streams`: where findings are printed. `column_base`: the number of the first column in text.
    `incomplete`: what the tool says when it did not look at everything, `nothing` when it looked at no file.
    `config_files`: names, at any depth, that change what the check reports; `config_section`: where only one table of
    such a file does.
    """

    name: str
    programs: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    needs: str = ""
    value_options: frozenset[str] = frozenset()
    short: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    machine_format: tuple[str, ...] = ()
    format: str = ""
    good_formats: frozenset[str] = frozenset()
    check_options: tuple[str, ...] = ()
    file_options: tuple[str, ...] = ()
    fix_options: tuple[tuple[str, ...], ...] = ()
    fix_command: tuple[str, ...] = ()
    fix_script: str = ""
    no_suppressions: tuple[str, ...] = ()
    whole_project: bool = False
    crosses: bool = False
    passes_on: bool = False
    booleans: bool = False
    exit_codes: Mapping[int, CheckState] = field(default_factory=dict)
    partial: frozenset[int] = frozenset()
    streams: tuple[str, ...] = ("stdout", "stderr")
    column_base: int = 1
    incomplete: str = ""
    nothing: str = NOTHING
    config_files: tuple[str, ...] = ()
    config_section: Mapping[str, str] = field(default_factory=dict)

    def how(self, format: str, pattern: str = "") -> How:
        """How its output is to be read, in the format that the user named."""
        return How(format, pattern, self.streams, self.incomplete, self.nothing, self.format)

    def recognises(self, argv: Sequence[str]) -> bool:
        return self._split(unwrap(argv).words) is not None

    def check(self, argv: Sequence[str]) -> list[str]:
        """The same check in a format that is understood, changing no file and hiding nothing by its exit code."""
        command = unwrap(argv)
        parts = self._split(command.words)
        if parts is None:
            return list(argv)
        return command.around([*parts.start, *self._asked(parts), *parts.paths])

    def unit_check(self, argv: Sequence[str]) -> list[str]:
        """The check on named files ("{files}") with the excludes of a whole run; [] if only a whole run judges."""
        parts = self._split(unwrap(argv).words)
        if parts is None or parts.reads_stdin or self.whole_project:
            return []
        return [*parts.start, *self._asked(parts), *_missing(parts.options, self.file_options), FILES]

    def without_suppressions(self, argv: Sequence[str]) -> list[str]:
        """The check, or unit check, that also reports what suppression comments hide; [] if there is no way."""
        command = unwrap(argv)
        parts = self._split(command.words)
        if parts is None or not self.no_suppressions:
            return []
        asked = [*parts.start, *self._asked(parts), *_missing(parts.options, self.no_suppressions), *parts.paths]
        return command.around(asked)

    def paths(self, argv: Sequence[str]) -> list[str]:
        """What a command line of this tool names to be checked; [] if nothing, or it is another program's."""
        parts = self._split(unwrap(argv).words)
        return parts.paths if parts is not None else []

    def alters(self, argv: Sequence[str]) -> bool:
        """Whether a command line asks to change files, to hide findings, or for something that no check can use."""
        names = [word.partition("=")[0] for word in unwrap(argv).words]
        return any(self.short.get(name, name) in self.dropped for name in names)

    def unsafe(self, argv: Sequence[str]) -> bool:
        """Does it ask for fixes that the tool itself does not call safe?"""
        daring = {word for options in self.fix_options[1:] for word in options} - set(*self.fix_options[:1])
        return not daring.isdisjoint(self.short.get(word, word) for word in argv)

    def fixers(self, argv: Sequence[str]) -> list[list[str]]:
        """The tool's own fixers for the findings of this check, safest first, each a template with "{files}"."""
        parts = self._split(unwrap(argv).words)
        if parts is None or parts.reads_stdin:
            return []
        options = self._without_format(parts.options)
        start = [*parts.start[: len(parts.start) - len(self.command)], *(self.fix_command or self.command)]
        check_only = {name for name in self.check_options if name.startswith("--no-fix")}
        kept = [word for word in options if word not in check_only]
        always = [word for word in self.check_options if word not in check_only and word not in kept]
        files = _missing(options, self.file_options)
        found = []
        for fix in self.fix_options:
            words = [*start, *kept, *always, *fix, *files]
            if self.fix_script:
                words += parts.paths if self.whole_project else []
                found.append(["sh", "-c", self.fix_script.replace("{fix}", shlex.join(words)), "sh", FILES])
            else:
                found.append([*words, FILES])
        return found

    def _without_format(self, options: list[str]) -> list[str]:
        option = self.machine_format[0] if self.machine_format else ""
        if len(self.machine_format) < 2:
            return [word for word in options if word != option]
        return _without(options, option)

    def _asked(self, parts: _Parts) -> list[str]:
        options = parts.options
        if len(self.machine_format) == 2:
            option = self.machine_format[0]
            given = [value for name, value in _values(options) if name == option]
            if not given or given[-1] not in {self.machine_format[1], *self.good_formats}:
                options = [*_without(options, option), *self.machine_format]
        else:
            options = [*options, *_missing(options, self.machine_format)]
        return [*options, *_missing(options, self.check_options)]

    def _split(self, argv: Sequence[str]) -> _Parts | None:
        """Program and command, options (normalised to "--name value"), paths; None if it is another program."""
        at = program_at(argv, self.programs) if self.programs else -1
        if at < 0:
            return None
        start = list(argv[:at])
        options: list[str] = []
        paths: list[str] = []
        command = list(self.command)
        words = deque(argv[at:])
        while words:
            word = words.popleft()
            if word == "--":
                rest = list(words)
                words.clear()
                paths.extend(["--", *rest] if self.passes_on else ["./" + p if p.startswith("-") else p for p in rest])
            elif word.startswith("-") and word != "-":
                options.extend(self._option(word, words))
            elif command and word == command[0]:
                start.append(command.pop(0))
            elif command and word.startswith("+"):  # cargo's toolchain
                start.append(word)
            elif command:
                return None
            else:
                paths.append(word)
        if command or (self.needs and self.needs not in options):
            return None
        return _Parts(start, options, paths)

    def _option(self, word: str, words: deque[str]) -> list[str]:
        """The option that `word` begins, with its values, taken from `words`; [] if it is dropped."""
        name, equals, value = word.partition("=")
        glued = word[:2]  # -fjson
        known = word in self.value_options or word in self.dropped or word.startswith("--") or equals
        if len(word) > 2 and not known and (glued in self.value_options or glued in self.short):
            name, equals, value = glued, "=", word[2:]
        name = self.short.get(name, name)
        takes = name in self.value_options
        if equals:
            values = [value]
        elif self.booleans and words and words[0] in ("true", "false"):
            values = [words.popleft()]
        else:
            values = [words.popleft() for _ in range(self.dropped.get(name, int(takes))) if words]
        if name in self.dropped:
            return []
        return [name, *values] if takes or not equals else [word]


@dataclass(frozen=True, slots=True)
class _Parts:
    start: list[str]
    options: list[str]
    paths: list[str]

    @property
    def reads_stdin(self) -> bool:
        return "-" in self.paths or "--stdin-filename" in self.options or "--stdin" in self.options


def _values(options: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, options[at + 1]) for at, name in enumerate(options[:-1]) if name.startswith("-")]


def _without(options: Sequence[str], option: str) -> list[str]:
    """Drop `option` and its value, if it has one."""
    return [
        word
        for at, word in enumerate(options)
        if word != option and not (at and options[at - 1] == option and not word.startswith("-"))
    ]


def _missing(options: Sequence[str], wanted: Sequence[str]) -> list[str]:
    return [word for word in wanted if word not in options]


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def dropped(alone: str, valued: str = "") -> dict[str, int]:
    """`dropped` of these options without, and with, a value."""
    return {**dict.fromkeys(alone.split(), 0), **dict.fromkeys(valued.split(), 1)}


def codes(findings: Sequence[int] = (1,), broken: Sequence[int] = ()) -> dict[int, CheckState]:
    """`exit_codes` by meaning; 0 is clean, which the content may contradict."""
    return {
        0: CheckState.CLEAN,
        **dict.fromkeys(findings, CheckState.FINDINGS),
        **dict.fromkeys(broken, CheckState.BROKEN),
    }
