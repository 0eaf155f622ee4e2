"""Room for one call: reserved before it is forwarded, settled after, within attempt, fire and day.

What is reserved counts as spent. A call that finds room for a shorter answer only because other calls hold theirs
waits for them; the answer is cut short when nothing more will come free.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from sweeper.budget import Budget, Reservation
from sweeper.gateway.contract import Tokens
from sweeper.gateway.prices import PICO, Rates
from sweeper.receipts import Receipt
from sweeper.records import Usage

FLOOR = 1024  # tokens; an answer that is shorter than asked for and than this is of no use to anybody
ENOUGH = 8192  # tokens; most answers of an agent are shorter, so that nobody waits for more
NO_PRICE = Rates()


@dataclass(slots=True)
class Account:
    """One attempt's caps and what it has used of them. None: no cap of its own. `receipt`: where that is kept."""

    micro_usd: int | None
    tokens: int | None
    spent: int = 0
    used: int = 0
    held_micro_usd: int = 0
    held_tokens: int = 0
    estimated: int = 0
    counted: Tokens = field(default_factory=Tokens)
    receipt: Receipt | None = None


class Ask(NamedTuple):
    """One call: at most `input` tokens in, `output` wanted out. `rates` is None for a model without a price."""

    input: int
    output: int
    rates: Rates | None


class NoRoom(NamedTuple):
    """`limit`: which one leaves none, and nothing that is merely held came free in time."""

    limit: str


class Hold:
    """A reservation of one call. Settle it exactly once, with the provider's count or with what is unknown."""

    __slots__ = ("_account", "_money", "_rates", "_reservation", "_spending", "input", "output", "settled")

    def __init__(self, spending: Spending, account: Account, ask: Ask, output: int, reservation: Reservation) -> None:
        self._spending, self._account, self._reservation = spending, account, reservation
        self._rates = ask.rates or NO_PRICE
        self.input, self.output, self.settled = ask.input, output, False

    def free(self) -> None:
        """The provider did nothing: it refused, or was never reached."""
        self._end(Tokens(), 0, 0)

    def metered(self, tokens: Tokens, rates: Rates | None) -> None:
        """The provider's count, priced at the rates of its size."""
        self._end(tokens, (rates or NO_PRICE).cost(tokens), 0)

    def unknown(self, seen: Tokens | None) -> None:
        """Forwarded, but the count never came: what may have been used at most. `seen`: counts of its beginning."""
        if seen is None or not seen.total_input:
            most = self._reservation.micro_usd
            self._end(seen or Tokens(), most, most, self.input + self.output)
            return
        worst = seen._replace(output=max(seen.output, self.output))
        cost = self._rates.cost(worst)
        self._end(seen, cost, cost - self._rates.cost(seen), sum(worst))

    def _end(self, counted: Tokens, micro_usd: int, estimated: int, used: int | None = None) -> None:
        account, self.settled = self._account, True
        account.held_micro_usd -= self._reservation.micro_usd
        account.held_tokens -= self.input + self.output
        account.spent += micro_usd
        account.estimated += estimated
        account.used += sum(counted) if used is None else used
        account.counted = account.counted.plus(counted)
        usage = Usage(counted.total_input, counted.output, micro_usd)
        if account.receipt is not None:
            account.receipt.write(self._reservation.number, usage)
        self._spending.settle(self._reservation, usage)


class Spending:
    """The calls of all attempts against one budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._settled = asyncio.Event()

    async def reserve(self, account: Account, ask: Ask, patience: float) -> Hold | NoRoom:
        """Room for `ask`, its answer shortened if need be; waits at most `patience` seconds for held room."""
        enough, floor = min(ask.output, ENOUGH), min(ask.output, FLOOR)
        give_up = asyncio.get_running_loop().time() + patience
        while True:
            limit, fits, others = self._fit(account, ask)
            left = give_up - asyncio.get_running_loop().time()
            if fits >= enough or not others or left <= 0:
                break
            await self._change(left)
        if fits < floor:
            return NoRoom(limit)
        # Not all of it in one call: what became of a cut one is unknown, and its retry needs room too.
        return self._hold(account, ask, min(ask.output, fits, max(ENOUGH, fits // 2)))

    def charge(self, account: Account, micro_usd: int) -> NoRoom | None:
        """Spend so much at once, if fire and day have room for it: for what nobody can meter."""
        reservation = self._budget.reserve(micro_usd)
        if reservation is None:
            return NoRoom(self._budget.room[0])
        account.held_micro_usd += micro_usd
        Hold(self, account, Ask(0, 0, None), 0, reservation).unknown(None)
        return None

    def settle(self, reservation: Reservation, usage: Usage) -> None:
        self._budget.settle(reservation, usage)
        self._settled.set()
        self._settled = asyncio.Event()

    async def _change(self, most: float) -> None:
        try:
            async with asyncio.timeout(most):
                await self._settled.wait()
        except TimeoutError:
            pass

    def _fit(self, account: Account, ask: Ask) -> tuple[str, int, bool]:
        """The tightest limit, how long an answer fits into it, and whether some of its room is merely held."""
        rates = ask.rates or NO_PRICE
        limit, room = self._budget.room
        fits = [(_answer(room, ask, rates), limit, self._budget.reserved > 0)]
        if account.micro_usd is not None:
            left = account.micro_usd - account.spent - account.held_micro_usd
            fits.append((_answer(left, ask, rates), "limits.usd_per_attempt", account.held_micro_usd > 0))
        if account.tokens is not None:
            left = account.tokens - account.used - account.held_tokens
            fits.append((left - ask.input, "tokens", account.held_tokens > 0))
        fit, limit, held = min(fits)
        return limit, fit, held

    def _hold(self, account: Account, ask: Ask, output: int) -> Hold:
        rates = ask.rates or NO_PRICE
        micro_usd = -(-(ask.input * rates.dearest_input + output * rates.output) // PICO)
        reservation = self._budget.reserve(micro_usd)
        assert reservation is not None, "the room was measured in this very step"
        account.held_micro_usd += micro_usd
        account.held_tokens += ask.input + output
        if account.receipt is not None:  # before anything is sent: a death from here on counts all of it
            account.receipt.write(reservation.number, Usage(ask.input, output, micro_usd))
        return Hold(self, account, ask, output, reservation)


def _answer(micro_usd: int, ask: Ask, rates: Rates) -> int:
    """Tokens of an answer that `micro_usd` pays for beside the input."""
    left = micro_usd * PICO - ask.input * rates.dearest_input
    if left < 0:
        return -1
    return left // rates.output if rates.output else ask.output
