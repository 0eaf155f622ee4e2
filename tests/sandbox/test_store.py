"""The store: built once, whole or not at all, never removed while used."""

from __future__ import annotations

import multiprocessing
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from sweeper.errors import SandboxFailed
from sweeper.sandbox.store import Store, default_root, sandbox_ids
from tests.sandbox.trees import LINK, PROGRAM, PlainTree
from tests.waiting import PATIENCE


class Counted(PlainTree):
    """Counts its builds in a file, so that other processes are counted too."""

    def __init__(self, log: Path) -> None:
        super().__init__({"a": b"x", "d/run": b"#!/bin/sh\n", "l": b"a"}, modes={"d/run": PROGRAM, "l": LINK})
        self.log = log

    async def write_to(self, directory: Path) -> None:
        with self.log.open("a") as file:
            file.write("built\n")
        await super().write_to(directory)
        await anyio.sleep(0.2)


def built(log: Path) -> int:
    return log.read_text().count("built")


def test_tree_belongs_to_the_sandbox_and_is_built_once(store: Path, tmp_path: Path) -> None:
    tree = Counted(tmp_path / "log")

    async def check() -> Path:
        first, second = Store(store / "once"), Store(store / "once")
        paths: list[Path] = []

        async def take(which: Store) -> None:
            paths.append(await which.tree(tree))

        async with anyio.create_task_group() as group:
            for which in (first, second, first, second):
                group.start_soon(take, which)
        assert len(set(paths)) == 1
        first.close()
        second.close()
        return paths[0]

    path = anyio.run(check)
    assert built(tmp_path / "log") == 1
    assert (path / "a").read_bytes() == b"x"
    assert os.readlink(path / "l") == "a"
    assert stat.S_IMODE((path / "d/run").stat().st_mode) & 0o100
    for each in (path, path / "a", path / "d", path / "d/run", path / "l"):
        assert (each.lstat().st_uid, each.lstat().st_gid) == sandbox_ids()


