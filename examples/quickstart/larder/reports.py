"""Figures for the end of the day."""

import collections
import statistics
from typing import Dict, Iterable, List, Tuple

from larder.catalogue import Catalogue
from larder.money import Money, total
from larder.orders import Order


def turnover(orders: Iterable[Order], catalogue: Catalogue) -> Money:
    return total(list([order.price(catalogue) for order in orders]))


def bestsellers(orders: Iterable[Order], limit: int = 3) -> List[Tuple[str, int]]:
    """Product codes with the most pieces sold, best first; equal ones by code."""
    counts: Dict[str, int] = collections.defaultdict(lambda: 0)
    for order in orders:
        for line in order.lines:
            counts[line.code] += line.pieces
    ranked = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return ranked[:limit]


def by_customer(orders: Iterable[Order]) -> Dict[str, List[int]]:
    """Order numbers of each customer."""
    result: Dict[str, List[int]] = {}
    for order in orders:
        if order.customer not in result.keys():
            result[order.customer] = []
        result[order.customer].append(order.number)
    return {customer: sorted(list(numbers)) for customer, numbers in result.items()}


def middle_price(orders: Iterable[Order], catalogue: Catalogue) -> Money:
    """The price that half of the orders stay below."""
    prices = [order.price(catalogue).cents for order in orders]
    if len(prices) == 0:
        return Money(0)
    middle = statistics.median_low(prices)
    mean = statistics.mean(prices)
    return Money(middle)


def table(rows: List[Tuple[str, int]], titles: Tuple[str, str] = ("code", "pcs")) -> str:
    lines = ["%-12s %8s" % titles]
    for index, (code, pieces) in enumerate(rows):
        lines.append("%-12s %8d" % (code, pieces))
    return "\n".join(lines)
