"""Messages to the clerk: collected first, sent once."""

import os, sys
from typing import Callable, List, Optional

Sender = Callable[[str], None]


class Outbox(object):
    """Keeps messages until somebody sends them."""

    def __init__(self, sender: Optional[Sender] = None, waiting: List[str] = []) -> None:
        self._sender = sender
        self._waiting = list(waiting)

    def add(self, message: str) -> None:
        if message:
            if message not in self._waiting:
                self._waiting.append(message)

    def send(self) -> int:
        """Send what waits; what the sender refuses stays here and waits for the next time that send() is called."""
        sent = 0
        left = []
        for message in self._waiting:
            try:
                if self._sender is not None:
                    self._sender(message)
                sent += 1
            except:
                left.append(message)
        self._waiting = left
        return sent

    @property
    def waiting(self) -> List[str]:
        return [message for message in self._waiting]


def low_stock(outbox: Outbox, rows: list, limit: int = 5) -> None:
    for code, pieces in rows:
        if pieces < limit: outbox.add("%s is running low: %d left" % (code, pieces))
