"""Each agent's image definition: pinned, hashed, and laid over a toolchain."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sweeper import agents
from sweeper.errors import ConfigError
from sweeper.sandbox.docker.images import build_context, definitions_here

OVER = "FROM ${TOOLCHAIN}"


@pytest.mark.parametrize("name", [*sorted(agents.IMAGED), "agent-npm", "agent-pypi", "../sandboxes/python", ""])
def test_no_agent_is_a_toolchain(name: str) -> None:
    assert name not in definitions_here()
    with pytest.raises(ConfigError, match="no toolchain is named"):
        build_context(name, b"")


@pytest.mark.parametrize("name", sorted(agents.IMAGED))
def test_an_agent_is_pinned_and_hashed(name: str) -> None:
    context = build_context(name, b"", agent=True)
    dockerfile = context["Dockerfile"].decode()
    assert OVER in dockerfile
    assert not re.search(r"(?i)https?://|--index-url|--registry", dockerfile)
    assert context["ca.crt"] == b""
    assert "--require-hashes" in dockerfile
    lock = context["requirements.lock"].decode()
    assert "://" not in lock
    asked = context["requirements.in"].decode().splitlines()
    assert all(each in lock for each in asked if not each.startswith("#"))
    if "npm" in dockerfile:
        packages = json.loads(context["package-lock.json"])["packages"]
        assert all("resolved" not in each for each in packages.values())
        assert all("integrity" in each for path, each in packages.items() if path and not each.get("inBundle"))


@pytest.mark.parametrize("name", sorted(agents.IMAGED))
def test_the_documented_version_is_the_pinned_one(name: str) -> None:
    context = build_context(name, b"", agent=True)
    if "package.json" in context:
        (pin,) = json.loads(context["package.json"])["dependencies"].values()
    else:
        pin = context["requirements.in"].decode().strip().partition("==")[2]
    docs = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()
    (row,) = [line for line in docs.splitlines() if line.startswith(f"| `{name}` |")]
    assert f" {pin} (" in row


@pytest.mark.parametrize("name", sorted(agents.IMAGED))
def test_an_agent_is_built_with_the_certificates_that_builds_need(name: str) -> None:
    assert build_context(name, b"authorities", agent=True)["ca.crt"] == b"authorities"
