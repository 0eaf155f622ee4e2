"""What a session of tests leaves behind: a cache folder of its own, and images on the engine. Both go with it.

Toolchain images stay (`sweeper/python:...`): they take minutes to build, and there is one for each definition. What a
set-up or a tree was made into is nobody else's: its use is noted in the session's folder, or its label names a worker.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException

CACHE = "SWEEPER_CACHE"
MADE = ("sweeper/setup:", "sweeper/tree:")
NO_NAME = "<none>:<none>"
CLOCKS_DIFFER = 60.0  # seconds; the engine dates an image


class Session:
    """The folder of one session, where the product keeps its snapshots meanwhile; its workers share it."""

    def __init__(self) -> None:
        self.began = time.time()
        self.folder = Path(tempfile.mkdtemp(prefix="sweeper-", dir="/tmp"))
        self.folder.chmod(0o755)  # a sandbox's user enters it
        os.environ[CACHE] = str(self.folder)

    def close(self) -> None:
        del os.environ[CACHE]
        with contextlib.suppress(DockerException, OSError), contextlib.closing(docker.from_env(timeout=60)) as engine:
            self._remove_images(engine.api)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _remove_images(self, api: Any) -> None:
        used = {lock.stem for lock in self.folder.rglob("images/*.lock")}
        workers = {mark.name for mark in (self.folder / "workers").glob("*")}
        # The newest first: an image goes before the one that it was made from.
        for image in sorted(api.images(), key=lambda image: -image["Created"]):
            labels = image["Labels"] or {}
            ours = image["Id"].removeprefix("sha256:") in used or labels.get("io.sweeper.owner.pid") in workers
            names = [tag for tag in image["RepoTags"] or () if tag != NO_NAME]
            if not ours or image["Created"] < self.began - CLOCKS_DIFFER or not all(n.startswith(MADE) for n in names):
                continue
            for name in names or [image["Id"]]:
                with contextlib.suppress(APIError):  # in use, or gone
                    api.remove_image(name)


def sign_in() -> None:
    """Note that this process works for the session."""
    if folder := os.environ.get(CACHE):
        workers = Path(folder, "workers")
        workers.mkdir(exist_ok=True)
        (workers / str(os.getpid())).touch()
