"""Reserve before dispatch, settle after: units and micro-dollars of a fire. Pure.

What is reserved counts as spent until it is settled, so that N attempts at once can never pass a limit
together. Dollars are micro-dollars (int): sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sweeper.config.models import LimitsConfig, RungConfig
from sweeper.records import Usage

MICRO = 1_000_000


class Reservation(NamedTuple):
    """What an attempt may spend; handed back to `settle`, once."""

    number: int
    micro_usd: int


class Refusal(NamedTuple):
    """Which limit (its dotted name in the configuration) leaves no room, and how much was asked of what is left."""

    limit: str
    asked: int
    left: int

    def __str__(self) -> str:
        if "usd" in self.limit:
            return f"{self.limit}: ${self.asked / MICRO:.2f} asked, ${max(0, self.left) / MICRO:.2f} left"
        return f"{self.limit}: reached"


def price(rung: RungConfig, limits: LimitsConfig, *, paid: bool) -> int:
    """Micro-dollars to reserve for one attempt on `rung`: nothing if it calls no model, else its cap per candidate."""
    if not paid:
        return 0
    usd = limits.usd_per_attempt if rung.budget_usd is None else rung.budget_usd
    return round(usd * MICRO) * rung.candidates


@dataclass(slots=True)
class Budget:
    """The money and the units of one fire. `spent_today`: micro-dollars of earlier fires of this day."""

    limits: LimitsConfig
    spent_today: int = 0
    spent: int = 0
    units: int = 0
    _open: dict[int, int] = field(default_factory=dict)
    _number: int = 0

    @property
    def reserved(self) -> int:
        """Micro-dollars reserved and not yet settled."""
        return sum(self._open.values())

    @property
    def room(self) -> tuple[str, int]:
        """The tightest limit on money and the micro-dollars it leaves (below 0 once it is passed)."""
        taken = self.spent + self.reserved
        fire = round(self.limits.usd_per_fire * MICRO) - taken
        day = round(self.limits.usd_per_day * MICRO) - taken - self.spent_today
        return ("limits.usd_per_fire", fire) if fire <= day else ("limits.usd_per_day", day)

    def reserve(self, micro_usd: int = 0, *, units: int = 1) -> Reservation | Refusal:
        """Room for one attempt of at most `micro_usd`, or the first limit without any. Raises ValueError below 0.

        `units=0` reserves money alone: for one call of an attempt that counts already.
        """
        if micro_usd < 0:
            raise ValueError(f"cannot reserve {micro_usd} micro-dollars")
        most = self.limits.units_per_fire
        if most is not None and units and self.units + units > most:
            return Refusal("limits.units_per_fire", units, most - self.units)
        limit, left = self.room
        if micro_usd and micro_usd > left:
            return Refusal(limit, micro_usd, left)
        self._number += 1
        self.units += units
        self._open[self._number] = micro_usd
        return Reservation(self._number, micro_usd)

    def settle(self, reservation: Reservation, usage: Usage, *, charged: bool = True) -> None:
        """Replace a reservation by what was spent; with `charged` false the unit does not count (the money does).

        Spending beyond the reservation is counted in full: the next reservation then finds less room. Raises
        KeyError for a reservation that was settled before.
        """
        del self._open[reservation.number]
        self.spent += usage.micro_usd
        if not charged:
            self.units -= 1
