"""What a session of tests leaves behind: a cache folder of its own, and images on the engine. Both go with it, or with
the next one if it was killed.

Toolchain images stay (`sweeper/python:...`): they take minutes to build, and there is one for each definition. What a
set-up or a tree was made into is nobody else's: its use is noted in the session's folder, or its label names a worker.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException

CACHE = "SWEEPER_CACHE"
WITHIN = "SWEEPER_TESTS_WITHIN"  # set for a session that is a test of another one
PLACE = Path("/tmp")
NAME = "sweeper-tests-"
MADE = ("sweeper/setup:", "sweeper/tree:")
NO_NAME = "<none>:<none>"
CLOCKS_DIFFER = 60.0  # seconds; the engine dates an image


def begin() -> Path:
    """A new session of this process. Its folder is where the product keeps its snapshots meanwhile."""
    for other in PLACE.glob(f"{NAME}*"):
        with contextlib.suppress(FileNotFoundError):  # its session has just ended: a test may be one, beside others
            if other.stat().st_uid == os.geteuid() and not Path("/proc", _process(other)).exists():
                end(other)
    folder = Path(tempfile.mkdtemp(prefix=f"{NAME}{os.getpid()}-", dir=PLACE))
    folder.chmod(0o755)  # a sandbox's user enters it
    os.environ[CACHE] = str(folder)
    return folder


def end(folder: Path) -> None:
    if WITHIN not in os.environ:  # the other one's tests may use the same images
        with contextlib.suppress(DockerException, OSError), contextlib.closing(docker.from_env(timeout=60)) as engine:
            _remove_images(engine.api, folder)
    shutil.rmtree(folder, ignore_errors=True)


def sign_in(process: int) -> None:
    """Note that a process works for the session."""
    workers = Path(os.environ[CACHE], "workers")
    with contextlib.suppress(OSError):  # a user's own cache may be closed
        workers.mkdir(exist_ok=True)
        (workers / str(process)).touch()


def _process(folder: Path) -> str:
    return folder.name.removeprefix(NAME).partition("-")[0]


def _remove_images(api: Any, folder: Path) -> None:
    began = (folder / "workers" / _process(folder)).stat().st_mtime - CLOCKS_DIFFER
    used = {lock.stem for lock in folder.rglob("images/*.lock")}
    workers = os.listdir(folder / "workers")
    # The newest first: an image goes before the one that it was made from.
    for image in sorted(api.images(), key=lambda image: -image["Created"]):
        labels = image["Labels"] or {}
        ours = image["Id"].removeprefix("sha256:") in used or labels.get("io.sweeper.owner.pid") in workers
        names = [tag for tag in image["RepoTags"] or () if tag != NO_NAME]
        if not ours or image["Created"] < began or not all(name.startswith(MADE) for name in names):
            continue
        for name in names or [image["Id"]]:
            with contextlib.suppress(APIError):  # in use, or gone
                api.remove_image(name)
