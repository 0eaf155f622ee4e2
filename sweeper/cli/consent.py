"""The price of a run, shown before it and asked once."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sweeper import agents
from sweeper.cli.console import Console
from sweeper.errors import ConfigError
from sweeper.order import Order

KEPT = "consent.json"


def ask(order: Order, state: Path, console: Console, *, yes: bool) -> None:
    """Say what the run may cost; on a terminal ask, unless it was agreed before. Raises ConfigError for a no."""
    if not order.providers:
        return
    price = _price(order)
    console.say(price["said"])
    kept = state / KEPT
    if yes or not (console.interactive and sys.stdin.isatty()) or _agreed(kept, price):
        return
    console.warn("go on? [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ConfigError("not agreed: nothing was started", hint="--yes agrees; [limits] sets the money")
    kept.write_text(json.dumps(price))


def _price(order: Order) -> dict[str, str]:
    lines = []
    for name, config in order.sweeps.items():
        for number, rung in enumerate(config.ladder, 1):
            if needs := agents.needs(rung):
                usd = rung.usd(order.limits.usd_per_attempt)
                times = f", {rung.candidates} at once" if rung.candidates > 1 else ""
                lines.append(f"{name}: rung {number}: {rung.agent} with {needs.model}, at most ${usd:.2f} each{times}")
                if words := agents.injection(rung):
                    lines.append(f"{name}: rung {number}: PLAIN INJECTION: {words}")
    limits = order.limits
    total = f"at most ${limits.usd_per_fire:.2f} in this run and ${limits.usd_per_day:.2f} a day"
    return {"said": "\n".join([*lines, f"money: {total}"])}


def _agreed(kept: Path, price: dict[str, str]) -> bool:
    try:
        return bool(json.loads(kept.read_text()) == price)
    except (OSError, ValueError):
        return False
