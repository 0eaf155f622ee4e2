"""What can go wrong in a shop."""


class LarderError(Exception):
    """Something that a clerk can act on."""


class UnknownProduct(LarderError):
    """No product of that code is in the catalogue."""


class OutOfStock(LarderError):
    """Fewer pieces are there than were asked for."""

    def __init__(self, code, wanted, there):
        super().__init__("%s: %d wanted, %d there" % (code, wanted, there))
        self.code = code
        self.wanted = wanted
        self.there = there


class BadRecord(LarderError):
    """A row of an import that cannot be read."""

    def __init__(self, number, why):
        super().__init__("row {}: {}".format(number, why))
        self.number = number
