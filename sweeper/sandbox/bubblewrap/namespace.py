"""The coordinator's side of the holder: start it, ask it, and mount for it what only root can reach."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sweeper.errors import SandboxFailed
from sweeper.sandbox import holder
from sweeper.sandbox.space import on_host
from sweeper.sandbox.store import sandbox_ids


class NoNamespace(SandboxFailed):
    """This machine gives no user namespace; `cause` is what the kernel said."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"no user namespace for sandboxes: {cause}")
        self.cause = cause


class Namespace:
    """A running holder. Its methods block and may be called from any thread; `close` ends it and all it holds."""

    def __init__(self, mountpoint: Path) -> None:
        """Raises NoNamespace where the kernel refuses, SandboxFailed where the holder cannot be started."""
        mountpoint.mkdir(parents=True, exist_ok=True)
        self.top = str(mountpoint)
        self._lock = threading.Lock()
        self._sock, theirs = socket.socketpair()
        uid, gid = sandbox_ids()
        argv = [sys.executable, "-I", "-S", holder.__file__, self.top, str(uid), str(gid)]
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # a terminal's Ctrl-C is the coordinator's to handle
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},  # not what the coordinator knows
            )
        except OSError as problem:
            self._sock.close()
            raise SandboxFailed(f"the sandbox holder {argv[0]} cannot be started: {problem}") from problem
        finally:
            theirs.close()
        answer = holder.receive(self._sock)
        if answer is None:
            raise self._gone()
        if "error" in answer[0]:
            self.close()
            raise NoNamespace(str(answer[0]["error"]))
        self._staged: dict[str, str] = {}

    def ask(
        self, message: dict[str, Any], body: bytes = b"", fds: Sequence[int] = ()
    ) -> tuple[dict[str, Any], list[int]]:
        """The holder's answer and its descriptors. Raises SandboxFailed with what the holder says went wrong."""
        with self._lock:
            try:
                holder.send(self._sock, message, body, fds)
                got = holder.receive(self._sock)
            except OSError as problem:
                raise self._gone() from problem
        if got is None:
            raise self._gone()
        answer, _, received = got
        if "error" in answer:
            raise SandboxFailed(f"the sandbox could not be made ready ({message['do']}): {answer['error']}")
        return answer, received

    def stage(self, source: str) -> str:
        """A path, in the holder's namespace, of this file or folder of the host that the sandbox's user can reach.

        Root's own folders are closed to that user: root mounts the source below the holder's own folder.
        """
        if os.geteuid() != 0:
            return source
        with contextlib.suppress(KeyError):
            return self._staged[source]
        name = f"{len(self._staged)}-{re.sub(r'[^A-Za-z0-9._-]', '_', os.path.basename(source))}"
        place, _ = self.ask({"do": "place", "name": name, "folder": os.path.isdir(source)})
        inside = ("-t", str(self._process.pid), "-m", "--")
        done = on_host("nsenter", *inside, "mount", "--rbind", source, str(place["path"]))
        if done.returncode:
            raise SandboxFailed(f"{source} could not be mounted for the sandbox: {done.stderr.strip()}")
        self._staged[source] = place["path"]
        return str(place["path"])

    def close(self) -> None:
        """End the holder, its sandboxes and mounts (idempotent)."""
        self._sock.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _gone(self) -> SandboxFailed:
        said = ""
        if self._process.stderr is not None and not self._process.stderr.closed:
            self._process.kill()
            said = self._process.stderr.read().decode(errors="replace").strip()[-2000:]
        self.close()
        what = f"the process that holds the sandboxes has ended: {said}"
        return SandboxFailed(what, hint="sweeper resume goes on with a new one", may_have_run=True)
