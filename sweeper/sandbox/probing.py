"""A miniature unit with the production flags, and what a refusal means. Both backends' probe runs it.

The unit edits, deletes, recreates a directory and changes a mode; its layer must be exactly the expected one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from sweeper.records import BaseEntry, Listing
from sweeper.sandbox.contract import Clocks, EntryKind, Limits, Name, Ran, Role, Snapshot, Spec

FILES = {b"edit": b"one\n", b"gone": b"two\n", b"folder/a": b"a\n", b"folder/b": b"b\n", b"mode": b"mode\n"}
SCRIPT = (
    "echo more >> edit && rm gone && rm -r folder && mkdir folder && echo c > folder/c && chmod 755 mode && "
    "cat /proc/self/status"
)
EXPECTED = {
    b"edit": (EntryKind.FILE, b"one\nmore\n"),
    b"folder/a": (EntryKind.DELETED, None),
    b"folder/b": (EntryKind.DELETED, None),
    b"folder/c": (EntryKind.FILE, b"c\n"),
    b"gone": (EntryKind.DELETED, None),
}
APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
CLONE = Path("/proc/sys/kernel/unprivileged_userns_clone")
NAMESPACES = Path("/proc/sys/user/max_user_namespaces")


class MiniatureTree:
    """A tree of a few files that is in no repository."""

    def __init__(self, files: Mapping[bytes, bytes] = FILES) -> None:
        self._files = files
        self._listing = {
            path: BaseEntry(0o100644, hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest())
            for path, data in files.items()
        }

    @property
    def commit(self) -> str:
        return "probe-" + hashlib.sha256(repr(sorted(self._files.items())).encode()).hexdigest()[:16]

    @property
    def listing(self) -> Listing:
        return self._listing

    async def write_to(self, directory: Path) -> None:
        for path, data in self._files.items():
            file = directory / os.fsdecode(path)
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(data)


async def miniature(
    snapshot: Snapshot, run: Callable[[Spec], Awaitable[Ran]], owner: str, limits: Limits | None = None
) -> str:
    """Run the unit; "" if its layer and its rights are the expected ones, else what is different."""
    with tempfile.TemporaryDirectory(prefix="sweeper-probe-") as folder:
        spec = Spec(
            name=Name("probe", owner, 1, Role.PROBE),
            snapshot=snapshot,
            argv=("sh", "-c", SCRIPT),
            stdout=Path(folder, "stdout"),
            stderr=Path(folder, "stderr"),
            limits=limits or Limits(memory=256 << 20, pids=64, disk=64 << 20, output=1 << 20),
            clocks=Clocks(wall=60),
            wanted=lambda path: True,
        )
        ran = await run(spec)
        said, complaint = spec.stdout.read_text(errors="replace"), spec.stderr.read_text(errors="replace").strip()
    if ran.facts.exit_code != 0:
        return f"the probe's command ended with {ran.facts.exit_code or ran.facts.signal}: {complaint[:500]}"
    got = {entry.path: (entry.kind, entry.data) for entry in ran.layer.entries}
    for path in sorted({*EXPECTED, *got}):
        if got.get(path) != EXPECTED.get(path):
            return f"the probe's layer has {got.get(path)} for {os.fsdecode(path)}, not {EXPECTED.get(path)}"
    status = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
    rights = {status.get(name, "?").strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    if rights != {"0" * 16} or status.get("NoNewPrivs", "").strip() != "1":
        return f"the probe's command had rights: capabilities {sorted(rights)}, NoNewPrivs {status.get('NoNewPrivs')}"
    return ""


def explain_namespaces(program: str, said: str) -> str:
    """The way out where user namespaces are refused: the causes that this machine's settings show."""
    ways = []
    if _setting(APPARMOR) == "1":
        ways.append(
            "AppArmor refuses user namespaces to programs without a profile. Either\n"
            "  sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\n"
            "or allow these two programs in a file below /etc/apparmor.d and load it with apparmor_parser -r:\n"
            f"  profile sweeper-bwrap {program} flags=(unconfined) {{ userns, }}\n"
            f"  profile sweeper-holder {_interpreter()} flags=(unconfined) {{ userns, }}"
        )
    if _setting(CLONE) == "0":
        ways.append("sudo sysctl -w kernel.unprivileged_userns_clone=1")
    if _setting(NAMESPACES) == "0":
        ways.append("sudo sysctl -w user.max_user_namespaces=15000")
    if in_container():
        ways.append(
            "This is a container: start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            "and, if /proc is masked, --security-opt systempaths=unconfined; or run sweeper on the host."
        )
    if "overlay" in said:
        ways.append("An overlay in a user namespace needs Linux 5.11, its marks on a tmpfs need 6.6.")
    ways.append("Or use an engine: --sandbox docker.")
    return "\n".join(ways)


def in_container() -> bool:
    return any(os.path.exists(mark) for mark in ("/.dockerenv", "/run/.containerenv"))


def _setting(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _interpreter() -> str:
    return os.path.realpath("/proc/self/exe")
