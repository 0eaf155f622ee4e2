"""Which sweeps a repository suggests: a linter, the folder that it runs in, and its check."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sweeper.backlog.tools import recognise
from sweeper.backlog.tools.commandline import unwrap
from sweeper.starter.declared import declaring, depending
from sweeper.starter.invocations import Invocation
from sweeper.starter.project import Project, depth, joined
from sweeper.starter.sign import Sign
from sweeper.starter.signs import SIGNS

# Linters that expand patterns by themselves; what a shell would have expanded for another one can't be kept.
GLOBBING = frozenset({"eslint", "stylelint", "markdownlint"})


@dataclass(frozen=True, slots=True)
class Found:
    """One suggested sweep. `root`: the folder that it runs in. `configured`: the repository has a configuration for
    the tool, or uses it. `evidence`: the path that says so, or one file that the tool would check; `files`: how many
    files it would check. `own`: the project's own invocation that the check was made from."""

    tool: str
    check: str
    root: str
    configured: bool
    evidence: str
    files: int
    own: Invocation | None = None


def linters(project: Project, used: Sequence[Invocation]) -> list[tuple[Sign, Found]]:
    """Suggestions in an order that makes sense to drain them in: fixers first, type checkers last."""
    found = [(sign, one) for sign in SIGNS for one in _look(sign, project, used)]
    kinds = {sign.kind for sign, one in found if one.configured and sign.kind}
    return [(sign, one) for sign, one in found if one.configured or sign.kind not in kinds]


def _look(sign: Sign, project: Project, used: Sequence[Invocation]) -> Iterable[Found]:
    """Nothing where there is nothing to check, or nothing says that it should be."""
    sources = [path for path in project.paths if path.startswith(sign.under) and _is_source(path, sign.sources)]
    if not sources:
        return
    mine = [invocation for invocation in used if invocation.tool == sign.tool]
    evidence = _evidence(sign, project, mine)
    if not evidence and not sign.alone:
        return
    for root in _roots(sign, project, evidence, sources):
        start = "" if root == "." else f"{root}/"
        files = [path for path in sources if path.startswith(start)]
        if not files:
            continue
        check, own = _check(sign, project, root, mine)
        here = [path for path in evidence if path.startswith(start)] or evidence
        because = min(here, key=depth) if here else files[0]
        yield Found(sign.tool, check, root, bool(evidence), because, len(files), own)


def _evidence(sign: Sign, project: Project, mine: Sequence[Invocation]) -> list[str]:
    """Paths that speak for the tool: its configuration, else what depends on it or starts it."""
    configured = [
        *project.named(*sign.config),
        *(
            path
            for name, pattern in sign.tables
            for path in project.named(name)
            if re.search(pattern, project.text(path))
        ),
    ]
    if configured or sign.must_be_configured:
        return configured
    package = sign.install.partition(" ")[2]
    depends = [*depending(project, sign.packages)]
    if sign.install.startswith("pip "):
        depends += declaring(project, package)
    return [*depends, *(invocation.source for invocation in mine)]


def _roots(sign: Sign, project: Project, evidence: Sequence[str], sources: Sequence[str]) -> list[str]:
    """The folders to run in: those of its anchors, else the outermost that have a configuration of their own."""
    if sign.anchors:
        folders = [_folder(path) for path in project.named(*sign.anchors)]
        # A Go module in another one is no part of it; a cargo workspace is checked as a whole.
        return folders if "go.mod" in sign.anchors else _outermost(folders)
    hidden = (".", ".github")  # CI and what is configured beside it speak for the whole repository
    folders = [folder if not folder.startswith(hidden) else "." for folder in map(_folder, evidence)]
    roots = _outermost(folders)
    everywhere = all(any(_within(path, root) for root in roots) for path in sources)
    return roots if roots and (everywhere or not sign.alone) else ["."]


def _outermost(folders: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for folder in sorted(set(folders), key=lambda folder: (folder != ".", folder.count("/"), folder)):
        if not any(_within(folder, root) for root in kept):
            kept.append(folder)
    return kept


def _check(sign: Sign, project: Project, root: str, mine: Sequence[Invocation]) -> tuple[str, Invocation | None]:
    """The check: the project's own if it has one that can be kept, else the suggested or the one its files ask for."""
    default = _default(sign, project, root)
    usable = [
        (recognise(one.words).alters(one.words), words, one)
        for one in mine
        if (one.folder == root or one.everywhere) and (words := _kept(one, sign, project, root, default)) is not None
    ]
    if not usable:
        return default, None
    _, words, own = min(usable, key=lambda each: each[0])
    tool = recognise(words)
    if tool.alters(words):
        words = tuple(tool.check(words))
    asked = recognise(shlex.split(default))
    if asked.name != tool.name and asked.name.startswith(tool.name):  # the configuration is of an older version
        words = (*words, *asked.machine_format)
    if words[0] == "cargo" and "--offline" not in words:
        words = (*words[:2], "--offline", *words[2:])
    return _line(words), own


def _line(words: Sequence[str]) -> str:
    """A command line; a script in it with the quotes that leave its own ones alone."""
    if len(words) == 3 and words[:2] == ("sh", "-c") and not set(words[2]) & set('"$`\\'):
        return f'sh -c "{words[2]}"'
    return shlex.join(words)


def _kept(invocation: Invocation, sign: Sign, project: Project, root: str, default: str) -> tuple[str, ...] | None:
    """The words of a project's own invocation as a check of the same folder; None if they can't be one."""
    words = invocation.words
    tool = recognise(words)
    named = tool.paths(words)
    for path in named:
        if any(character in path for character in "*?["):
            if sign.tool not in GLOBBING:
                return None
        elif path == "-" or not ("..." in path or project.exists(joined(root, path))):
            return None
    if named or (tool.whole_project and not invocation.everywhere):
        return words
    listed = unwrap(shlex.split(default))
    if listed.listed:
        return tuple(listed.around(words))
    return (*words, *tool.paths(shlex.split(default)))


def _default(sign: Sign, project: Project, root: str) -> str:
    if sign.tool == "tsc":
        return _typescript(sign.check, project.text(joined(root, "tsconfig.json")))
    for name, (pattern, check) in sign.variants:
        folder = project.nearest(root, name)
        if folder and re.search(pattern, project.text(joined(folder, name))):
            return check
    return sign.check


def _typescript(check: str, config: str) -> str:
    """A configuration that only refers to others checks nothing by itself."""
    refers = re.search(r'"references"\s*:\s*\[[^\]]*?"path"\s*:\s*"([^"]+)"', config)
    if refers and re.search(r'"files"\s*:\s*\[\s*\]', config):
        return f"{check} -p {shlex.quote(posixpath.normpath(refers[1]))}"
    return check


def _is_source(path: str, sources: tuple[str, ...]) -> bool:
    """`sources`: endings of paths; a "/" within one counts for files at the root too."""
    return any(path.endswith(end) or (end.startswith("/") and path == end[1:]) for end in sources)


def _within(path: str, folder: str) -> bool:
    return folder == "." or path == folder or path.startswith(f"{folder}/")


def _folder(path: str) -> str:
    return posixpath.dirname(path) or "."
