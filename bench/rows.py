"""One measured figure against its target."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Row:
    """`value` against `target`; `at_least` says which side is good. `detail`: what went into it."""

    name: str
    value: float
    target: float
    at_least: bool = True
    detail: str = ""

    @property
    def met(self) -> bool:
        return self.value >= self.target if self.at_least else self.value <= self.target

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        word = "met" if self.met else "MISSED"
        return f"{self.name:<58} {self.value:>9.3f}  {sign} {self.target:<8g} {word:<7} {self.detail}"


def keep(name: str, rows: list[Row]) -> None:
    """Store one measurement's rows beside the code (git-ignored)."""
    RESULTS.mkdir(exist_ok=True)
    value = {"machine": platform.platform(), "rows": [asdict(row) | {"met": row.met} for row in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n")
