"""Layers for tests: made by hand, or by a shell in a real overlay; and what becomes of them."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import anyio

from sweeper.capture import Captured, capture, recall
from sweeper.repo import Repo
from sweeper.sandbox.contract import Entry, EntryKind, Layer, LayerCaps
from sweeper.sandbox.layer import Base, read_layer
from tests.conftest import cannot_run
from tests.repo.builders import Project

REF = "refs/sweeper/run/unit/1"


def only(*paths: bytes) -> Callable[[bytes], bool]:
    return lambda path: path in paths


def everything(path: bytes) -> bool:
    return True


def file(path: bytes, data: bytes, *, executable: bool = False) -> Entry:
    return Entry(path, EntryKind.FILE, len(data), data, executable)


def captured(made: Project, layer: Layer | Iterable[Entry], in_scope: Callable[[bytes], bool] = everything) -> Captured:
    """What becomes of a layer on the project's HEAD; recalled, it is the same, and the repository stays sound."""
    whole = layer if isinstance(layer, Layer) else Layer(tuple(sorted(layer, key=lambda entry: entry.path)))

    async def main() -> Captured:
        async with await Repo.open(made.top) as repo:
            base = await repo.resolve("HEAD")
            found = await capture(whole, repo, base, await repo.listing(base), in_scope, REF, "attempt\n\n{}\n", 77.0)
            assert await repo.find_ref(REF) == (found.commit or None)
            if found.commit:
                assert await recall(repo, found.commit, in_scope) == (found, "attempt\n\n{}")
                assert (await repo.commit_of(found.commit)).when == 77
            return found

    before = made.head, made.git("status", "--porcelain")
    found = anyio.run(main)
    assert (made.head, made.git("status", "--porcelain")) == before
    made.git("update-ref", "-d", REF)
    return found


def changes(found: Captured) -> dict[str, bytes | None]:
    return {change.path: change.data for change in found.changes}


def lived(made: Project, tmp_path: Path, script: str) -> Layer:
    """What a shell script leaves of the project's HEAD, in a real overlay over the tree that a sandbox gets."""
    lower, upper, work, merged = (tmp_path / name for name in ("lower", "upper", "work", "merged"))
    for folder in (upper, work, merged):
        folder.mkdir()

    async def main() -> Base:
        async with await Repo.open(made.top) as repo:
            await (await repo.tree(made.head)).write_to(lower)
            return Base(await repo.listing(made.head))

    base = anyio.run(main)
    options = f"lowerdir={lower},upperdir={upper},workdir={work},userxattr"
    mount = f"mount -t overlay overlay -o {shlex.quote(options)} {shlex.quote(str(merged))}"
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    inside = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-ec",
        f"{mount} || exit 99; cd {merged}; {script}",
    ]
    done = subprocess.run(inside, env=env, capture_output=True, text=True, check=False)
    if done.returncode == 99 or "unshare" in done.stderr:
        cannot_run(f"no overlay in a user namespace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    fd = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return read_layer(fd, base, LayerCaps(), everything)
    finally:
        os.close(fd)
