"""The policy as it is called in the limited child: values in, JSON-able rows out, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sweeper.policy.judge import judge
from sweeper.policy.paths import Scope
from sweeper.policy.rules import Verdict, Violation, verdict
from sweeper.records import Change, Unit


class Refusal(NamedTuple):
    """A write that the capture could not take, without the capture's own imports."""

    path: str
    reason: str


def judge_rows(
    changes: Sequence[Change],
    base: Mapping[str, bytes],
    unit: Unit,
    scope: Scope,
    refused: Sequence[Refusal],
    out_of_scope: Sequence[str],
    check_config_files: Sequence[str],
    secrets: Sequence[bytes],
) -> list[list[Any]]:
    """`judge`, with its violations as [rule, path, lines, detail]."""
    found = judge(
        changes,
        base,
        unit,
        scope,
        refused=refused,
        out_of_scope=out_of_scope,
        check_config_files=check_config_files,
        secrets=secrets,
    )
    return [[v.rule, v.path, list(v.lines), v.detail] for v in (*found.rejections, *found.reviews)]


def warm() -> None:
    """Judge something small once, so that what the rules compile and import is there before the first fork."""
    change = Change("a.py", b"x = 1  # noqa\n")
    unit = Unit("", "", "a.py", ("a.py",), ())
    judge_rows([change], {"a.py": b"x = 1\n"}, unit, Scope(), (), ("b.py",), (), ())


def verdict_of(rows: Sequence[Sequence[Any]]) -> Verdict:
    """The inverse of `judge_rows`."""
    return verdict(Violation(rule, path, tuple(lines), detail) for rule, path, lines, detail in rows)
