"""Reserve before a call, settle after it: the micro-dollars of a fire. Pure.

What is reserved counts as spent until it is settled, so that N calls at once can never pass a limit together.
Dollars are micro-dollars (int): sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sweeper.config.models import LimitsConfig
from sweeper.records import Usage

MICRO = 1_000_000


class Reservation(NamedTuple):
    """What a call may spend; handed back to `settle`, once."""

    number: int
    micro_usd: int


@dataclass(slots=True)
class Budget:
    """The money of one fire. `spent_today`: micro-dollars of earlier fires of this day."""

    limits: LimitsConfig
    spent_today: int = 0
    spent: int = 0
    _open: dict[int, int] = field(default_factory=dict)
    _number: int = 0

    @property
    def reserved(self) -> int:
        """Micro-dollars reserved and not yet settled."""
        return sum(self._open.values())

    @property
    def room(self) -> tuple[str, int]:
        """The tightest limit, by its dotted name, and the micro-dollars that it leaves (below 0 once it is passed)."""
        taken = self.spent + self.reserved
        fire = round(self.limits.usd_per_fire * MICRO) - taken
        day = round(self.limits.usd_per_day * MICRO) - taken - self.spent_today
        return ("limits.usd_per_fire", fire) if fire <= day else ("limits.usd_per_day", day)

    def reserve(self, micro_usd: int) -> Reservation | None:
        """Room for at most `micro_usd`, None where the tightest limit leaves less. Raises ValueError below 0."""
        if micro_usd < 0:
            raise ValueError(f"cannot reserve {micro_usd} micro-dollars")
        if micro_usd and micro_usd > self.room[1]:
            return None
        self._number += 1
        self._open[self._number] = micro_usd
        return Reservation(self._number, micro_usd)

    def settle(self, reservation: Reservation, usage: Usage) -> None:
        """Replace a reservation by what was spent.

        Spending beyond the reservation is counted in full: the next reservation then finds less room. Raises
        KeyError for a reservation that was settled before.
        """
        del self._open[reservation.number]
        self.spent += usage.micro_usd
