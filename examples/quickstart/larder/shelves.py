"""Where things stand: a label is aisle, shelf and place, such as B-03-2."""

import re
from typing import Dict, List, NamedTuple, Optional

LABEL = re.compile(r"^([A-Z])-(\d{2})-(\d)$")


class Place(NamedTuple):
    aisle: str
    shelf: int
    place: int

    @classmethod
    def read(cls, label: str) -> "Place":
        found = LABEL.match(label)
        if not found:
            raise ValueError("not a label such as B-03-2: {!r}".format(label))
        return cls(found.group(1), int(found.group(2)), int(found.group(3)))

    def label(self) -> str:
        return "%s-%02d-%d" % (self.aisle, self.shelf, self.place)


class Shelves:
    """Which product stands where."""

    def __init__(self) -> None:
        self._places: Dict[Place, str] = {}

    def assign(self, label: str, code: str) -> None:
        self._places[Place.read(label)] = code

    def find(self, code: str) -> Optional[str]:
        """The first place of a product, None if it has none."""
        for place in sorted(self._places.keys()):
            if self._places[place] == code:
                return place.label()
        return None

    def route(self, codes: List[str]) -> List[str]:
        """The labels to walk by to collect the products, as they stand."""
        wanted = set(list(codes))
        places = []
        for place, code in self._places.items():
            if code in wanted:
                if place not in places:
                    places.append(place)
        return list(map(lambda place: place.label(), sorted(places)))
