"""The policy of one captured change: bytes in, a verdict out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from sweeper.policy.content import secret_rules, text_rules
from sweeper.policy.paths import Scope, denied, is_baseline, is_check_config
from sweeper.policy.rules import RULES, Verdict, Violation, verdict
from sweeper.policy.sections import checks_changed, section_reader
from sweeper.policy.suppressions import added
from sweeper.records import Change, Unit

REGULAR, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000


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
) -> Verdict:
    """All rules over all changes.

    `base`: content of the changed paths on the base; a path without is new. `out_of_scope`: other paths that were
    written. `check_config_files`: file names or globs that the check's tool reads. Never raises on any content.
    """
    found: list[Violation] = [_refused(entry) for entry in refused]
    in_scope = scope.matcher(unit)
    rules = unit.rules
    for path in out_of_scope:
        found.append(_outside(path, scope, check_config_files))
        found += secret_rules(path, None, b"", secrets)
    for change in changes:
        before = base.get(change.path)
        if not in_scope(change.path.encode("utf-8", "surrogateescape")):
            found.append(_outside(change.path, scope, check_config_files))
        found += _path_rules(change, before, check_config_files)
        found += secret_rules(change.path, before, change.data or b"", secrets)
        if change.data is not None and change.mode in (REGULAR, EXECUTABLE):
            found += text_rules(change.path, before, change.data, rules)
            found += _suppressions(change.path, before or b"", change.data)
    # `allow` speaks of paths: it never lifts a suppression inside of a file
    kept = [v for v in found if not (RULES[v.rule].allow and v.path and scope.allows(v.path))]
    return verdict(dict.fromkeys(kept))


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


def _path_rules(change: Change, before: bytes | None, check_config_files: Sequence[str]) -> Iterator[Violation]:
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


def _suppressions(path: str, before: bytes, after: bytes) -> Iterator[Violation]:
    by_kind: dict[str, list[int]] = {}
    for line, what in added(path, before, after):
        by_kind.setdefault(what, []).append(line)
    for what, lines in by_kind.items():
        yield Violation("suppression", path, tuple(line for line in lines if line), what)
