"""Extra certificate authorities, of the configuration and of SSL_CERT_FILE, in set-ups and in image builds."""

from __future__ import annotations

import ipaddress
import secrets
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from sweeper.errors import CheckBroken, ConfigError
from sweeper.sandbox import authorities
from sweeper.sandbox.bubblewrap import Bubblewrap
from sweeper.sandbox.contract import Backend, Toolchain
from sweeper.sandbox.docker import Docker
from sweeper.sandbox.docker.images import Images
from sweeper.sandbox.docker.opening import connected
from tests.conftest import cannot_run
from tests.sandbox.conftest import Box, owner
from tests.sandbox.trees import PlainTree
from tests.toolchain.index import authority, served

pytestmark = pytest.mark.timeout(600)  # the first one builds an image
LOOK = "import sweeper_probe_package; print(sweeper_probe_package.ANSWER)"
TREE = PlainTree({"a": b"a\n"}, git=True)


@dataclass(frozen=True)
class Index:
    url: str
    ca: Path


@pytest.fixture
def index(box: Box, tmp_path: Path) -> Iterator[Index]:
    address = "127.0.0.1"
    if box.factory.marker == "docker":
        engine = docker.from_env()
        (network, *_) = engine.networks.get("bridge").attrs["IPAM"]["Config"]
        address = network.get("Gateway") or str(ipaddress.ip_network(network["Subnet"])[1])
        engine.close()
    ca = authority(tmp_path, address)
    try:
        with served(tmp_path, address) as url:
            yield Index(url, ca)
    except OSError as problem:
        cannot_run(f"no server can listen on {address}, where sandboxes would reach it: {problem}")


def backend(box: Box, store: Path, ca: Path | None) -> Backend:
    if box.factory.name == "bubblewrap":
        return Bubblewrap(store, owner("ca"), slots=1, ca_certificates=ca)
    return Docker(store, owner("ca"), slots=1, ca_certificates=ca, shared_paths=box.factory.name == "docker")


def answer(box: Box, store: Path, index: Index, ca: Path | None) -> bytes:
    """What the index's package says in a sandbox after it was installed by a set-up that trusts `ca`."""
    install = ("pip", "install", "--no-deps", "--index-url", f"{index.url}/simple", "sweeper-probe-package")
    chain = Toolchain(tools=("python3",), setup=(install,), image=image_of(box), key=index.url)
    made = backend(box, store, ca)
    try:
        snapshot = box.portal.call(made.prepare, TREE, chain)
        spec = box.spec("python3", "-c", LOOK, snapshot=snapshot)
        return box.done(spec, box.portal.call(made.run, spec)).stdout
    finally:
        box.portal.call(made.aclose)


def image_of(box: Box) -> str:
    """The toolchain image as it is: with the authority in its definition it would be another one."""
    if box.factory.name == "bubblewrap":
        return ""
    made = box.backend
    assert isinstance(made, Docker)
    return box.portal.call(made._open).images._tag("python")


@pytest.mark.slow
def test_setup_trusts_the_configured_authorities(box: Box, store: Path, index: Index) -> None:
    box.snapshot(TREE)  # the image is there
    assert answer(box, store, index, index.ca) == b"42\n"


@pytest.mark.slow
def test_setup_trusts_those_of_the_environment(
    box: Box, store: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.snapshot(TREE)
    monkeypatch.setenv("SSL_CERT_FILE", str(index.ca))
    assert answer(box, store, index, None) == b"42\n"


@pytest.mark.slow
def test_setup_trusts_nobody_else(box: Box, store: Path, index: Index) -> None:
    box.snapshot(TREE)
    with pytest.raises(CheckBroken, match="CERTIFICATE_VERIFY_FAILED"):
        answer(box, store, index, None)


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("configured", [True, False])
async def test_an_image_is_built_with_them(
    docker_engine: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    """The authority stands in the image's own bundle, before the definition's first step that needs a network."""
    ca = authority(tmp_path, "127.0.0.1")
    tag = f"sweeper/ruby:test-{secrets.token_hex(8)}"
    monkeypatch.setattr(Images, "_tag", lambda images, name, **more: tag)
    if configured:
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    else:
        monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    engine = await connected(1)
    try:
        image = await Images(engine, ca if configured else None).settle(Toolchain(name="ruby"))
        said = docker_engine.containers.run(image, ["cat", str(authorities.SYSTEM[0])], remove=True)
        assert said.endswith(ca.read_bytes())
        assert said.count(b"BEGIN CERTIFICATE") > 100
    finally:
        docker_engine.images.remove(tag)
        engine.close()


def test_a_bundle_holds_the_machines_own_and_the_extra_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system, ours, theirs = (tmp_path / name for name in ("system", "ours", "theirs"))
    system.write_text("system\n")
    for number, file in enumerate((ours, theirs)):
        file.write_text(ssl.DER_cert_to_PEM_cert(bytes([48, 3, 2, 1, number]) * 20))
    monkeypatch.setattr(authorities, "SYSTEM", (tmp_path / "none", system))
    assert authorities.bundle(None, {}) == b""
    assert authorities.bundle(None, {"SSL_CERT_FILE": str(system)}) == b""
    both = b"system\n" + ours.read_bytes() + theirs.read_bytes()
    assert authorities.bundle(ours, {"SSL_CERT_FILE": str(theirs)}) == both
    assert authorities.bundle(ours, {"SSL_CERT_FILE": str(system)}) == b"system\n" + ours.read_bytes()
    assert authorities.extra(ours, {"SSL_CERT_FILE": str(ours)}) == ours.read_bytes()


def test_a_bundle_that_cannot_be_read_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        authorities.bundle(tmp_path / "missing", {})
    assert "ca_certificates" in caught.value.hint
