"""The policy of one captured change: bytes in, a verdict out.

`judge` is the one function: what was changed, what it was before, what was asked for and how it is checked go in,
the broken rules come out, those that reject and those that a person should look at. It is pure and never raises on
any content; in production it runs in the resource-limited child (`wire.judge_rows`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from sweeper.policy.assertions import assertion_rules
from sweeper.policy.beside import beside_rules
from sweeper.policy.content import secret_rules, text_rules
from sweeper.policy.disguise import disguise_rules
from sweeper.policy.documents import document_rules
from sweeper.policy.evaded import evaded_rules
from sweeper.policy.explain import Explained
from sweeper.policy.forged import forged_rules
from sweeper.policy.leftovers import broken_rules, leftover_rules, size_rules
from sweeper.policy.lexical import lexical_rules
from sweeper.policy.moved import moved_rules
from sweeper.policy.paths import Scope, denied, is_baseline, is_check_config
from sweeper.policy.pieces import Pieces
from sweeper.policy.rules import RULES, Level, Verdict, Violation, verdict
from sweeper.policy.sections import checks_changed, section_reader
from sweeper.policy.structure import structure_rules
from sweeper.policy.styles import style_rules
from sweeper.policy.suppressions import added
from sweeper.policy.terms import term_rules
from sweeper.policy.version import Pair, Version
from sweeper.records import Change, Unit

REGULAR, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000
CODE_RULES = (
    structure_rules, beside_rules, term_rules, assertion_rules, lexical_rules, moved_rules, leftover_rules,
    document_rules, style_rules, disguise_rules, evaded_rules, broken_rules, size_rules,
)  # fmt: skip


class Refused(Protocol):
    """A write that the capture could not take; `path` is "" for the layer as a whole."""

    @property
    def path(self) -> str: ...

    @property
    def reason(self) -> str: ...


def judge(
    changes: Sequence[Change],
    base: Mapping[str, bytes],
    unit: Unit,
    scope: Scope,
    *,
    refused: Sequence[Refused] = (),
    out_of_scope: Sequence[str] = (),
    check_config_files: Sequence[str] = (),
    secrets: Sequence[bytes] = (),
    command: Sequence[str] = (),
    context: Mapping[str, bytes] | None = None,
    root: str = ".",
    base_modes: Mapping[str, int] | None = None,
    severities: Mapping[str, Level] | None = None,
) -> Verdict:
    """All rules over all changes.

    `changes`: whole new contents, None for a deletion. `base`: content of the changed paths on the base; a path
    without is new. `unit`: its findings are what the change was asked to fix, and what explains a removal.
    `out_of_scope`: other paths that were written. `check_config_files`: file names or globs that the check's tool
    reads. `command`: the words of the check, then of the test, in folder `root`. `context`: the base's files that
    configure them, by path: a changed file that one of them loads is for a person to see. `base_modes`: git's modes
    on the base, where they are known. `severities`: rule -> severity in place of its own. Never raises on any content.
    """
    found: list[Violation] = [_refused(entry) for entry in refused]
    in_scope = scope.matcher(unit)
    rules = unit.rules
    for path in out_of_scope:
        found.append(_outside(path, scope, check_config_files))
        found += secret_rules(path, None, b"", secrets)
    for change in changes:
        path, before = change.path, base.get(change.path)
        if not in_scope(path.encode("utf-8", "surrogateescape")):
            found.append(_outside(path, scope, check_config_files))
        found += _path_rules(change, before, unit, check_config_files, base_modes)
        if before != change.data:
            found += _forged(path, before is None, check_config_files, command, context or {}, root)
        found += secret_rules(path, before, change.data or b"", secrets)
        if change.data is not None and change.mode in (REGULAR, EXECUTABLE):
            if change.data.strip() or not Explained.of(unit.findings, path).all_dead(before or b""):
                found += text_rules(path, before, change.data, rules)
            if b"\0" not in change.data and before != change.data and change.data.strip():
                found += _code_rules(path, before or b"", change.data, unit)
    # `allow` speaks of paths: it never lifts a suppression inside of a file
    kept = [v for v in found if not (RULES[v.rule].allow and v.path and scope.allows(v.path))]
    return verdict(dict.fromkeys(kept), severities)


def _forged(
    path: str,
    new: bool,
    check_config_files: Sequence[str],
    command: Sequence[str],
    context: Mapping[str, bytes],
    root: str,
) -> Iterator[Violation]:
    if not is_check_config(path, check_config_files) and section_reader(path) is None and not is_baseline(path):
        yield from forged_rules(path, new, command, context, root)


def _code_rules(path: str, before: bytes, after: bytes, unit: Unit) -> Iterator[Violation]:
    pieces: Pieces = {}
    pair = Pair(Version(path, before, pieces), Version(path, after, pieces), Explained.of(unit.findings, path))
    yield from _suppressions(pair)
    for rules in CODE_RULES:
        yield from rules(pair)


def _refused(entry: Refused) -> Violation:
    words = {"link": "link", "device": "special", "submodule": "special"}
    rule = next((rule for word, rule in words.items() if word in entry.reason), "unreadable")
    return Violation(rule, entry.path or "(the whole layer)", detail=entry.reason)


def _outside(path: str, scope: Scope, check_config_files: Sequence[str]) -> Violation:
    if scope.allows(path):  # lifts what a path means, not where it lies
        return Violation("scope", path)
    if denied(path):
        return Violation("denied_path", path)
    if is_baseline(path):
        return Violation("suppression", path, detail="a file of suppressions")
    if section_reader(path) is None and is_check_config(path, check_config_files):
        return Violation("check_config", path)
    return Violation("scope", path)


def _path_rules(
    change: Change,
    before: bytes | None,
    unit: Unit,
    check_config_files: Sequence[str],
    base_modes: Mapping[str, int] | None,
) -> Iterator[Violation]:
    path, after = change.path, change.data
    if denied(path):
        yield Violation("denied_path", path)
    if is_baseline(path):
        yield Violation("suppression", path, detail="a file of suppressions")
    elif (read := section_reader(path)) is not None:
        if checks_changed(read, before, after):
            yield Violation("check_config", path, detail="the part that configures a check")
    elif is_check_config(path, check_config_files):
        yield Violation("check_config", path)
    if after is None:
        yield Violation("deleted", path)
    elif change.mode == LINK:
        yield Violation("link", path)
    elif change.mode not in (REGULAR, EXECUTABLE):
        yield Violation("special", path, detail=f"mode {change.mode:o}")
    elif change.mode == EXECUTABLE and before is None:
        yield Violation("mode", path, detail="a new file is never executable")
    elif (
        before is not None
        and base_modes is not None
        and base_modes.get(path, REGULAR) != change.mode
        and not (change.mode == EXECUTABLE and _asked_to_run(change, unit))
    ):
        yield Violation("mode", path, detail=f"{base_modes.get(path, REGULAR):o} became {change.mode:o}")


def _asked_to_run(change: Change, unit: Unit) -> bool:
    """Whether a finding says of a script with a shebang that it should be executable."""
    return (change.data or b"").startswith(b"#!") and any(
        finding.path == change.path and re.search(r"\bEXE001\b|not executable", f"{finding.rule} {finding.message}")
        for finding in unit.findings
    )


def _suppressions(pair: Pair) -> Iterator[Violation]:
    by_kind: dict[str, list[int]] = {}
    for line, what in added(pair.path, pair.before.data, pair.after.data, (pair.before.source, pair.after.source)):
        by_kind.setdefault(what, []).append(line)
    for what, lines in by_kind.items():
        yield Violation("suppression", pair.path, tuple(line for line in lines if line), what)
