"""Each agent's image definition: pinned, hashed, and laid over a toolchain."""

from __future__ import annotations

import json
import re

import pytest

from sweeper import agents
from sweeper.data import data_folder
from sweeper.sandbox.images import OVER, definitions_here

FOLDER = data_folder("sandboxes")


def test_no_agent_is_a_toolchain() -> None:
    assert not agents.IMAGED & set(definitions_here())


@pytest.mark.parametrize("name", sorted(agents.IMAGED))
def test_an_agent_is_pinned_and_hashed(name: str) -> None:
    folder = FOLDER / name
    dockerfile = (folder / "Dockerfile").read_text()
    assert OVER in dockerfile
    assert not re.search(r"(?i)https?://|--index-url|--registry", dockerfile)
    assert (folder / "ca.crt").read_bytes() == b""
    assert "--require-hashes" in dockerfile
    lock = (folder / "requirements.lock").read_text()
    assert "://" not in lock
    asked = (folder / "requirements.in").read_text().splitlines()
    assert all(each in lock for each in asked if not each.startswith("#"))
    if "npm" in dockerfile:
        packages = json.loads((folder / "package-lock.json").read_text())["packages"]
        assert all("resolved" not in each for each in packages.values())
        assert all("integrity" in each for path, each in packages.items() if path and not each.get("inBundle"))
