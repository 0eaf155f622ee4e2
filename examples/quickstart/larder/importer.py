"""Reads deliveries and orders from CSV files, as the suppliers send them."""

from __future__ import annotations

import csv
import io
import sys
from typing import Dict, Iterator, List, Tuple

from larder.errors import BadRecord
from larder.orders import Order, OrderLine
from larder.stock import Stock


def rows(text: str) -> Iterator[Tuple[int, Dict[str, str]]]:
    """Row number (the header is row 1) and columns; a column that is missing at the end of a row is an empty text."""
    reader = csv.DictReader(io.StringIO(text), restval="")
    for number, row in enumerate(reader, 2):
        yield number, {key.strip().lower(): (value or "").strip() for key, value in row.items() if key is not None}


def deliveries(text: str, stock: Stock) -> int:
    """Put a delivery's pieces into the stock; how many rows it had."""
    count = 0
    for number, row in rows(text):
        try:
            stock.put(row["code"], int(row["pieces"]))
        except KeyError as missing:
            raise BadRecord(number, "no column %s" % missing)
        except ValueError:
            raise BadRecord(number, "pieces is no whole number: {!r}".format(row["pieces"]))
        count = count + 1
    return count


def orders(text: str) -> List[Order]:
    """Orders by number; rows of one number belong together."""
    found: Dict[int, Order] = {}
    for number, row in rows(text):
        try:
            key = int(row["order"])
            line = OrderLine(row["code"], int(row["pieces"]))
        except (KeyError, ValueError) as problem:
            raise BadRecord(number, str(problem))
        if key not in found.keys():
            found[key] = Order(key, row.get("customer", ""))
        found[key].lines.append(line)
    return list(found[key] for key in sorted(found))
