"""How an agent reaches its model, for just so long as its sandbox lives.

By a door to the gateway: a unix socket in the sandbox, which a forwarder turns into a loopback address, and a
placeholder for the key. Or, where its rung says `inject`, with the real key and a tunnel to the hosts of a list.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from sweeper import agents
from sweeper.attempt.job import Job
from sweeper.config.models import RungConfig
from sweeper.receipts import receipt_of
from sweeper.records import Usage
from sweeper.sandbox.contract import DOOR, HOME, INPUTS, Clocks
from sweeper.workshop import Workshop

if TYPE_CHECKING:  # slow to import, and only paid agents need it
    from sweeper.gateway import Door, Meter

PORT = 8790
FORWARDER = "forwarder.py"
KEY_FILE = f"{HOME}/.sweeper-key"
_PROXY = f"http://127.0.0.1:{PORT}"
# NODE_USE_ENV_PROXY: Node's own fetch looks at the others only then.
PROXY = {"HTTPS_PROXY": _PROXY, "https_proxy": _PROXY, "NO_PROXY": "", "no_proxy": "", "NODE_USE_ENV_PROXY": "1"}
PATIENCE = 60.0  # seconds that a call may wait for the provider in silence
SILENCE = 0.8  # of the agent's own clocks that a silent wait may take


@dataclass(slots=True)
class Bill:
    """What the agents of one attempt have used, also of those that were stopped."""

    usage: Usage = field(default_factory=Usage)
    denied: dict[str, int] = field(default_factory=dict)

    def add(self, meter: Meter) -> None:
        self.usage += usage_of(meter)
        for kind, times in meter.refused.items():
            self.denied[kind] = self.denied.get(kind, 0) + times


@dataclass(frozen=True, slots=True)
class Way:
    """How an agent reaches its model: by a gateway's door, as `model`; or with the real key, through a tunnel's door.

    `full`: the limit that leaves no room for the attempt, "".
    """

    door: Door | None = None
    model: agents.Model | None = None
    full: str = ""


@asynccontextmanager
async def way_of(
    workshop: Workshop, job: Job, index: int, meters: list[Meter], bill: Bill
) -> AsyncIterator[Way | None]:
    """One agent's while its sandbox lives, None where it asks no model; `meters` and `bill` get what it used."""
    rung = workshop.config.ladder[job.rung]
    needs = agents.needs(rung)
    if needs is None or workshop.gateway is None:
        yield None
        return
    attempt = f"{workshop.run} {job.unit.key} {job.number} {index}"
    receipt = receipt_of(workshop.sandboxing.logs, job.unit.key, job.number, index)
    if rung.inject:
        from sweeper.gateway import NoRoom

        hosts, charge = rung.egress, round(rung.usd(workshop.usd_per_attempt) * 1_000_000)
        opened = await workshop.gateway.tunnel(
            attempt, provider=needs.provider, hosts=hosts, micro_usd=charge, receipt=receipt
        )
        way = Way(full=opened.limit) if isinstance(opened, NoRoom) else Way(opened)
    else:
        way = await _metered(workshop, rung, needs, attempt, receipt)
    try:
        yield way
    finally:
        if way.door is not None:
            with anyio.CancelScope(shield=True):
                meters.append(await workshop.gateway.close(attempt))
                bill.add(meters[-1])


async def _metered(workshop: Workshop, rung: RungConfig, needs: agents.Needs, attempt: str, receipt: Path) -> Way:
    assert workshop.gateway is not None
    door = await workshop.gateway.open(
        attempt,
        provider=needs.provider,
        models=[needs.model],
        micro_usd=round(rung.usd(workshop.usd_per_attempt) * 1_000_000),
        tokens=rung.max_tokens,
        deadline=time.time() + rung.clocks.wall,
        patience=patience(clocks_of(rung)),
        receipt=receipt,
    )
    protocol = workshop.protocols[needs.provider]
    return Way(door, agents.Model(needs.model, f"http://127.0.0.1:{PORT}", door.token, protocol))


def patience(clocks: Clocks) -> float:
    """Seconds that a call of an agent with these clocks may wait for the provider in silence."""
    return min([PATIENCE, *(SILENCE * clock for clock in (clocks.first_output, clocks.idle) if clock is not None)])


def clocks_of(rung: RungConfig) -> Clocks:
    return Clocks(wall=rung.clocks.wall, first_output=rung.clocks.first_output, idle=rung.clocks.idle)


def forwarded(argv: Sequence[str], inputs: dict[str, bytes], door: Door, key_size: int = 0) -> tuple[str, ...]:
    """`argv` with the door's socket as a loopback address; the program that makes it one is added to `inputs`.

    With `key_size` the first so many bytes of its input become the file KEY_FILE, on a file system in memory.
    """
    inputs[FORWARDER] = resources.files("sweeper.gateway").joinpath(FORWARDER).read_bytes()
    kept = (KEY_FILE, str(key_size)) if key_size else ()
    return ("python3", "-I", f"{INPUTS}/{FORWARDER}", str(PORT), f"{DOOR}/{door.socket.name}", *kept, "--", *argv)


def injected(
    argv: Sequence[str], stdin: bytes, inputs: dict[str, bytes], env: dict[str, str], door: Door, rung: RungConfig
) -> tuple[tuple[str, ...], bytes]:
    """The command and the input of a program that gets the real key; `inputs` and `env` get what it needs besides."""
    key = door.token.encode("utf-8", "surrogateescape")
    env |= PROXY | {"SWEEPER_MODEL": rung.model}
    if rung.inject == "stdin":
        return forwarded(argv, inputs, door), key + b"\n"
    env["SWEEPER_KEY_FILE"] = KEY_FILE
    return forwarded(argv, inputs, door, key_size=len(key)), key + stdin


def usage_of(meter: Meter) -> Usage:
    return Usage(meter.tokens.total_input, meter.tokens.output, meter.micro_usd)
