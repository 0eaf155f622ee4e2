"""Templates -> prompt file. Findings and file names are fenced data; a prompt speaks of its unit only.

Templates are Jinja2 files of `prompts/` (a user's folder overrides by name), rendered in Jinja's sandbox with
undefined names as errors. Everything that comes from the repository is inside one JSON block whose backticks
are escaped, so that no message and no file name can end the fence.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper.data import data_folder
from sweeper.errors import ConfigError
from sweeper.records import Finding, Outcome

if TYPE_CHECKING:
    from jinja2 import Template

MAX_LINES = 20  # the last ones: what failed stands at a log's end
AROUND = 25  # lines of code before and after a finding
EXCERPT_BYTES = 12_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file from `line` (1-based) on."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Briefing:
    """What a prompt may speak of. `files` and findings' paths are relative to the agent's working folder.

    `scope`: globs that may be changed beside them. `code`: what stands around the findings. `lines`: first and last
    line with a finding, where others of the same file are another unit's; None elsewhere.
    """

    title: str
    number: int
    files: tuple[str, ...]
    findings: tuple[Finding, ...]
    check: tuple[str, ...]
    scope: tuple[str, ...] = ()
    earlier: Sequence[Outcome] = ()
    code: tuple[Excerpt, ...] = ()
    lines: tuple[int, int] | None = None


def render(name: str, briefing: Briefing, folder: Path | None = None) -> bytes:
    """The prompt file's bytes (UTF-8). Raises ConfigError for an unknown or broken template."""
    from jinja2 import TemplateError

    try:
        text = _template(name, folder).render(
            data=_data(briefing),
            check=" ".join(briefing.check),
            number=briefing.number,
            scope=_fenced(list(briefing.scope)),
            has_scope=bool(briefing.scope),
            code=_fenced([{"file": each.path, "line": each.line, "text": each.text} for each in briefing.code]),
            earlier=[_earlier(outcome) for outcome in briefing.earlier],
            lines=briefing.lines,
        )
    except TemplateError as error:
        raise ConfigError(f"prompt {name!r} can't be rendered: {error}") from error
    return text.encode("utf-8", "backslashreplace")


@cache
def _template(name: str, folder: Path | None) -> Template:
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    folders = find(name, folder)
    environment = SandboxedEnvironment(
        loader=FileSystemLoader(folders), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(f"{name}.md.j2")


def find(name: str, folder: Path | None) -> list[str]:
    """The folders of templates, one of which has this one. Raises ConfigError if none has."""
    folders = [place for place in (folder, data_folder("prompts")) if place]
    leaves = Path(name).is_absolute() or ".." in Path(name).parts
    if leaves or not any((place / f"{name}.md.j2").is_file() for place in folders):
        where = ", ".join(map(str, folders))
        raise ConfigError(f"no prompt named {name!r}", hint=f"looked for {name}.md.j2 in {where}")
    return [str(place) for place in folders]


def _data(briefing: Briefing) -> str:
    value = {
        "unit": briefing.title,
        "attempt": briefing.number,
        "files": list(briefing.files),
        **({"lines": list(briefing.lines)} if briefing.lines else {}),
        "findings": [
            {"file": f.path, "line": f.line, "column": f.column, "rule": f.rule, "message": f.message}
            for f in briefing.findings
        ],
    }
    return _fenced(value)


def _fenced(value: object) -> str:
    # one line per finding reads well and stays small; a backtick could end the fence
    return json.dumps(value, indent=1, ensure_ascii=True).replace("`", "\\u0060")


def excerpts(path: str, data: bytes, lines: Sequence[int]) -> list[Excerpt]:
    """The text around these lines (1-based; 0: no line), neighbours joined, at most EXCERPT_BYTES of a file."""
    text = data.decode("utf-8", "replace").splitlines()
    wanted = sorted({at for line in lines for at in range(line - AROUND, line + AROUND + 1) if 1 <= at <= len(text)})
    found: list[Excerpt] = []
    left = EXCERPT_BYTES
    while wanted and left > 0:
        first = last = wanted.pop(0)
        while wanted and wanted[0] == last + 1:
            last = wanted.pop(0)
        part = "\n".join(text[first - 1 : last])[:left]
        left -= len(part)
        found.append(Excerpt(path, first, part))
    return found


def _earlier(outcome: Outcome) -> dict[str, object]:
    return {
        "kind": str(outcome.kind),
        "reason": outcome.evidence.reason,
        "before": outcome.evidence.before,
        "after": outcome.evidence.after,
        "command": " ".join(outcome.evidence.command),
        "lines": [json.dumps(line).replace("`", "\\u0060") for line in outcome.evidence.lines[-MAX_LINES:]],
    }
