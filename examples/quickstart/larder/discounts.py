"""Discounts: rules that are tried in order; the best one counts."""

from abc import ABC, abstractmethod
from typing import List, Optional, Sequence
import math

from larder.money import Money
from larder.orders import Order


class Rule(ABC):
    """One way to get something cheaper."""

    @abstractmethod
    def percent(self, order: Order) -> int:
        """Percent off for this order; 0 where the rule does not apply."""


class Volume(Rule):
    def __init__(self, pieces: int, percent: int) -> None:
        self._pieces = pieces
        self._percent = percent

    def percent(self, order: Order) -> int:
        if sum([line.pieces for line in order.lines]) >= self._pieces:
            return self._percent
        else:
            return 0


class Loyal(Rule):
    def __init__(self, customers: Sequence[str], percent: int) -> None:
        self._customers = set([name.lower() for name in customers])
        self._percent = percent

    def percent(self, order: Order) -> int:
        return self._percent if order.customer.lower() in self._customers else 0


def best(rules: List[Rule], order: Order) -> int:
    """The highest percentage that any rule gives."""
    return max([rule.percent(order) for rule in rules], default=0)


def apply(price: Money, percent: int) -> Money:
    """The price after the discount, rounded down to whole cents."""
    if not percent:
        return price
    if percent < 0 or percent > 100:
        raise ValueError("a discount is between 0 and 100 percent, not {}".format(percent))
    rest = price.cents * (100 - percent) // 100
    rounded = math.floor(rest)
    return Money(rest, price.currency)
