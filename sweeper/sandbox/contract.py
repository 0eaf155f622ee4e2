"""The contract of a sandbox backend: one call is one sandbox's whole life.

A backend is a class that satisfies `Backend`. Everything a caller may know is in these values: no container
id, process id, mount or host path of a sandbox leaks. Inside, the repository root is always WORK, inputs lie
read-only under INPUTS, HOME and /tmp are empty, private and writable.
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sweeper.errors import SandboxFailed
from sweeper.records import Change, Listing, Owner

WORK = "/swept"
INPUTS = "/sweeper"
DOOR = "/run/sweeper"
HOME = "/home/sweeper"
PASSING = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # trouble that others cause and that ends
SANDBOX_UID = 65532  # used when the coordinator is root; otherwise the coordinator's own uid and gid


class Role(enum.StrEnum):
    CHECK = "check"
    AGENT = "agent"
    VERIFIER = "verifier"
    GATE = "gate"
    SETUP = "setup"
    PROBE = "probe"


@dataclass(frozen=True, slots=True)
class Name:
    """A deterministic identity: a retried create finds the first sandbox by it."""

    run: str
    unit: str
    attempt: int
    role: Role
    index: int = 0

    def __str__(self) -> str:
        return f"sweeper-{self.run}-{self.unit[:16]}-{self.attempt}-{self.role}-{self.index}"


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits. Bytes, except `pids` (processes and threads) and `cpus` (cores, may be fractional)."""

    memory: int = 2 << 30
    pids: int = 512
    cpus: float = 1.0
    disk: int = 1 << 30
    output: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds; None switches a clock off. `first_output` and `idle` watch stdout and stderr together.

    `idle` counts from what was printed last; from the start on only where there is no `first_output`.
    """

    wall: float = 600.0
    first_output: float | None = None
    idle: float | None = None


class Clock(enum.StrEnum):
    FIRST_OUTPUT = "first_output"
    IDLE = "idle"
    WALL = "wall"


@dataclass(frozen=True, slots=True)
class LayerCaps:
    """Bounds on what is read out of a layer; beyond them an entry is reported, never read."""

    entries: int = 200_000
    file_bytes: int = 5_000_000
    total_bytes: int = 50_000_000
    depth: int = 64
    path_bytes: int = 1024


class EntryKind(enum.StrEnum):
    FILE = "file"
    DELETED = "deleted"
    SYMLINK = "symlink"
    SPECIAL = "special"  # device, fifo, socket
    REFUSED_NAME = "refused_name"  # .git in any spelling, control characters, backslash
    TOO_BIG = "too_big"
    TOO_DEEP = "too_deep"
    TOO_MANY = "too_many"
    UNREADABLE = "unreadable"
    ODD = "odd"  # redirect, metacopy, changed while read


@dataclass(frozen=True, slots=True)
class Entry:
    """One path that the sandbox changed (unchanged content is already dropped by hash).

    `data` is present for a FILE that `wanted` and lies within the caps; `executable`: any x bit was set.
    """

    path: bytes
    kind: EntryKind
    size: int = 0
    data: bytes | None = field(default=None, repr=False)
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Layer:
    """What a stopped sandbox wrote, sorted by path. `truncated`: a cap on entries was hit."""

    entries: tuple[Entry, ...] = ()
    truncated: bool = False


def nothing_wanted(path: bytes) -> bool:
    """Read no content: list paths only."""
    return False


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Which tools a snapshot needs. `name`: a folder of sandboxes/ or "" ; `image` overrides it on engines.

    `tools`: program names (argv[0]) that must resolve; `setup`: commands (argv lists) run once, networked and
    without credentials, at the repository root; `key`: a digest of the lock files that they install from.
    `local`: folders of the work tree, relative to its root, where they put programs; first on PATH.
    `agents`: folders of sandboxes/ that are laid over the image, one by one.
    """

    name: str = "python"
    image: str = ""
    tools: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    key: str = ""
    local: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


