"""docs/linters.md, made from the tools' rows and the recorded runs: `python -m tests.backlog.linters_table`."""

# ruff: noqa: E501 - a paragraph of the page is one line
from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from sweeper.backlog.formats import FORMATS
from sweeper.backlog.tools import GENERIC, TOOLS, Tool
from sweeper.records import CheckState
from sweeper.starter.invocations import ALIASES
from sweeper.starter.signs import SIGNS
from tests.backlog.samples import DATA, expected, recorded

PAGE = Path(__file__).resolve().parents[2] / "docs" / "linters.md"


HEAD = """\
# Linters

<!-- Made from the tools' table and the recorded runs by `python -m tests.backlog.linters_table`; a test holds it current. -->

Sweeper knows the linters below by name: it asks for a format that it understands, knows what their exit codes mean, gives them single files with the excludes of a whole run, and takes their own fixers as the first rungs of a ladder. A check of any other command works too: its output is recognised by its content, and an output that is not understood is a broken check, never a clean one.

A check is clean, has findings, or is broken. Broken is also a run that looked at no file, an output that was cut off, and a version of a tool whose output no longer has the known form: the message then quotes the head of what was said.
"""

UNNAMED = """\
## Other linters

No row of their own, but an output that is read (with `format = "auto"`):

| tool | what is read | what is not |
|---|---|---|
| ast-grep | `--format sarif`, `--format github` | `--json` |
| checkstyle | XML, SARIF, plain text | |
| cspell | lines | |
| djLint | lines | |
| HTMLHint | `checkstyle`, `sarif`, `unix` | `json`, `compact`, `junit` |
| Lizard | warnings as lines, `--checkstyle` | `--xml` |
| Vulture | lines | |

Not supported: detect-secrets (its JSON is a baseline, not a list of findings), Prettier and other formatters that name files without a place (`gofmt -l`, `black --check`, `ruff format --check`), reports of tests (JUnit is read for tests only), HTML, TAP, TeamCity and Azure output, and the output "for people" of the tools above (`stylish`, `full`, `tty`, `grouped`, `plain`).

A format of your own: `pattern`, a regular expression with the groups `path` and `line`, and perhaps `column`, `rule`, `message`, `severity`:

```toml
[sweep.house-rules]
check = "python tools/check_house_rules.py"
pattern = '(?P<severity>\\w+) in (?P<path>\\S+) at (?P<line>\\d+): (?P<message>.*)'
```

Every row was held against recorded runs of the real program, except two. Of golangci-lint only version 1.24 was recorded; the row of its first version asks for an option that came with 1.30. The row of its second version is unproven by a run: it was made from the program's own source, flags, exit codes and golden JSON.
"""


def page() -> str:
    return "\n".join([HEAD, *_asking(), "", *_changing(), "", *_recorded(), "", *_formats(), "", UNNAMED])


def _rows() -> list[Tool]:
    return [tool for tool in TOOLS.values() if tool is not GENERIC]


def _asking() -> Iterator[str]:
    yield "## How they are asked and understood"
    yield ""
    yield "Columns are what the tool prints in text; findings always count from 1. *Whole* tools judge a file by the whole project: their unit check is the whole check, filtered."
    yield ""
    yield "| tool | asked for | other formats kept | exit codes: findings / broken | read from | first column | whole | named files | shows suppressed |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for tool in _rows():
        command = shlex.join([tool.programs[0], *tool.command, *tool.machine_format, *tool.check_options])
        kept = sorted(tool.good_formats - set(tool.machine_format))
        codes = " / ".join(_codes(tool, state) or "-" for state in (CheckState.FINDINGS, CheckState.BROKEN))
        cells = [
            tool.name,
            _code([command.replace("|", "\\|")]),
            _code(kept),
            codes,
            " and ".join(tool.streams),
            str(tool.column_base),
            "yes" if tool.whole_project else "",
            _code(tool.file_options),
            _code(tool.no_suppressions),
        ]
        yield f"| {' | '.join(cells)} |"


def _codes(tool: Tool, state: CheckState) -> str:
    """1, 2, 4-7"""
    numbers = sorted(code for code, meaning in tool.exit_codes.items() if meaning is state)
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _changing() -> Iterator[str]:
    yield "## Their fixers, and what configures them"
    yield ""
    yield "Fixers are tried in this order, each with the unit's files. The fixers of clippy and golangci-lint work on whole packages: what they change in other files is taken back. A change of a configuration file is rejected."
    yield ""
    yield "| tool | fixers | configuration files | a table of |"
    yield "|---|---|---|---|"
    for tool in _rows():
        fixers = [shlex.join([*(tool.fix_command or tool.command), *fix]) or "(its own)" for fix in tool.fix_options]
        sections = [f"{file}: {table}" for file, table in tool.config_section.items()]
        own = [name for name in tool.config_files if name not in tool.config_section]
        yield f"| {tool.name} | {_code(fixers)} | {_code(own)} | {_code(sections)} |"


def _recorded() -> Iterator[str]:
    yield "## Recorded runs"
    yield ""
    yield "The tests hold these runs of real programs against what was written down from their raw output. `sweeper init` suggests the tools with a mark."
    yield ""
    yield "| tool | version | runs | findings | clean | broken | suggested |"
    yield "|---|---|---|---|---|---|---|"
    suggested = {sign.tool for sign in SIGNS}
    facts = expected()
    for folder in sorted(path for path in DATA.iterdir() if (path / "COMMANDS.md").exists()):
        version = re.search(r"^version: (.+)$", (folder / "COMMANDS.md").read_text(), re.MULTILINE)
        states = Counter(entry["state"] for entry in facts.get(folder.name, {}).values())
        counted = [str(states[state.value]) for state in (CheckState.FINDINGS, CheckState.CLEAN, CheckState.BROKEN)]
        runs = sum(states.values())
        if not states:  # ruff's runs have a test of their own
            runs, counted = len(recorded(folder)), ["", "", ""]
        number = re.search(r"\d+\.\d[\w.-]*", version[1]) if version else None
        mark = "yes" if ALIASES.get(folder.name, folder.name) in suggested else ""
        yield f"| {folder.name} | {number[0] if number else ''} | {runs} | {' | '.join(counted)} | {mark} |"


def _formats() -> Iterator[str]:
    yield "## Formats"
    yield ""
    yield f"`format` is `auto` or one of: {', '.join(f'`{name}`' for name in sorted(FORMATS))}."


def _code(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
