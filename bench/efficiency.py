"""Nominal agent time against the wall time of the whole `sweeper run`, verification included."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.projects import configuration, scripted, sweeper, unused_imports
from bench.rows import Row
from bench.sandboxes import backends

UNITS, SLOTS = 99, 5
CHECK = "ruff check --output-format json ."
TARGETS = {"bubblewrap": (0.85, 0.95), "docker": (0.55, 0.92)}


def measure() -> list[Row]:
    rows = []
    for backend in backends():
        three, one = TARGETS[backend]
        rounds = [[["sleep", "1"], step] for step in ("fix_some", "fix_some", "fix")]
        rows.append(_row(backend, "3 rounds of 1 s", rounds, 3 * 1.0, three))
        rows.append(_row(backend, "1 round of 10 s", [[["sleep", "10"], "fix"]], 10.0, one))
    return rows


def _row(backend: str, what: str, steps: Sequence[Sequence[object]], seconds_a_unit: float, target: float) -> Row:
    with tempfile.TemporaryDirectory(prefix="sweeper-bench-") as name:
        folder = Path(name)
        unused_imports(folder, UNITS)
        configuration(folder, slots=SLOTS, ladder=scripted(*steps), check=CHECK)
        began = time.monotonic()
        sweeper(folder, "run", "--sandbox", backend, codes=(0,))
        wall = time.monotonic() - began
        nominal = UNITS * seconds_a_unit / SLOTS
        return Row(f"efficiency, {backend}, {what}", nominal / wall, target, detail=f"{nominal:.1f} s in {wall:.1f} s")
