"""Amounts in cents: no float ever touches a price."""

import re
from typing import List, Optional, Union
import decimal

PATTERN = re.compile(r"^(-?)(\d+)(?:[.,](\d{1,2}))?$")

Amount = Union[int, "Money"]


class Money(object):
    """An amount of one currency, in its smallest piece."""

    def __init__(self, cents: int, currency: str = "EUR") -> None:
        self.cents = cents
        self.currency = currency

    def __add__(self, other: "Money") -> "Money":
        if self.currency != other.currency:
            raise ValueError("cannot add {} to {}".format(other.currency, self.currency))
        return Money(self.cents + other.cents, self.currency)

    def __mul__(self, factor: int) -> "Money":
        return Money(self.cents * factor, self.currency)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Money):
            return (self.cents, self.currency) == (other.cents, other.currency)
        else:
            return False

    def __hash__(self) -> int:
        return hash((self.cents, self.currency))

    def __str__(self) -> str:
        return "%d.%02d %s" % (self.cents // 100, self.cents % 100, self.currency)


def parse(text: str, currency: Optional[str] = None) -> Money:
    """The amount that a person wrote: 12, 12.5 or 12,50."""
    found = PATTERN.match(text.strip())
    if found is None:
        raise ValueError("not an amount: {!r}".format(text))
    sign, whole, rest = found.groups()
    cents = int(whole) * 100 + int((rest or "0").ljust(2, "0"))
    return Money(-cents if sign else cents, currency or "EUR")


def total(amounts: List[Money]) -> Money:
    """The sum; nothing costs nothing."""
    result = Money(0)
    for amount in amounts:
        result = result + amount
    return result
