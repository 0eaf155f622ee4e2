"""One attempt as the gateway sees it: what it may ask for, what it used, what it was refused."""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from dataclasses import dataclass, field

from sweeper.gateway.contract import ACCOUNT_WIDE, Error, Meter, Parked, Provider, Try
from sweeper.gateway.spending import Account

FIRST_BYTES_PER_TOKEN = 2  # no text in any language has more tokens than that
FEWEST_BYTES_PER_TOKEN = 4
AT_ONCE = 8  # calls of one attempt; more wait before they are read
UNSEEN = 512  # tokens that a provider adds to what it is sent


@dataclass(slots=True)
class Caller:
    """`deadline`: epoch seconds at which the attempt's own clock ends it. `patience`: its longest silent wait."""

    attempt: str
    token: str = field(repr=False)
    provider: Provider
    models: frozenset[str]
    account: Account
    deadline: float
    patience: float
    requests: int = 0
    tries: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    last_error: Error | None = None
    failing: bool = False
    declined: bool = False
    account_error: Error | None = None
    refused_try: int = 0
    parked: Parked | None = None
    exhausted: str = ""
    tasks: set[asyncio.Task[object]] = field(default_factory=set, repr=False)
    calls: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE), repr=False)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict, repr=False)

    def holds(self, token: str) -> bool:
        return hmac.compare_digest(self.token.encode(), token.encode("utf-8", "surrogateescape"))

    def refuse(self, what: Try) -> None:
        self.refused[what] += 1

    def failed(self, error: Error) -> None:
        self.last_error, self.failing, self.declined = error, True, error is Error.DECLINED
        if error in ACCOUNT_WIDE:
            self.account_error, self.refused_try = error, self.tries

    def answered(self, number: int) -> None:
        """The provider takes the try of that number: an account whose later tries it takes is not refused."""
        self.failing = False
        if number > self.refused_try:
            self.account_error = None

    def most_input(self, model: str, size: int) -> int:
        """Tokens that a request of `size` bytes has at most, by what the provider counted of the one before.

        A conversation grows at its end: only what was added since is unknown.
        """
        most = size // FIRST_BYTES_PER_TOKEN + UNSEEN
        before = self.sizes.get(model)
        if before is None or size < before[0]:
            return most
        grown = before[1] + (size - before[0]) // FIRST_BYTES_PER_TOKEN + UNSEEN
        return min(most, max(grown, size // FEWEST_BYTES_PER_TOKEN))

    def learn(self, model: str, size: int, tokens: int) -> None:
        self.sizes[model] = (size, tokens)

    def over(self) -> None:
        """Nothing is spent from here on."""
        receipt, self.account.receipt = self.account.receipt, None
        if receipt is not None:
            receipt.close()

    def meter(self) -> Meter:
        return Meter(
            requests=self.requests,
            tries=self.tries,
            tokens=self.account.counted,
            micro_usd=self.account.spent,
            estimated_micro_usd=self.account.estimated,
            refused={str(kind): count for kind, count in sorted(self.refused.items())},
            last_error=self.last_error,
            failing=self.failing,
            declined=self.declined,
            account=self.account_error,
            parked=self.parked,
            exhausted=self.exhausted,
        )
