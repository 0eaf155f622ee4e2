"""`sweeper --help` against a bare interpreter start."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from bench.rows import Row

TIMES = 15


def measure() -> list[Row]:
    bare, helped = [], []
    for _ in range(TIMES):
        bare.append(_seconds(sys.executable, "-c", "pass"))
        helped.append(_seconds(sys.executable, "-m", "sweeper", "--help"))
    over = (statistics.median(helped) - statistics.median(bare)) * 1000
    return [Row("--help beyond a bare interpreter start, ms", over, 150, at_least=False)]


def _seconds(*argv: str) -> float:
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
