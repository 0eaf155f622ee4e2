"""Set-ups of Go, Rust and Ruby: what a registry served is there when the check runs without a network, and is fetched
again only when the lock file changed."""

from __future__ import annotations

import ipaddress
import shutil
import time
from typing import Any

import docker
import pytest

from sweeper.sandbox import lockfiles
from sweeper.sandbox.contract import Clocks, Limits, Toolchain
from tests.conftest import cannot_run
from tests.sandbox.conftest import Box
from tests.sandbox.trees import PlainTree
from tests.toolchain import registries

# The first one builds an image.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1200)]
ROOMY = Limits(memory=2 << 30, pids=256, disk=1 << 30, output=1 << 20)


@pytest.fixture
def address(box: Box) -> str:
    """Where a server of this machine is reached from a set-up."""
    if box.factory.marker != "docker":
        return "127.0.0.1"
    engine = docker.from_env()
    (network, *_) = engine.networks.get("bridge").attrs["IPAM"]["Config"]
    engine.close()
    return str(network.get("Gateway") or ipaddress.ip_network(network["Subnet"])[1])


def needs(box: Box, *programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if box.factory.name == "bubblewrap" and missing:
        cannot_run(f"bubblewrap takes {missing[0]} from this machine, which has none")


def said(box: Box, chain: Toolchain, files: dict[str, bytes], *command: str) -> str:
    """What the command prints in a sandbox without a network, once the toolchain is there."""
    tree = PlainTree({".gitignore": b"target/\n", **files}, git=True)
    snapshot = box.portal.call(box.backend.prepare, tree, lockfiles.keyed(chain, tree.listing))
    # A newer Go compiles its own library first.
    more: dict[str, Any] = {"limits": ROOMY, "clocks": Clocks(wall=600), "deadline": time.time() + 900}
    done = box.run(*command, snapshot=snapshot, **more)
    assert done.facts.exit_code is not None, done.facts
    return (done.stdout + done.stderr).decode()


def test_go_modules(box: Box, address: str) -> None:
    needs(box, "go")
    with registries.served(registries.go_proxy("v1.0.0", "v1.1.0"), address) as (base, asked):
        download = ("env", f"GOPROXY={base}", "GOSUMDB=off", "GOFLAGS=-mod=mod", "go", "mod", "download")
        chain = Toolchain(name="go", tools=("go",), setup=(download,))
        first = registries.go_project("v1.0.0")
        vet = ("go", "vet", "-json", "./...")
        assert f"{registries.MODULE}.Logf format %d has arg" in said(box, chain, first, *vet)
        fetched = len(asked)
        other = {**first, "other.go": b"package main\n"}
        assert f"{registries.MODULE}.Logf format %d has arg" in said(box, chain, other, *vet)
        assert len(asked) == fetched > 0
        changed = registries.go_project("v1.1.0")
        assert f"{registries.MODULE}.Logf format %d has arg" in said(box, chain, changed, *vet)
        assert f"/{registries.MODULE}/@v/v1.1.0.zip" in asked[fetched:]


def test_crates(box: Box, address: str) -> None:
    needs(box, "cargo")
    files: dict[str, bytes] = {}
    with registries.served(files, address) as (base, asked):
        files.update(registries.cargo_index(base, "0.1.0", "0.2.0"))
        chain = Toolchain(name="rust", tools=("cargo",), setup=(("cargo", "fetch", "--locked"),))
        first = registries.cargo_project(base, "0.1.0")
        clippy = ("cargo", "clippy", "--offline", "--message-format", "short")
        assert "unneeded `return`" in said(box, chain, first, *clippy)
        fetched = len(asked)
        source = first["src/lib.rs"] + b"// more\n"
        assert "unneeded `return`" in said(box, chain, {**first, "src/lib.rs": source}, *clippy)
        assert len(asked) == fetched > 0
        assert "unneeded `return`" in said(box, chain, registries.cargo_project(base, "0.2.0"), *clippy)
        assert f"/crates/{registries.CRATE}-0.2.0.crate" in asked[fetched:]


def test_gems(box: Box, address: str) -> None:
    needs(box, "bundle")
    with registries.served(registries.gem_index("1.0.0", "1.1.0"), address) as (base, asked):
        chain = Toolchain(name="ruby", tools=("bundle",), setup=(("bundle", "install"),))
        first = registries.gem_project(base, "1.0.0")
        lint = ("bundle", "exec", registries.GEM, "a.rb")
        assert "a.rb:2:1: line too long for 1.0.0" in said(box, chain, first, *lint)
        fetched = len(asked)
        assert "a.rb:1:1: line too long for 1.0.0" in said(box, chain, {**first, "a.rb": b"puts 123456\n"}, *lint)
        assert len(asked) == fetched > 0
        assert "a.rb:2:1: line too long for 1.1.0" in said(box, chain, registries.gem_project(base, "1.1.0"), *lint)
        assert f"/gems/{registries.GEM}-1.1.0.gem" in asked[fetched:]


def test_a_gem_of_the_repository_itself(box: Box) -> None:
    needs(box, "gem")
    chain = Toolchain(name="ruby", tools=(registries.GEM,), setup=(("gem", "install", "--local", "tools/probe.gem"),))
    files = {"a.rb": b"puts 1234567890\n"}
    for version in ("1.0.0", "1.1.0"):
        files["tools/probe.gem"] = registries.gem(version)
        assert f"a.rb:1:1: line too long for {version}" in said(box, chain, files, registries.GEM, "a.rb")
