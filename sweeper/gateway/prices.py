"""What a call costs, from the price list of genai-prices that is installed (nothing is fetched).

A call's price is linear in its tokens, with other rates beyond some size of the input. The list is slow to ask, so
the rates are asked once per model and size class.
"""

from __future__ import annotations

import bisect
from decimal import Decimal
from typing import Any, NamedTuple

from sweeper.errors import ConfigError
from sweeper.gateway.contract import Provider, Tokens

PICO = 1_000_000  # pico-dollars in a micro-dollar: prices per million tokens are whole numbers of them
OUTPUT_PROBE = 1000
ALIASES = {"gemini": "google"}


class Rates(NamedTuple):
    """Pico-dollars per token."""

    input: int = 0
    cached: int = 0
    written: int = 0
    written_1h: int = 0
    output: int = 0

    def cost(self, tokens: Tokens) -> int:
        """Micro-dollars, rounded up."""
        return -(-sum(rate * count for rate, count in zip(self, tokens, strict=True)) // PICO)

    @property
    def dearest_input(self) -> int:
        return max(self.input, self.written, self.written_1h)


class Prices:
    """The rates of models, remembered. A model without a price has none: `rates` gives None."""

    def __init__(self) -> None:
        self._tiers: dict[tuple[str, str], list[int] | None] = {}
        self._rates: dict[tuple[str, str, int], Rates] = {}

    def load(self) -> None:
        """Read the list, which takes a second once; without this the first question does."""
        from genai_prices import data_snapshot

        data_snapshot.get_snapshot()

    def rates(self, provider: Provider, model: str, input_tokens: int) -> Rates | None:
        """The rates of a call with so many input tokens, cached ones included."""
        name = (provider.name, model)
        if name not in self._tiers:
            self._tiers[name] = _tiers(provider, model)
        tiers = self._tiers[name]
        if tiers is None:
            return None
        place = bisect.bisect_left(tiers, input_tokens)
        key = (*name, place)
        if key not in self._rates:
            self._rates[key] = _probe(provider, model, tiers[place - 1] + 1 if place else min([1000, *tiers]))
        return self._rates[key]

    def require(self, provider: Provider, model: str, *, tokens: int | None) -> None:
        """Raises ConfigError for a model that a money budget can't hold: no price, and no cap on tokens either."""
        if tokens is None and self.rates(provider, model, 0) is None:
            raise ConfigError(
                f"no price is known for model {model!r} of provider {provider.name!r}: no budget can hold it",
                hint="cap its tokens, or use a model that the installed genai-prices knows",
            )


def _list(provider: Provider) -> dict[str, Any]:
    name = ALIASES.get(provider.name, provider.name)
    from genai_prices import data_snapshot  # slow to import, and only paid agents need it

    known = {known.id for known in data_snapshot.get_snapshot().providers}
    return {"provider_id": name} if name in known else {"provider_api_url": provider.base_url}


def _ask(provider: Provider, model: str, **tokens: int) -> Any:
    from genai_prices import Usage, calc_price

    return calc_price(Usage(**tokens), model, **_list(provider))


def _tiers(provider: Provider, model: str) -> list[int] | None:
    """Input sizes beyond which other rates count; None for a model without a price."""
    from genai_prices.types import TieredPrices

    try:
        price = _ask(provider, model, input_tokens=1, output_tokens=1).model_price
    except (LookupError, ValueError):
        return None
    tiered = [value for value in vars(price).values() if isinstance(value, TieredPrices)]
    return sorted({tier.start for value in tiered for tier in value.tiers})


def _probe(provider: Provider, model: str, size: int) -> Rates:
    def total(**more: int) -> Decimal:
        price: Decimal = _ask(provider, model, input_tokens=size, **more).total_price
        return price

    plain = total()
    return Rates(
        input=_pico(plain / size),
        cached=_pico(total(cache_read_tokens=size) / size),
        written=_pico(total(cache_write_tokens=size) / size),
        written_1h=_pico(total(cache_write_tokens=size, cache_write_1h_tokens=size) / size),
        output=_pico((total(output_tokens=OUTPUT_PROBE) - plain) / OUTPUT_PROBE),
    )


def _pico(dollars: Decimal) -> int:
    return round(dollars * 1_000_000 * PICO)
