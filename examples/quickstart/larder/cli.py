"""python -m larder.cli CATALOGUE DELIVERIES ORDERS COUNTRY: one day of the shop on a page."""

import sys
import argparse
from pathlib import Path
from typing import List, Optional

from larder import importer, invoices, notify, reports
from larder.catalogue import Catalogue
from larder.errors import LarderError, OutOfStock
from larder.orders import fulfil
from larder.stock import Stock


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="larder", description="One day of the shop on a page.")
    result.add_argument("catalogue", type=Path)
    result.add_argument("deliveries", type=Path)
    result.add_argument("orders", type=Path)
    result.add_argument("country", nargs="?", default="AT")
    return result


def day(catalogue: Catalogue, deliveries: str, orders: str, country: str) -> str:
    """Deliveries in, orders out, invoices written; the page as text."""
    stock = Stock()
    importer.deliveries(deliveries, stock)
    done, pages = [], []
    outbox = notify.Outbox()
    for order in importer.orders(orders):
        try:
            fulfil(order, stock)
        except OutOfStock as problem:
            outbox.add("order {}: {}".format(order.number, problem))
            continue
        done.append(order)
        pages.append(invoices.render(invoices.issue(order, catalogue, country)))
    notify.low_stock(outbox, stock.low())
    pages.append(reports.table(reports.bestsellers(done)))
    pages.append("turnover {}".format(reports.turnover(done, catalogue)))
    pages.extend(outbox.waiting)
    return "\n\n".join(pages)


def main(argv: Optional[List[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        catalogue = Catalogue.load(arguments.catalogue.read_text(encoding="utf-8"))
        page = day(catalogue, arguments.deliveries.read_text(encoding="utf-8"), arguments.orders.read_text(encoding="utf-8"), arguments.country)
    except LarderError as problem:
        print("larder: {}".format(problem), file=sys.stderr)
        return 1
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
