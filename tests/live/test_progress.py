from __future__ import annotations

import pytest

from sweeper.progress import Progress


def told(*seconds: float) -> list[str]:
    """What is said of runs that take so long, one after the other."""
    said: list[str] = []
    times = iter([at for taken in seconds for at in (0.0, taken)])
    progress = Progress(said.append, lambda: next(times))
    for number in range(len(seconds)):
        with progress.of(f"run {number}"):
            pass
    return said


def test_a_long_run_is_told_when_it_begins_and_when_it_ends() -> None:
    assert told(240, 7) == ["run 0 ...", "run 0: 240.0 s", "run 1 ...", "run 1: 7.0 s"]


def test_short_runs_flood_nobody() -> None:
    assert told(*[1] * 50) == ["run 0 ...", "run 0: 1.0 s"]
    assert told(1, 1, 90, 1) == ["run 0 ...", "run 0: 1.0 s", "run 2: 90.0 s", "run 3 ...", "run 3: 1.0 s"]


def test_what_fails_has_no_end() -> None:
    said: list[str] = []
    with pytest.raises(OSError, match="gone"), Progress(said.append).of("run"):
        raise OSError("gone")
    assert said == ["run ..."]
