"""What the shop sells."""

import json
import os
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional

from larder.money import Money, parse
from larder.errors import BadRecord, UnknownProduct


@dataclass(frozen=True)
class Product:
    code: str
    name: str
    price: Money
    tags: List[str] = field(default_factory=lambda: [])


class Catalogue:
    """Products by code."""

    def __init__(self, products: Iterable[Product] = ()) -> None:
        self._products: Dict[str, Product] = dict((p.code, p) for p in products)

    def __len__(self) -> int:
        return len(self._products)

    def add(self, product: Product) -> None:
        self._products[product.code] = product

    def find(self, code: str) -> Product:
        try:
            return self._products[code]
        except KeyError:
            raise UnknownProduct(code)

    def tagged(self, tag: str) -> List[Product]:
        """Products that carry the tag, by code."""
        found = sorted([p for p in self._products.values() if tag in p.tags], key=lambda p: p.code)
        return found

    def codes(self) -> List[str]:
        return sorted(list(self._products.keys()))

    @classmethod
    def load(cls, text: str, currency: Optional[str] = None) -> "Catalogue":
        """A catalogue from JSON: a list of objects with code, name, price and perhaps tags."""
        catalogue = cls()
        for number, row in enumerate(json.loads(text), 1):
            try:
                catalogue.add(Product(row["code"], row["name"], parse(row["price"], currency), row.get("tags", [])))
            except KeyError as missing:
                raise BadRecord(number, "no %s" % missing)
        return catalogue