def test_failed_or_cancelled_build_leaves_nothing(store: Path) -> None:
    begun: anyio.Event

    async def fail(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise RuntimeError("no")

    async def hang(folder: Path) -> None:
        (folder / "half").write_text("x")
        begun.set()
        await anyio.sleep_forever()

    async def fill(folder: Path) -> None:
        assert os.listdir(folder) == []
        (folder / "whole").write_text("x")

    async def check() -> None:
        nonlocal begun
        begun = anyio.Event()
        used = Store(store / "failing")
        with pytest.raises(RuntimeError):
            await used.entry("trees", "k", fail)
        async with anyio.create_task_group() as group:
            group.start_soon(used.entry, "trees", "k", hang)
            await begun.wait()
            group.cancel_scope.cancel()
        assert [path.name for path in (store / "failing/trees").iterdir()] == ["k.lock"]
        path = await used.entry("trees", "k", fill)
        assert [each.name for each in path.iterdir()] == ["whole"]
        used.close()

    anyio.run(check)


def _build_and_die(root: Path, log: Path) -> None:
    class Dying(Counted):
        async def write_to(self, directory: Path) -> None:
            await super().write_to(directory)
            os._exit(9)

    anyio.run(Store(root).tree, Dying(log))


def _use(root: Path, log: Path, ready: Callable[[], None], wait: Callable[[float], bool]) -> None:
    async def use() -> None:
        await Store(root).tree(Counted(log))
        ready()
        wait(PATIENCE)

    anyio.run(use)


def test_killed_builder_is_replaced(store: Path, tmp_path: Path) -> None:
    root, log = store / "killed", tmp_path / "log"
    spawn = multiprocessing.get_context("fork")
    process = spawn.Process(target=_build_and_die, args=(root, log))
    process.start()
    process.join()
    assert process.exitcode == 9

    async def check() -> None:
        used = Store(root)
        path = await used.tree(Counted(log))
        assert (path / "a").read_bytes() == b"x"
        used.close()

    anyio.run(check)
    assert built(log) == 2
    assert not list((root / "trees").glob(".*"))


def test_pruning_spares_what_is_used_by_another_process(store: Path, tmp_path: Path) -> None:
    root, log = store / "pruned", tmp_path / "log"
    spawn = multiprocessing.get_context("fork")
    ready, done = spawn.Event(), spawn.Event()
    process = spawn.Process(target=_use, args=(root, log, ready.set, done.wait))
    process.start()
    assert ready.wait(PATIENCE)

    async def others() -> None:
        used = Store(root)
        for number in range(4):
            await used.tree(PlainTree({"n": b"%d" % number}))
            await anyio.sleep(0.02)
        assert used.prune("trees", keep=0, older_than=0) == 0
        used.close()

    anyio.run(others)
    pruning = Store(root)
    assert pruning.prune("trees", keep=0, older_than=3600) == 0
    assert pruning.prune("trees", keep=2, older_than=0) == 2
    assert pruning.prune("trees", keep=0, older_than=0) == 2
    assert [path.name for path in (root / "trees").iterdir() if path.is_dir()] == [Counted(log).commit]
    done.set()
    process.join()
    assert pruning.prune("trees", keep=0, older_than=0) == 1
    assert list((root / "trees").iterdir()) == []


def test_using_an_entry_makes_it_young(store: Path) -> None:
    async def check() -> None:
        used = Store(store / "young")
        tree = PlainTree({"y": b"1"})
        path = await used.tree(tree)
        used.close()
        lock = path.with_name(path.name + ".lock")
        os.utime(lock, (0, 0))
        again = Store(store / "young")
        await again.tree(tree)
        again.close()
        assert time.time() - lock.stat().st_mtime < 60

    anyio.run(check)


def test_odd_keys_are_refused(store: Path) -> None:
    async def check() -> None:
        for key in ("", "..", "../x", "a/b", "x" * 200):
            with pytest.raises(SandboxFailed, match="cannot name"):
                await Store(store).entry("trees", key, PlainTree({}).write_to)

    anyio.run(check)


def test_default_root(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        assert default_root() == Path("/var/cache/sweeper")
        return
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_root() == Path("/somewhere/sweeper")


@pytest.mark.root
def test_c20_a_strict_umask_shuts_the_sandbox_s_user_out_of_nothing_that_we_make(store: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user's sandboxes are that user's")
    before = os.umask(0o077)
    try:
        made = Store(store / "strict" / "deep")
        made.ready()
        made.close()
    finally:
        os.umask(before)
    for folder in (store / "strict", store / "strict" / "deep"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o711


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a file was cleaned away": lambda folder: (folder / "a").unlink(),
    "a link was": lambda folder: (folder / "l").unlink(),
    "a file was emptied": lambda folder: (folder / "a").write_bytes(b""),
    "a file was edited": lambda folder: (folder / "a").write_bytes(b"y"),
    "a file was added": lambda folder: (folder / "d" / "new").write_bytes(b""),
    "a mode was changed": lambda folder: (folder / "d" / "run").chmod(0o644),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_c24_an_entry_that_somebody_changed_is_made_anew(
    damage: Callable[[Path], object], store: Path, tmp_path: Path
) -> None:
    """A check that runs on half of a commit finds half of its findings."""
    tree = Counted(tmp_path / "log")
    place = store / tmp_path.name

    async def use(times: int) -> None:
        mine = Store(place)
        folder = await mine.tree(tree)
        assert built(tree.log) == times
        assert sorted(os.listdir(folder)) == ["a", "d", "l"]
        assert (folder / "a").read_bytes() == b"x"
        mine.close()

    anyio.run(use, 1)
    anyio.run(use, 1)
    (folder,) = (each for each in (place / "trees").iterdir() if each.is_dir())
    damage(folder)
    anyio.run(use, 2)
    anyio.run(use, 2)


def test_an_entry_that_somebody_changed_while_it_is_used_is_an_error(store: Path, tmp_path: Path) -> None:
    tree = Counted(tmp_path / "log")

    async def both() -> None:
        mine, theirs = Store(store / tmp_path.name), Store(store / tmp_path.name)
        folder = await theirs.tree(tree)
        (folder / "a").unlink()
        with pytest.raises(SandboxFailed, match="another process uses it"):
            await mine.tree(tree)
        theirs.close()
        assert (await mine.tree(tree) / "a").exists()
        mine.close()

    anyio.run(both)


def test_an_entry_without_a_seal_is_made_anew(store: Path, tmp_path: Path) -> None:
    """As a version before there were seals left it."""
    tree = Counted(tmp_path / "log")

    async def again() -> None:
        mine = Store(store / tmp_path.name)
        folder = await mine.tree(tree)
        mine.close()
        os.truncate(f"{folder}.lock", 0)
        await mine.tree(tree)
        mine.close()
        assert built(tree.log) == 2

    anyio.run(again)


@pytest.mark.parametrize("stores", [1, 2], ids=["in one process", "in two"])
def test_several_who_find_an_entry_changed_make_it_anew_once(stores: int, store: Path, tmp_path: Path) -> None:
    tree = Counted(tmp_path / "log")
    places = [Store(store / tmp_path.name) for _ in range(stores)]

    async def all_at_once() -> None:
        folder = await places[0].tree(tree)
        places[0].close()
        (folder / "a").unlink()
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(places[number % stores].tree, tree)
        assert (folder / "a").exists()
        assert built(tree.log) == 2

    anyio.run(all_at_once)
    for place in places:
        place.close()
