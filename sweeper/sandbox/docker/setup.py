"""`Toolchain.setup`: commands run once, networked and without credentials, kept as an image and a lower directory.

They run as root of a container with the few rights that installing needs, so that they may write where tools live.
What they leave in the workspace (an installed environment, node_modules) belongs to the sandbox's user afterwards;
what they changed of the commit's own files is undone: a toolchain is shared by commits.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import stat
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from sweeper.records import Listing, Owner
from sweeper.sandbox import authorities
from sweeper.sandbox.accounts import ENVIRONMENT
from sweeper.sandbox.contract import WORK, Toolchain
from sweeper.sandbox.docker.container import NAMESPACE, Manner, owner_labels
from sweeper.sandbox.docker.creating import create, remove
from sweeper.sandbox.docker.engine import Engine
from sweeper.sandbox.docker.images import Images, packed
from sweeper.sandbox.docker.running import Running, kill, wait
from sweeper.sandbox.output import Output
from sweeper.sandbox.setups import CLOCKS, OUTPUT, failed, tails
from sweeper.sandbox.space import on_host

TRACKED = "/sweeper-tracked"
RIGHTS = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "FSETID"]


@dataclass(frozen=True, slots=True)
class SetUp:
    """Runs a toolchain's commands on one engine. `certificates`: a bundle of extra authorities that they trust."""

    engine: Engine
    images: Images
    owner: Owner
    manner: Manner
    certificates: Path | None = None

    def tag(self, toolchain: Toolchain, image: str, workspace: str) -> str:
        """Named by what decides what is installed and by the kind of workspace, never by a commit."""
        key = f"{toolchain.key} {toolchain.setup} {image} {self.manner.user} {toolchain.local} {workspace}"
        return f"sweeper/setup:{hashlib.sha256(key.encode()).hexdigest()[:32]}"

    async def run(
        self, toolchain: Toolchain, image: str, tag: str, mounts: list[dict[str, Any]], drop: Iterable[bytes] = ()
    ) -> None:
        """Commits the image as `tag`, without the files `drop` of the work tree.

        Raises CheckBroken with the end of the output if a command fails.
        """
        engine = self.engine
        trusted = authorities.bundle(self.certificates, os.environ)
        files = {authorities.INSIDE[1:]: trusted} if trusted else {}
        if tracked := b"\0".join(drop):
            files[TRACKED[1:]] = tracked
        path = await self.images.path(image, toolchain)
        body = self._body(toolchain, image, mounts, path=path, trusting=bool(trusted), dropping=bool(tracked))
        container = await create(engine, body, f"sweeper-setup-{secrets.token_hex(8)}")
        try:
            if files:
                put = packed(files).getvalue()
                await engine.call("copy files", lambda: engine.streams.put_archive(container, "/", put))
            with tempfile.TemporaryDirectory(prefix="sweeper-setup-") as folder:
                out, err = Path(folder, "stdout"), Path(folder, "stderr")
                output = Output(out, err, OUTPUT, CLOCKS, time.monotonic())
                try:
                    facts = await Running(engine, container, b"", output, lambda: (False, False)).to_end()
                finally:
                    output.close()
                said = tails(out, err)
            if facts.exit_code != 0:
                raise failed(toolchain, facts, said, "with a network and as root", CLOCKS.wall)
            repository, version = tag.split(":")
            await engine.call(
                "keep the toolchain as an image", lambda: engine.streams.commit(container, repository, version)
            )
        finally:
            with anyio.CancelScope(shield=True):
                if await kill(engine, container):
                    await wait(engine, container)
                await remove(engine, container)

    def _body(
        self,
        toolchain: Toolchain,
        image: str,
        mounts: list[dict[str, Any]],
        *,
        path: str,
        trusting: bool,
        dropping: bool,
    ) -> dict[str, Any]:
        uid, gid = self.manner.user.split(":")
        tmpfs = {"/tmp": "rw,exec,nosuid,nodev,mode=1777"}
        environment = {**ENVIRONMENT, "HOME": "/tmp"}
        if path:
            environment["PATH"] = path
        if trusting:
            environment |= dict.fromkeys(authorities.VARIABLES, authorities.INSIDE)
        return {
            "Image": image,
            "Entrypoint": ["timeout", "-s", "KILL", str(int(CLOCKS.wall) + 60), "sh", "-c"],
            "Cmd": [script(toolchain.setup, uid, gid, dropping=dropping)],
            "User": "0:0",
            "WorkingDir": WORK,
            "Env": [f"{key}={value}" for key, value in environment.items()],
            "Labels": owner_labels(self.owner) | {f"{NAMESPACE}.token": secrets.token_hex(8)},
            "AttachStdout": True,
            "AttachStderr": True,
            "HostConfig": self.manner.host(Mounts=mounts, Tmpfs=tmpfs, CapAdd=RIGHTS),
        }


def script(commands: tuple[tuple[str, ...], ...], uid: str, gid: str, *, dropping: bool = False) -> str:
    """The commands one after the other, up to the first that fails, and their files given to the sandbox's user."""
    lines = ["set -e", *(shlex.join(command) for command in commands)]
    if dropping:
        lines += [
            f"cd {WORK} && xargs -0 -r rm -rf -- .git < {TRACKED} && rm {TRACKED}",
            "find . -mindepth 1 -depth -type d -empty -exec rmdir {} +",
        ]
    if uid != "0":
        lines.append(f"find {WORK} -xdev -uid 0 -exec chown -h {uid}:{gid} {{}} +")
    return "\n".join(lines)


def keep_untracked(upper: Path, target: Path, listing: Listing) -> None:
    """Copy an upper directory without what it says of the commit's own files. Blocks."""
    on_host("cp", "-a", "--", f"{upper}/.", str(target), check=True)
    folders = {parent for path in listing for parent in _parents(path)}
    for top, names, files, fd in os.fwalk(target, follow_symlinks=False):
        below = os.fsencode(os.path.relpath(top, target))
        prefix = b"" if below == b"." else below + b"/"
        if below in folders or not prefix:
            _unmark(fd)
        for name in (*names, *files):
            path = prefix + os.fsencode(name)
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            # A whiteout can only hide what the commit has: it is the one thing below.
            theirs = path in listing or path == b".git" or (path in folders and not stat.S_ISDIR(mode))
            if theirs or stat.S_ISCHR(mode):
                on_host("rm", "-rf", "--", os.path.join(top, name), check=True)
                if name in names:
                    names.remove(name)


def _parents(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


def _unmark(fd: int) -> None:
    """A folder of the commit that was made anew shows the commit's files again."""
    try:
        os.removexattr(fd, "user.overlay.opaque")
    except OSError:
        return
