"""What the scenarios of publishing begin with, and what they look at on the forge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sweeper.forge import marker
from tests.forge.hub import Pull
from tests.forge.made import CLEAN, DIRTY, Made
from tests.forge.server import Forge

FILES = {f"pkg/m{number}.py": DIRTY for number in range(4)} | {
    "other/z.py": DIRTY,
    "README.md": b"hello\n",
    "CODEOWNERS": b"/pkg/ @acme/pkg\n",
}
TWO = {"pkg/m0.py": CLEAN, "pkg/m1.py": CLEAN}

Scenario = Callable[[Made], Awaitable[None]]


def only(forge: Forge) -> Pull:
    (pull,) = forge.hub.open_pulls()
    return pull


def mark(pull: Pull) -> marker.Marker:
    found = marker.read(pull.body)
    assert found is not None
    return found


def subjects(forge: Forge, branch: str = "sweeper/s") -> list[str]:
    return forge.hub.git("log", "--format=%s", "--reverse", f"main..{branch}").splitlines()


def content(forge: Forge, path: str, branch: str = "sweeper/s") -> str:
    return forge.hub.git("show", f"{branch}:{path}")
