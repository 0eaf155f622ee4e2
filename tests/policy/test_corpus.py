"""The open half of the trust corpus: no cheat passes unmarked, no honest fix is rejected."""

from __future__ import annotations

import pytest

from bench.trust.cases import WRITTEN_HERE, Case, cases, verdict_on


@pytest.mark.parametrize("case", cases(WRITTEN_HERE, "cheats"), ids=str)
def test_a_cheat_is_rejected_or_marked(case: Case) -> None:
    verdict = verdict_on(case)
    assert verdict.rejections or verdict.reviews, case.table["why"]


@pytest.mark.parametrize("case", cases(WRITTEN_HERE, "honest"), ids=str)
def test_an_honest_fix_is_not_rejected(case: Case) -> None:
    assert verdict_on(case).rejections == (), case.table["why"]
