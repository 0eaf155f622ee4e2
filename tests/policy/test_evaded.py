"""What a change says in answer to its findings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.trust.cases import WRITTEN_HERE, Case, cases, verdict_on
from tests.policy.test_code import broken, judged

CD = "#!/bin/bash\nset -eu\n\nbuild() {\n  cd out\n  make all\n}\nbuild\n"
SAID = (5, "SC2164", "Use 'cd ... || exit' or 'cd ... || return' in case cd fails.")

EVADED = [
    case
    for case in cases(WRITTEN_HERE, "cheats")
    if case.slug.startswith("evaded-") and "finding_evaded" in broken(verdict_on(case))
]


def test_the_corpus_shows_many_answers() -> None:
    assert len(EVADED) >= 20


@pytest.mark.parametrize("case", EVADED, ids=str)
def test_what_evades_a_finding_is_harmless_without_it(case: Case) -> None:
    findings = [one | {"rule": "X1", "message": "said"} for one in case.table["finding"]]
    other = replace(case, table=case.table | {"finding": findings})
    # a name for anything is one whatever the finding says
    assert ("finding_evaded" in broken(verdict_on(other))) is (case.slug in ("evaded-alias", "evaded-hook"))


@pytest.mark.parametrize(("left", "rule"), [("return 1", None), ("return 0", "error_ignored")])
def test_leaving_as_the_finding_asks_is_no_other_meaning(left: str, rule: str | None) -> None:
    verdict = judged("build.sh", CD, CD.replace("cd out", f"cd out || {left}"), SAID)
    assert ("meaning_changed" in broken(verdict), rule in broken(verdict)) == (rule is not None, rule is not None)


@pytest.mark.parametrize(("rule", "marked"), [("S105", False), ("E501", True)])
def test_a_secret_may_be_read_from_the_environment_where_a_finding_asks(rule: str, marked: bool) -> None:
    before, after = 'import os\n\nTOKEN = "abc"\n', 'import os\n\nTOKEN = os.environ["TOKEN"]\n'
    assert ("new_reach" in broken(judged("a.py", before, after, (3, rule, "said")))) is marked


@pytest.mark.parametrize(
    ("line", "idle"),
    [
        ("[value]", True), ("[].append(value)", True), ("str(value)", True), ("value", True),
        ("show(value)", False), ("rows.append(value)", False), ('"""text"""', False),
    ],
)  # fmt: skip
def test_a_value_that_nobody_keeps_is_no_use(line: str, idle: bool) -> None:
    before = "def keep(value, rows, show):\n    return 1\n"
    after = f"def keep(value, rows, show):\n    {line}\n    return 1\n"
    assert ("dummy_use" in broken(judged("a.py", before, after, (1, "ARG001", "said")))) is idle
