"""The text of a first sweeper.toml. Pure."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence

from sweeper.backlog import detect
from sweeper.backlog.detect import Found
from sweeper.backlog.tools import recognise
from sweeper.commands import argv
from sweeper.records import Listing

# Base names of the files that `detect` reads, and of pytest's configuration.
READ = frozenset({b"pyproject.toml", b"pytest.ini", b"tox.ini", b"setup.cfg"} | {os.fsencode(n) for n in detect.READ})
PYTEST = re.compile(rb"(?m)^[ \t]*\[(tool\.pytest[\w.]*|pytest|tool:pytest)\]")
TEST_FILE = re.compile(rb"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")

HEAD = """\
# Sweeper drains the findings of a check, unit by unit, into a branch that is never worse than its base.
# `sweeper plan` shows what a run would do, `sweeper run` does it. Every key is in the README.
"""

EXAMPLE = """\
# No linter that is known by name fits this repository. Any command whose output is "file:line: message", SARIF
# or ruff's JSON can be swept; give it a ladder of commands that fix findings:
#
# [sweep.house-rules]
# check = "python tools/check_house_rules.py"
#
# [[sweep.house-rules.ladder]]
# run = "python tools/fix_house_rules.py {files}"
"""


def configuration(found: Sequence[Found], *, tests: str = "") -> str:
    """A commented sweeper.toml for these suggestions. `tests`: the command of the project's tests, "" if unknown."""
    parts = [HEAD, *[_sweep(each, tests) for each in found], _LIMITS]
    if not found:
        parts.insert(1, EXAMPLE)
    return "\n".join(parts)


def tests(listing: Listing, heads: Mapping[bytes, bytes]) -> str:
    """How the project's tests are run, as far as its files tell."""
    if any(PYTEST.search(data) for data in heads.values()):
        return "pytest -q"
    return "pytest -q" if any(TEST_FILE.search(path) for path in listing) else ""


def _sweep(found: Found, tests: str) -> str:
    """A sweep of a tool that has no fixer waits in a comment: without a ladder it would be no configuration."""
    command = argv(found.check)
    fixers = recognise(command).fixers(command)
    text = "\n".join(_lines(found, tests, fixers)) + "\n"
    if fixers:
        return text
    commented = "".join(f"# {line}\n" if line.strip() else "#\n" for line in text.splitlines())
    return f"# {found.tool} has no fixer of its own: give it a ladder and take the comment marks away.\n{commented}"


def _lines(found: Found, tests: str, fixers: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"[sweep.{found.tool}]", "# The check, at the repository's top; it runs in a sandbox, without a shell."]
    lines.append(f"check = {json.dumps(found.check)}")
    lines.append("# What becomes a unit: file, directory or rule.")
    lines.append('# partition = "file"')
    if tests:
        lines.append("# The gate runs it on every merged round: nothing that turns it red stays on the branch.")
        lines.append(f"test = {json.dumps(tests)}")
    else:
        lines.append("# Your tests: the gate runs them on every merged round.")
        lines.append('# test = "pytest -q"')
    lines.append("# What the check and the tests need beyond the tools themselves.")
    lines.append('# setup = ["pip install -r requirements.txt"]')
    lines.append("")
    lines.append("# The ladder: every unit starts on the first rung; what a rung leaves goes on to the next one.")
    for fixer in fixers:
        lines.append(f"[[sweep.{found.tool}.ladder]]")
        plain = " ".join(fixer)
        lines.append(f"run = {json.dumps(plain if argv(plain) == tuple(fixer) else fixer)}")
    if not fixers:
        lines.append(f"[[sweep.{found.tool}.ladder]]")
        lines.append('run = "your-fixer {files}"')
    return lines


_LIMITS = """\
# [limits]
# slots = 4              # agents at once
# units_per_fire = 100   # attempts that one run may start
# wall = "1h"            # nothing is started after so long

# [sandbox]
# backend = "auto"       # docker if it works, else bubblewrap; never without a sandbox
# memory = "2GiB"
"""
