"""Tax by country; rates are whole percents."""

from typing import Dict

from larder.money import Money

RATES: Dict[str, int] = dict(AT=20, CZ=21, DE=19, FR=20, IT=22, PL=23)
REDUCED: Dict[str, int] = dict([("AT", 10), ("CZ", 12), ("DE", 7), ("FR", 5), ("IT", 10), ("PL", 8)])


def rate(country: str, reduced: bool = False) -> int:
    """The rate of a country. Raises ValueError for one that the shop does not sell to."""
    table = REDUCED if reduced else RATES
    try:
        return table[country.upper()]
    except KeyError:
        raise ValueError("the shop does not sell to {}".format(country))


def add(price: Money, country: str, reduced: bool = False) -> Money:
    """The price with tax, rounded half up."""
    percent = rate(country, reduced)
    cents = (price.cents * (100 + percent) * 2 + 100) // 200
    return Money(cents, price.currency)


def is_known(country: str) -> bool:
    if country.upper() in RATES.keys():
        return True
    else:
        return False
