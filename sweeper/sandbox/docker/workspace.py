"""What the docker backend needs of a way to get a repository into a container and its changes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sweeper.records import Listing
from sweeper.sandbox.contract import Layer, LayerCaps, Spec, Toolchain, Tree
from sweeper.sandbox.docker.container import Ref
from sweeper.sandbox.layer import Base


@dataclass(frozen=True, slots=True)
class Prepared:
    """A snapshot as the engine runs it.

    `lowers`: an overlay's lower directories, topmost first. `size`: bytes of a tree that lies in the image.
    `kept`: the lower directory with what a setup left in the work tree; `left`: the same, where it lies in the
    image. `path`: PATH instead of the image's.
    """

    image: str
    base: Base
    lowers: tuple[Path, ...] = ()
    size: int = 0
    kept: Path | None = None
    left: Listing = field(default_factory=dict, repr=False)
    path: str = ""


class Workspaces(Protocol):
    """`Overlays` where the engine sees this machine's disk, `TreeImages` where it does not.

    A place is what one sandbox needs besides its container; it is opaque to the caller.
    """

    name: str
    read_only: bool

    async def prepare(self, tree: Tree, image: str, toolchain: Toolchain) -> Prepared: ...

    async def open(self, spec: Spec) -> Any:
        """A place for this spec, with its changes and inputs."""

    def upper(self, place: Any) -> str:
        """What a label may say of the place, so that another process finds it."""

    def mounts(self, place: Any, spec: Spec, marks: Mapping[str, str]) -> list[dict[str, Any]]: ...

    def first(self, place: Any, cwd: str) -> list[str]:
        """A command line that does what is left to do in the container, and then runs its further arguments."""

    async def fill(self, place: Any, container: str, spec: Spec) -> None:
        """Whatever must be put into the created container before it starts."""

    def disk(self, place: Any) -> tuple[bool, bool]:
        """(over the limit, full); blocks. Raises SandboxFailed if what the sandbox depends on is gone."""

    def largest_file(self, place: Any) -> int | None:
        """A limit for one file, in bytes, where the disk limit as a whole is only watched."""

    async def layer(
        self, ref: Ref, prepared: Prepared, base: Base, caps: LayerCaps, wanted: Callable[[bytes], bool]
    ) -> Layer | None:
        """What the stopped container wrote; None if nothing is left of it."""

    async def close(self, place: Any, *, free: bool) -> None:
        """Delete what was written. `free`: no container holds the place any more."""

    async def forget(self, ref: Ref) -> None:
        """Delete what a removed container wrote, whoever owned it."""
