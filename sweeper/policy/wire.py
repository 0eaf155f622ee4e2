"""The policy as it is called in the limited child: values in, JSON-able rows out, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sweeper.policy.paths import Scope
from sweeper.policy.rules import Level, Verdict, Violation
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
    more: Mapping[str, Any],
) -> list[list[Any]]:
    """`judge` with the keywords `more`; its violations as [severity, rule, path, lines, detail]."""
    from sweeper.policy.judge import judge  # only the child loads the rules

    found = judge(changes, base, unit, scope, **more)
    return [
        [level.value, v.rule, v.path, list(v.lines), v.detail]
        for level, violations in ((Level.REJECT, found.rejections), (Level.REVIEW, found.reviews))
        for v in violations
    ]


def warm() -> None:
    """Judge something small once, so that what the rules compile and import is there before the first fork.

    Of the grammars only Python's is loaded; another one is when its first file comes, in the worker.
    """
    from sweeper.policy.languages import LANGUAGES
    from sweeper.policy.lexical import patterns

    for language in LANGUAGES:
        patterns(language)
    change = Change("a.py", b"x = 1  # noqa\n")
    unit = Unit("", "", "a.py", ("a.py",), ())
    judge_rows([change], {"a.py": b"x = 1\n"}, unit, Scope(), {"out_of_scope": ("b.py",)})


def verdict_of(rows: Sequence[Sequence[Any]]) -> Verdict:
    """The inverse of `judge_rows`."""

    def of(level: Level) -> tuple[Violation, ...]:
        return tuple(
            Violation(rule, path, tuple(lines), detail) for kept, rule, path, lines, detail in rows if kept == level
        )

    return Verdict(of(Level.REJECT), of(Level.REVIEW))
