"""Holds the providers' keys, and limits, meters and screens what the attempts of a fire ask of them."""

from __future__ import annotations

from sweeper.gateway.contract import ACCOUNT_WIDE, Door, Error, Meter, Parked, Protocol, Provider, Tokens, Try
from sweeper.gateway.server import Gateway
from sweeper.gateway.spending import NoRoom

__all__ = [
    "ACCOUNT_WIDE", "Door", "Error", "Gateway", "Meter", "NoRoom", "Parked", "Protocol", "Provider", "Tokens", "Try",
]  # fmt: skip
