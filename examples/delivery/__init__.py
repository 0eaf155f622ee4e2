"""A second Loop on the same engine: every item of a delivery list has to be seen at its target.

A courier puts an item there; a verifier, which trusts nobody's word, asks the target for it and compares.
`python -m examples.delivery LIST.json` with `[{"file": "report.pdf", "url": "http://..."}, ...]`.
"""

from examples.delivery.book import Book, Item
from examples.delivery.loop import Delivery, Receipt

__all__ = ["Book", "Delivery", "Item", "Receipt"]
