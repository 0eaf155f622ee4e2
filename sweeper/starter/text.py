"""The text of a first sweeper.toml. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sweeper.commands import argv
from sweeper.starter.suggest import Suggestion

HEAD = """\
# Sweeper drains the findings of a check, unit by unit, into a branch that is never worse than its base.
# `sweeper plan` shows what a run would do, `sweeper run` does it; with a sweep's name, for that sweep alone.
# Sweeps are drained in this order: what fixes itself first, type checkers last. Every key: docs/configuration.md.
#
# check      runs in a sandbox, without a shell and without a network
# toolchain  is the image for docker; with bubblewrap programs come from this machine
# setup      brings what they lack: at the top, with a network, once for the same lock files
# test       is run by the gate on every merged round: nothing that turns it red stays on the branch
# ladder     is what is tried, one rung a round; what the last one leaves is held for a person
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

_LIMITS = """\
# [limits]
# slots = 4              # agents at once
# units_per_fire = 100   # attempts that one run may start
# wall = "1h"            # nothing is started after so long

# [sandbox]
# backend = "auto"       # docker if it works, else bubblewrap; never without a sandbox
# memory = "2GiB"
"""


def configuration(suggestions: Sequence[Suggestion]) -> str:
    """A commented sweeper.toml for these suggestions."""
    sweeps = ["\n".join(_sweep(each)) + "\n" for each in suggestions]
    return "\n".join([HEAD, *(sweeps or [EXAMPLE]), _LIMITS])


def _sweep(each: Suggestion) -> Iterator[str]:
    files = "1 file" if each.files == 1 else f"{each.files:,} files"
    own = f"; the check as in {_quiet(each.source)}" if each.source else ""
    yield f"# {each.tool}: {files}, because of {_quiet(each.evidence)}{own}"
    yield f"[sweep.{each.name}]"
    yield f"check = {_value(each.check)}"
    if each.root != ".":
        yield f"root = {_value(each.root)}"
    yield f"toolchain = {_value(each.toolchain)}"
    if each.setup:
        yield f"setup = {_list(each.setup)}"
    if each.test:
        yield f"test = {_value(each.test)}"
    yield from _ladder(each)


def _ladder(each: Suggestion) -> Iterator[str]:
    for fixer in each.fixers:
        plain = " ".join(fixer)
        yield ""
        yield f"[[sweep.{each.name}.ladder]]"
        yield f"run = {_value(plain) if argv(plain) == fixer else _list(fixer)}"
    if each.agent:
        yield ""
        yield f"[[sweep.{each.name}.ladder]]"
        yield f"agent = {_value(each.agent)}"
    if not each.fixers and not each.agent:
        yield f"# {each.tool} has no fixer of its own: what it finds is held for a person. For rungs in"
        yield "# place of the next line there are commands of yours, and agents (docs/agents.md):"
        yield f'# [[sweep.{each.name}.ladder]]\n# agent = "claude"'
        yield "ladder = []"


def _value(text: str) -> str:
    """A TOML string; JSON's escapes are TOML's, but for the one that TOML asks for and JSON does not."""
    return json.dumps(text.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")


def _list(words: Sequence[str]) -> str:
    whole = f"[{', '.join(map(_value, words))}]"
    if len(whole) < 100 or len(words) == 1:
        return whole
    return "[\n" + "".join(f"  {_value(word)},\n" for word in words) + "]"


def _quiet(path: str) -> str:
    """A path within a comment: no control character ends it."""
    return _value(path)[1:-1]
