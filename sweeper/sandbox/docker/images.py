"""Toolchain images: built from `sandboxes/<name>`, or pulled, and settled to one image id before anything runs.

An agent's folder holds its pins alone and shares the rest with the other agents from the same registry. A build is
named by the digest of its files, so that a changed definition is a new image and an unchanged one is found. Whatever
goes wrong here is about the machine or the configuration: it ends the run and is no unit's failure.
"""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio
import docker.errors
from docker.utils import parse_repository_tag

from sweeper.data import data_folder
from sweeper.errors import ConfigError, SandboxFailed
from sweeper.sandbox import authorities
from sweeper.sandbox.contract import WORK, Toolchain
from sweeper.sandbox.docker.container import NAMESPACE
from sweeper.sandbox.docker.engine import BROKEN, Conflict, Engine, Missing, failure

CERTIFICATES = "ca.crt"
AGENTS = {"package.json": "agent-npm", "requirements.lock": "agent-pypi"}  # pins -> the definition that installs them
LOG_LINES = 20
USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # an engine's own, where an image has none
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


class Images:
    """The images of one engine. `certificates`: a bundle of extra authorities that builds need, or None."""

    def __init__(self, engine: Engine, certificates: Path | None) -> None:
        self._engine = engine
        self._certificates = certificates
        self._known: dict[tuple[str, str, tuple[str, ...]], str] = {}
        self._settling = anyio.Lock()

    async def settle(self, toolchain: Toolchain) -> str:
        """The toolchain's image id, built or pulled first if the engine has none. Asked once per toolchain.

        Raises ConfigError for a name that has no definition, SandboxFailed (final) if there is no image to be had.
        """
        key = (toolchain.name, toolchain.image, toolchain.agents)
        async with self._settling:
            if key not in self._known:
                make = self._pulled(toolchain.image) if toolchain.image else self._built(toolchain.name)
                image = await make
                for agent in toolchain.agents:
                    image = await self._built(agent, over=image)
                self._known[key] = image
            return self._known[key]

    async def there(self, toolchain: Toolchain) -> str | None:
        """The toolchain's image id if the engine already has it."""
        image = await self.find(toolchain.image or self._tag(toolchain.name))
        for agent in toolchain.agents:
            if image is None:
                return None
            image = await self.find(self._tag(agent, over=image))
        return image

    async def path(self, image: str, toolchain: Toolchain) -> str:
        """PATH with the work tree's own folders in front of the image's; "" if it is the image's."""
        if not toolchain.local:
            return ""
        found = await self._engine.call("look for an image", self._engine.control.inspect_image, image)
        given = [each for each in found["Config"].get("Env") or () if each.startswith("PATH=")]
        usual = given[-1].removeprefix("PATH=") if given else USUAL_PATH
        return ":".join([*(f"{WORK}/{folder}" for folder in toolchain.local), usual])

    async def refuse_hiding(self, image: str) -> None:
        """Raises SandboxFailed (final) for an image that lays a volume over a part of the work tree: whatever the
        commit has there would not be seen, and nothing found in it."""
        found = await self._engine.call("look for an image", self._engine.control.inspect_image, image)
        for volume in found["Config"].get("Volumes") or ():
            if posixpath.normpath(volume).startswith(f"{WORK}/"):
                raise SandboxFailed(
                    f"the image {image} declares the volume {volume}, which would hide a part of the repository",
                    hint=f"use an image without a VOLUME below {WORK}",
                )

    async def find(self, reference: str) -> str | None:
        try:
            found = await self._engine.call("look for an image", self._engine.control.inspect_image, reference)
        except Missing:
            return None
        return str(found["Id"])

    async def untag(self, reference: str) -> bool:
        """Take the name away, and the image with its last name; False if somebody uses it."""
        try:
            await self._engine.call("remove an image", self._engine.control.remove_image, reference)
        except (Missing, Conflict):
            return False
        return True

    async def _pulled(self, reference: str) -> str:
        if found := await self.find(reference):
            return found
        repository, tag = parse_repository_tag(reference)
        streams = self._engine.streams

        def pull() -> None:
            for line in streams.pull(repository, tag=tag or "latest", stream=True, decode=True):
                if "error" in line:
                    raise final(f"pull the image {reference}", str(line["error"]))

        await self._long(f"pull the image {reference}", pull)
        found = await self.find(reference)
        if found is None:
            raise SandboxFailed(f"the engine pulled {reference} and does not have it")
        return found

    def _tag(self, name: str, *, over: str = "") -> str:
        """Named by the definition, the image below and the configured authorities.

        The authorities of the environment only serve the build.
        """
        digest = hashlib.sha256(over.encode())
        context = build_context(name, authorities.extra(self._certificates, {}), agent=bool(over))
        for file, data in sorted(context.items()):
            digest.update(f"{len(file)} {file} {len(data)} ".encode() + data)
        return f"sweeper/{name}:{digest.hexdigest()[:16]}"

    async def _built(self, name: str, *, over: str = "") -> str:
        """`over`: the image below, for a definition that is laid over another one."""
        tag = self._tag(name, over=over)
        if found := await self.find(tag):
            return found
        context = build_context(name, authorities.extra(self._certificates, os.environ), agent=bool(over))
        streams = self._engine.streams

        def build() -> None:
            said: list[str] = []
            for line in streams.build(
                fileobj=packed(context),
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                decode=True,
                buildargs={key: os.environ[key] for key in PROXIES if key in os.environ}
                | ({"TOOLCHAIN": over, "AGENT": name} if over else {}),
                labels={f"{NAMESPACE}.toolchain": name},
            ):
                if text := line.get("stream", "").rstrip():
                    said = [*said, text][-LOG_LINES:]
                if "error" in line:
                    raise final(f"build the toolchain image {name!r}", str(line["error"]), said)

        await self._long(f"build the toolchain image {name!r}", build)
        found = await self.find(tag)
        if found is None:
            raise SandboxFailed(f"the engine built {tag} and does not have it")
        return found

    async def _long(self, doing: str, work: Any) -> None:
        """A build or a pull: long, and never repeated by itself."""
        try:
            await self._engine.stream(work)
        except (docker.errors.DockerException, *BROKEN) as problem:
            raise final(doing, str(failure(problem, doing))) from problem


