"""Which kind of sandbox "auto" takes; what a kind says of itself is given here, real ones have suites of their own."""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import pytest

from sweeper.cli import wiring
from sweeper.cli.console import Console
from sweeper.config.models import Config, SweepConfig
from sweeper.errors import NoSandbox
from sweeper.ledger import make_owner
from sweeper.sandbox.contract import Probe


@dataclass
class Kind:
    name: str
    ok: bool
    image: bool = True
    closed: int = 0

    async def probe(self) -> Probe:
        return Probe(self.name, ok=self.ok, version="1", why="" if self.ok else "refused")

    async def has_image(self, toolchain: object) -> bool:
        return self.image

    async def aclose(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    ("docker", "image", "bubblewrap", "chosen"),
    [
        (True, True, True, "docker"), (True, True, False, "docker"), (True, False, True, "bubblewrap"),
        # GitHub's own Ubuntu machines: user namespaces are closed, and no image was ever built
        (True, False, False, "docker"), (False, False, True, "bubblewrap"), (False, False, False, ""),
    ],
)  # fmt: skip
def test_auto_takes_what_is_ready_and_builds_an_image_only_where_nothing_else_works(
    monkeypatch: pytest.MonkeyPatch, docker: bool, image: bool, bubblewrap: bool, chosen: str
) -> None:
    kinds = {"docker": Kind("docker", docker, image), "bubblewrap": Kind("bubblewrap", bubblewrap)}
    made: list[str] = []

    def make(name: str) -> object:
        made.append(name)
        return kinds[name]

    monkeypatch.setattr(wiring, "docker", lambda *given: make("docker"))
    monkeypatch.setattr(wiring, "bubblewrap", lambda *given: make("bubblewrap"))
    said: list[str] = []

    async def choose() -> object:
        sweep = SweepConfig.model_validate({"check": "ruff check ."})
        return await wiring.choose(make_owner(), Config(), [sweep], Console(environ={}, sink=said.append))

    if chosen:
        assert anyio.run(choose) is kinds[chosen]
        assert said[0].startswith(f"sandboxes: {chosen}")
    else:
        with pytest.raises(NoSandbox, match="docker: refused; bubblewrap: refused"):
            anyio.run(choose)
    assert {name for name in made if kinds[name].closed != 1} == ({chosen} if chosen else set())
    assert all(kind.closed <= 1 for kind in kinds.values())
