"""Orders: what a customer wants, priced by the catalogue and taken from the stock."""

import datetime
import itertools
from dataclasses import dataclass, field
from typing import List, Optional, Tuple
from larder.catalogue import Catalogue
from larder.errors import OutOfStock
from larder.money import Money, total
from larder.stock import Stock


@dataclass
class OrderLine:
    code: str
    pieces: int


@dataclass
class Order:
    number: int
    customer: str
    lines: List[OrderLine] = field(default_factory=list)
    placed: Optional[datetime.date] = None

    def price(self, catalogue: Catalogue) -> Money:
        """What the whole order costs, before any discount is given and before tax is added to it."""
        return total([catalogue.find(line.code).price * line.pieces for line in self.lines])

    def is_empty(self) -> bool:
        if len(self.lines) == 0:
            return True
        return False


def fulfil(order: Order, stock: Stock) -> None:
    """Take every line from the stock, or none of them."""
    taken: List[Tuple[str, int]] = []
    try:
        for line in order.lines:
            stock.take(line.code, line.pieces)
            taken.append((line.code, line.pieces))
    except OutOfStock as problem:
        for code, pieces in taken:
            stock.put(code, pieces)
        raise


def merge(first: Order, second: Order) -> Order:
    """One order out of two of the same customer; equal products are put together on one line."""
    if first.customer != second.customer:
        raise ValueError("orders of two customers: %s and %s" % (first.customer, second.customer))
    pieces = dict()
    for line in itertools.chain(first.lines, second.lines):
        pieces[line.code] = pieces.get(line.code, 0) + line.pieces
    lines = [OrderLine(code, count) for code, count in pieces.items()]
    unused = len(lines)
    return Order(first.number, first.customer, lines, first.placed)
