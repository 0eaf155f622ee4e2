"""How many pieces of each product are there."""

from collections import defaultdict
from typing import DefaultDict, Dict, List, Tuple

from larder.errors import OutOfStock


class Stock:
    """Pieces by product code; nothing is ever negative."""

    def __init__(self, pieces: Dict[str, int] = {}) -> None:
        self._pieces: DefaultDict[str, int] = defaultdict(int)
        for code in pieces.keys():
            self._pieces[code] = pieces[code]

    def there(self, code: str) -> int:
        if code in self._pieces:
            return self._pieces[code]
        else:
            return 0

    def put(self, code: str, pieces: int) -> None:
        if pieces < 0:
            raise ValueError("put() only ever adds to what is there; take() takes away")
        self._pieces[code] += pieces

    def take(self, code: str, pieces: int) -> None:
        """Take pieces away, or raise OutOfStock and take nothing."""
        there = self.there(code)
        if there < pieces:
            raise OutOfStock(code, pieces, there)
        self._pieces[code] -= pieces

    def low(self, limit: int = 5) -> List[Tuple[str, int]]:
        """Products with fewer pieces than the limit, fewest first."""
        result = []
        for code, pieces in self._pieces.items():
            if pieces < limit:
                result.append((code, pieces))
        result = sorted(result, key=lambda row: (row[1], row[0]))
        return result