def final(doing: str, said: str, log: Iterable[str] = ()) -> SandboxFailed:
    """An image that is not to be had: nothing of it is tried again by a unit."""
    known = failure(RuntimeError(said), doing)
    hint = known.hint or "`--sandbox bubblewrap` needs no image; or set `image` to one that the engine has"
    return SandboxFailed("\n".join([str(known), *log]), hint=hint)


def build_context(name: str, certificates: bytes, *, agent: bool = False) -> dict[str, bytes]:
    """The files of a definition, these certificate authorities in place of its empty bundle.

    `agent`: one that is laid over another image, with the files that it shares. Raises ConfigError for a toolchain
    that there is none of.
    """
    if not agent and name not in definitions_here():
        raise ConfigError(
            f"no toolchain is named {name!r}",
            hint=f"the toolchains are: {', '.join(definitions_here())}; or set `image` to an image's name",
        )
    context = _files(name)
    if agent:
        context |= _files(next(shared for pins, shared in AGENTS.items() if pins in context))
    if certificates and CERTIFICATES in context:
        context[CERTIFICATES] = certificates
    return context


def _files(name: str) -> dict[str, bytes]:
    folder = data_folder("sandboxes") / name
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def definitions_here() -> list[str]:
    """The names of the toolchains that ship; an agent's definition is laid over one of them, and none itself."""
    files = data_folder("sandboxes").glob("*/Dockerfile")
    return sorted({file.parent.name for file in files} - set(AGENTS.values()))


def packed(files: Mapping[str, bytes], *, mode: int = 0o644) -> io.BytesIO:
    """A tar of these files, all of them root's."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    buffer.seek(0)
    return buffer
