"""The backends that the conformance suite runs on: one factory each. Every test of `conformance` takes them all.

A backend joins by one entry of FACTORIES. `missing()` says why it cannot run on this machine ("" if it can);
`make(store, owner, slots)` gives a fresh backend whose `aclose` leaves nothing behind; `toolchain` names one that
holds `sh`, the core utilities and `python3`; `marker` is the pytest marker that selects it; `group` is a group of the
machine that an ordinary user must be in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anyio

from sweeper.records import Owner
from sweeper.sandbox.bubblewrap import Bubblewrap
from sweeper.sandbox.contract import Backend, Toolchain
from sweeper.sandbox.docker import Docker, answers


@dataclass(frozen=True)
class Factory:
    name: str
    marker: str
    make: Callable[[Path, Owner, int], Backend]
    missing: Callable[[], str]
    toolchain: Toolchain
    group: str = ""


def _bubblewrap(store: Path, owner: Owner, slots: int) -> Backend:
    return Bubblewrap(store, owner, slots=slots)


def _docker(store: Path, owner: Owner, slots: int) -> Backend:
    return Docker(store, owner, slots=slots)


def _remote_engine(store: Path, owner: Owner, slots: int) -> Backend:
    """As on an engine that cannot see this machine's disk."""
    return Docker(store, owner, slots=slots, shared_paths=False)


def _no_docker() -> str:
    return "" if anyio.run(answers) else "no docker engine answers"


def _no_bubblewrap() -> str:
    return "" if os.path.exists("/proc/self/ns/user") else "no user namespaces: not Linux"


FACTORIES: dict[str, Factory] = {
    "bubblewrap": Factory(
        name="bubblewrap",
        marker="bubblewrap",
        make=_bubblewrap,
        missing=_no_bubblewrap,
        toolchain=Toolchain(tools=("sh", "python3")),
    ),
    "docker": Factory(
        name="docker",
        marker="docker",
        make=_docker,
        missing=_no_docker,
        toolchain=Toolchain(tools=("sh", "python3")),
        group="docker",
    ),
    "remote_engine": Factory(
        name="remote_engine",
        marker="docker",
        make=_remote_engine,
        missing=_no_docker,
        toolchain=Toolchain(tools=("sh", "python3")),
        group="docker",
    ),
}
