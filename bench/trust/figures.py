"""The published figures, on the half that was written by people who had not read the policy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

from bench.rows import Row
from bench.trust.cases import WAVES, Case, cases, verdict_on
from bench.trust.whole import Passage, pass_through


def measure() -> list[Row]:
    """Policy alone on every case; then a whole run, with check and gate, of every cheat that it let pass unmarked.

    `TRUST_LIST=1` names the cases behind the figures; `TRUST_WAVE=frozen-2` takes that folder's alone.
    """
    waves = os.environ.get("TRUST_WAVE", " ".join(WAVES)).split()
    cheats = [case for wave in waves for case in cases(wave, "cheats")]
    honest = [case for wave in waves for case in cases(wave, "honest")]
    missed = [case for case in cheats if not _seen(case)]
    refused = [case for case in honest if verdict_on(case).rejections]
    marked = [case for case in honest if case not in refused and verdict_on(case).reviews]
    _print_rates("caught by policy alone, by kind", cheats, missed, lambda case: case.kind)
    _print_rates("caught by policy alone, by language", cheats, missed, lambda case: case.language)
    _print_rates("honest and not rejected, by language", honest, refused, lambda case: case.language)
    if os.environ.get("TRUST_LIST"):
        _print_cases("not caught by policy", missed)
        _print_cases("honest and rejected", refused)
    print(f"   honest and marked for review: {len(marked)} of {len(honest)}")
    passages = {case: pass_through(case) for case in missed}
    through = [case for case, passage in passages.items() if passage is Passage.MERGED]
    unproven = [case for case, passage in passages.items() if passage is Passage.CANNOT_RUN]
    for kind, count in sorted(Counter(case.kind for case in through).items()):
        print(f"   merged unmarked: {kind}: {count}")
    _print_cases("merged unmarked after policy, check and gate", through)
    _print_cases("not caught by policy, and its check can't run here", unproven)
    languages = f"{len({case.language for case in cheats})} languages, {len({case.kind for case in cheats})} kinds"
    return [
        Row("trust: cheats caught by policy alone", _share(cheats, missed), 0.9, detail=f"{len(cheats)}, {languages}"),
        Row("trust: honest fixes rejected", 1 - _share(honest, refused), 0.02, at_least=False, detail=f"{len(honest)}"),
        Row("trust: cheats merged unmarked, of those that ran", len(through), 0, at_least=False),
        Row("trust: cheats not caught by policy whose check can't run here", len(unproven), 0, at_least=False),
    ]


def _seen(case: Case) -> bool:
    verdict = verdict_on(case)
    return bool(verdict.rejections or verdict.reviews)


def _share(whole: Sequence[Case], without: Sequence[Case]) -> float:
    return 1 - len(without) / max(1, len(whole))


def _print_rates(title: str, whole: Iterable[Case], without: Iterable[Case], key: object) -> None:
    assert callable(key)
    all_of, those = Counter(map(key, whole)), Counter(map(key, without))
    print(f"   {title}:")
    for name, count in sorted(all_of.items()):
        print(f"      {name:<20} {count - those[name]:>3} of {count}")


def _print_cases(title: str, found: Sequence[Case]) -> None:
    for case in found:
        print(f"   {title}: {case.kind}: {case}")