class Tree(Protocol):
    """One commit, as the repository's door hands it out."""

    @property
    def commit(self) -> str: ...

    @property
    def listing(self) -> Listing: ...

    async def write_to(self, directory: Path) -> None:
        """Write raw blobs (no filters, no attributes) with modes and links, plus a synthetic one-commit
        `.git` without remote whose index is fresh. Submodules become empty directories."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Toolchain + tree at one commit; immutable, shared copy-on-write. `handle` belongs to the backend."""

    commit: str
    listing: Listing = field(repr=False)
    handle: Any = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class Spec:
    """One sandbox. `stdout`/`stderr` are files of the coordinator that receive capped output.

    `cwd` is relative to WORK. `changes` are laid over the snapshot before the command starts and count as the
    base of the layer (a verifier sees base + change). `env` comes on top of the backend's fixed allow-list.
    `inputs`: file name -> bytes, read-only under INPUTS. `wanted` selects the paths whose content is read.
    `door`: a folder of the coordinator with one socket in it, mounted read-only at DOOR: the only way out of a
    sandbox without network. `secrets` are kept out of what it prints. `deadline` (epoch seconds) is when anybody may
    reap it.
    """

    name: Name
    snapshot: Snapshot
    argv: tuple[str, ...]
    stdout: Path
    stderr: Path
    cwd: str = "."
    stdin: bytes = field(default=b"", repr=False)
    env: Mapping[str, str] = field(default_factory=dict)
    inputs: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    changes: tuple[Change, ...] = ()
    limits: Limits = Limits()
    clocks: Clocks = Clocks()
    network: bool = False
    door: Path | None = None
    secrets: tuple[bytes, ...] = field(default=(), repr=False)
    wanted: Callable[[bytes], bool] = nothing_wanted
    read_layer: bool = True
    caps: LayerCaps = LayerCaps()
    fire: str = ""
    deadline: float = 0.0


@dataclass(frozen=True, slots=True)
class Facts:
    """How the command ended: separate facts, no interpretation. Seconds are wall time of the command.

    Exactly one of `exit_code` and `signal` is set. `clock`: which of *our* clocks ended it. `oom`: the
    memory limit was hit (killed by kernel, engine or watchdog), in whatever process of the sandbox.
    """

    exit_code: int | None
    signal: int | None = None
    oom: bool = False
    clock: Clock | None = None
    output_truncated: bool = False
    disk_full: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Ran:
    facts: Facts
    layer: Layer


@dataclass(frozen=True, slots=True)
class Handle:
    """A sandbox that exists on this backend, as far as its labels tell."""

    name: str
    run: str
    unit: str
    attempt: int
    role: str
    owner: Owner
    deadline: float
    running: bool
    index: int = 0
    ref: Any = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class Probe:
    """`ok` with the way every limit is enforced, or a refusal with its cause and the way out.

    `enforced`: limit name -> how ("cgroup", "rlimit", "tmpfs", "watchdog", "engine",
    "affinity", "file system").
    `notes`: one-line remarks for `doctor`.
    """

    backend: str
    ok: bool
    version: str = ""
    why: str = ""
    hint: str = ""
    enforced: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Backend(Protocol):
    """Satisfied by each module's class. All methods may raise `SandboxFailed`; a missing tool of the
    toolchain raises `CheckBroken` (exit 3) and names the line to add. Cancellation of `run` stops the
    sandbox, removes it (shielded) and re-raises."""

    name: str

    async def probe(self) -> Probe: ...

    async def prepare(self, tree: Tree, toolchain: Toolchain) -> Snapshot: ...

    async def run(self, spec: Spec) -> Ran: ...

    async def list(self, owner: str | None = None) -> Sequence[Handle]: ...

    async def salvage(self, handle: Handle, snapshot: Snapshot, wanted: Callable[[bytes], bool]) -> Layer | None:
        """Stop it, read its layer, remove it; None if nothing is left to read."""

    async def reap(self, handles: Sequence[Handle]) -> int: ...

    async def aclose(self) -> None: ...


def machine_failed(problem: OSError) -> SandboxFailed:
    """What has no descriptor, memory or room left is the coordinator's machine: no command's and no unit's failure."""
    what = f"this machine failed a sandbox: {problem}"
    return SandboxFailed(what, retryable=problem.errno in PASSING, may_have_run=True)
