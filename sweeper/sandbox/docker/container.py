"""A sandbox as a container's configuration, and its identity as labels. No IO.

Nothing secret is in here: environment and command line can be read by anyone who may ask the engine.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sweeper.records import Owner
from sweeper.sandbox.accounts import ENVIRONMENT
from sweeper.sandbox.contract import HOME, WORK, Handle, Limits, Spec

NAMESPACE = "io.sweeper"
# An engine that answers late may start the command late: the inner deadline leaves our own clock the first word.
INNER_GRACE = 30.0
TMP_FLOOR = 64 << 20


@dataclass(frozen=True, slots=True)
class Manner:
    """What differs between engines: the sandbox's user, the OCI runtime, and whether user ids are remapped."""

    user: str
    runtime: str = ""
    host_user_namespace: bool = False

    def host(self, **more: Any) -> dict[str, Any]:
        """A HostConfig: what holds for every container of ours, and what is one's own."""
        held = {"CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges"], "Init": True, "LogConfig": {"Type": "none"}}
        if self.runtime:
            held["Runtime"] = self.runtime
        if self.host_user_namespace:
            held["UsernsMode"] = "host"
        return held | more


@dataclass(frozen=True, slots=True)
class Ref:
    """The engine's side of a Handle."""

    container: str
    upper: str


def inner_deadline(spec: Spec, now: float) -> int:
    """Seconds after which the sandbox ends by itself, whether or not a coordinator still lives."""
    until = spec.deadline - now if spec.deadline else spec.clocks.wall + INNER_GRACE
    return max(1, math.ceil(until))


def labels(spec: Spec, owner: Owner, token: str, upper: str) -> dict[str, str]:
    """`token` is of one `run` call: it tells a container that this very call created from any other."""
    name = spec.name
    own = {
        "name": str(name),
        "run": name.run,
        "fire": spec.fire,
        "unit": name.unit,
        "attempt": str(name.attempt),
        "role": str(name.role),
        "index": str(name.index),
        "deadline": repr(spec.deadline),
        "token": token,
        "upper": upper,
    }
    return owner_labels(owner) | {f"{NAMESPACE}.{key}": value for key, value in own.items()}


def owner_labels(owner: Owner) -> dict[str, str]:
    return {
        f"{NAMESPACE}.owner": owner.id,
        f"{NAMESPACE}.owner.host": owner.host,
        f"{NAMESPACE}.owner.pid": str(owner.pid),
        f"{NAMESPACE}.owner.started": repr(owner.started),
        f"{NAMESPACE}.owner.boot": owner.boot,
    }


def handle(found: Mapping[str, Any]) -> Handle | None:
    """One entry of the engine's container list; None if it does not carry all of our labels."""
    marks = {
        key.removeprefix(f"{NAMESPACE}."): value
        for key, value in (found.get("Labels") or {}).items()
        if key.startswith(f"{NAMESPACE}.")
    }
    try:
        owner = Owner(
            id=marks["owner"],
            host=marks["owner.host"],
            pid=int(marks["owner.pid"]),
            started=float(marks["owner.started"]),
            boot=marks["owner.boot"],
        )
        return Handle(
            name=marks["name"],
            run=marks["run"],
            unit=marks["unit"],
            attempt=int(marks["attempt"]),
            role=marks["role"],
            owner=owner,
            deadline=float(marks["deadline"]),
            running=found.get("State") in ("running", "paused", "restarting"),
            index=int(marks["index"]),
            ref=Ref(container=found["Id"], upper=marks["upper"]),
        )
    except (KeyError, ValueError):
        return None


def overlay(lower: str, upper: str, work: str, marks: Mapping[str, str]) -> dict[str, Any]:
    """The workspace as a volume that the engine mounts for this one container and forgets with it.

    `userxattr`: an ordinary user can read the marks of deletions, and the sandbox cannot forge them.
    """
    options = f"lowerdir={lower},upperdir={upper},workdir={work},userxattr,redirect_dir=nofollow,metacopy=off,index=off"
    return {
        "Type": "volume",
        "Target": WORK,
        "VolumeOptions": {
            "NoCopy": True,
            "Labels": dict(marks),
            "DriverConfig": {"Name": "local", "Options": {"type": "overlay", "device": "overlay", "o": options}},
        },
    }


def read_only_bind(source: str, target: str) -> dict[str, Any]:
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": True}


def working_directory(spec: Spec) -> str:
    return posixpath.normpath(posixpath.join(WORK, spec.cwd))


def _scratch(limits: Limits, user: str, *, read_only: bool) -> dict[str, str]:
    """What a command may write besides its workspace: path -> options of a file system in memory."""
    uid, gid = user.split(":")
    size = min(limits.disk, max(TMP_FLOOR, limits.memory // 2))
    private = f"rw,exec,nosuid,nodev,size={size}"
    usual = {"/tmp": f"{private},mode=1777", HOME: f"{private},mode=0700,uid={uid},gid={gid}"}
    if read_only:
        return usual
    # Every folder of a usual image that anyone may write to; the rest is root's, and the command is not.
    return usual | {"/var/tmp": f"{private},mode=1777", "/run": "rw,nosuid,nodev,size=1m,mode=0755"}


def configuration(
    spec: Spec,
    image: str,
    manner: Manner,
    mounts: list[dict[str, Any]],
    marks: Mapping[str, str],
    now: float,
    *,
    path: str = "",
    first: Sequence[str] = (),
    largest_file: int | None = None,
    read_only: bool = True,
) -> dict[str, Any]:
    """The body of a create call: the command as the main process below a reaping init and a clock of its own."""
    limits = spec.limits
    ulimits = [{"Name": "core", "Soft": 0, "Hard": 0}]
    if largest_file is not None:
        ulimits.append({"Name": "fsize", "Soft": largest_file, "Hard": largest_file})
    host = manner.host(
        Mounts=mounts,
        Tmpfs=_scratch(limits, manner.user, read_only=read_only),
        ReadonlyRootfs=read_only,
        Memory=limits.memory,
        MemorySwap=limits.memory,
        PidsLimit=limits.pids,
        NanoCpus=int(limits.cpus * 1e9),
        Ulimits=ulimits,
    )
    wants_input = bool(spec.stdin)
    environment = ENVIRONMENT | ({"PATH": path} if path else {}) | dict(spec.env)
    return {
        "Image": image,
        "Entrypoint": [*first, "timeout", "-s", "KILL", str(inner_deadline(spec, now))],
        "Cmd": list(spec.argv),
        "User": manner.user,
        "WorkingDir": working_directory(spec),
        "Env": [f"{key}={value}" for key, value in environment.items()],
        "Labels": dict(marks),
        "NetworkDisabled": not spec.network,
        "AttachStdout": True,
        "AttachStderr": True,
        "AttachStdin": wants_input,
        "OpenStdin": wants_input,
        "StdinOnce": wants_input,
        "Tty": False,
        "HostConfig": host,
    }
