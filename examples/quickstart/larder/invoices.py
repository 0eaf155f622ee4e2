"""Invoices: an order, priced, discounted, taxed and written down."""

import datetime
from dataclasses import dataclass
from typing import List
import textwrap

from larder import discounts, tax
from larder.catalogue import Catalogue
from larder.money import Money
from larder.orders import Order

WIDTH = 48


@dataclass(frozen=True)
class Invoice:
    number: str
    customer: str
    lines: List[str]
    net: Money
    gross: Money


def number_of(order: Order, year: int) -> str:
    return "%d-%05d" % (year, order.number)


def issue(order: Order, catalogue: Catalogue, country: str, percent: int = 0, year: int = 2024) -> Invoice:
    """The invoice of an order. Raises UnknownProduct for a line that the catalogue does not have any more."""
    lines = []
    for line in order.lines:
        product = catalogue.find(line.code)
        lines.append("%3d x %s" % (line.pieces, product.name))
    net = discounts.apply(order.price(catalogue), percent)
    gross = tax.add(net, country)
    return Invoice(number_of(order, year), order.customer, lines, net, gross)


def render(invoice: Invoice) -> str:
    """The invoice as text, WIDTH columns wide."""
    # The number stands on the right because the archive's index is built from the last word of the first line.
    head = "Invoice".ljust(WIDTH - len(invoice.number)) + invoice.number
    body = [textwrap.shorten(line, WIDTH, placeholder="...") for line in invoice.lines]
    foot = ["net".ljust(WIDTH - len(str(invoice.net))) + str(invoice.net)]
    foot = foot + ["gross".ljust(WIDTH - len(str(invoice.gross))) + str(invoice.gross)]
    text = "\n".join([head, invoice.customer, ""] + body + [""] + foot)
    return text
