"""Control groups: the real ones of this machine where they can be made, and version 2's files in a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sweeper.sandbox.bubblewrap import cgroup
from sweeper.sandbox.contract import Limits

LIMITS = Limits(memory=64 << 20, pids=7, cpus=1.5)


def version_two(root: Path, *, controllers: str = "cpu memory pids") -> Path:
    """What the kernel shows of a delegated tree, as plain files."""
    own = next(
        line.split(":", 2)[2] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")
    )
    (root / "cgroup.controllers").write_text("cpu io memory pids\n")
    for place in (root, root / own.lstrip("/")):
        place.mkdir(parents=True, exist_ok=True)
        (place / "cgroup.procs").write_text("")
        (place / "cgroup.subtree_control").write_text(controllers + "\n")
    return root


def a_group(folder: Path, *, unified: bool) -> cgroup.Group:
    names = ("memory.max", "memory.swap.max", "cpu.max", "pids.max", "cgroup.procs")
    folder.mkdir()
    for name in names:
        (folder / name).write_text("")
    (folder / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    return cgroup.Group(dict.fromkeys(cgroup.CONTROLLERS, folder), unified)


def test_version_two_limits_and_counts(tmp_path: Path) -> None:
    group = a_group(tmp_path / "slot", unified=True)
    group.limit(LIMITS)
    group.add(4711)
    read = {path.name: path.read_text() for path in (tmp_path / "slot").iterdir()}
    assert read["memory.max"] == str(64 << 20)
    assert (read["memory.swap.max"], read["pids.max"], read["cpu.max"]) == ("0", "7", "150000 100000")
    assert read["cgroup.procs"] == "4711"
    assert not group.oom()
    (tmp_path / "slot" / "memory.events").write_text("oom_kill 3\n")
    assert group.oom()


def test_unknown_control_file_is_an_error_not_a_new_file(tmp_path: Path) -> None:
    group = cgroup.Group(dict.fromkeys(cgroup.CONTROLLERS, tmp_path), unified=True)
    with pytest.raises(FileNotFoundError):
        group.limit(LIMITS)
    assert list(tmp_path.iterdir()) == []


def test_tree_that_takes_no_processes_is_refused_and_left_clean(tmp_path: Path) -> None:
    root = version_two(tmp_path)
    before = sorted(root.rglob("*"))
    with pytest.raises(OSError, match="cgroup"):
        cgroup.Groups("nobody", root)
    assert sorted(root.rglob("*")) == before


def test_nothing_delegated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        cgroup.Groups("nobody", tmp_path)


@pytest.mark.root
def test_real_groups_hold_a_process() -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary user may make none here")
    try:
        groups = cgroup.Groups(f"test-{os.getpid()}")
    except OSError as problem:
        pytest.skip(f"no control groups: {problem}")
    try:
        group = groups.group(1)
        group.limit(LIMITS)
        eat = ["python3", "-c", "import sys; sys.stdin.read(); data = b'x' * (256 << 20)"]
        child = subprocess.Popen(eat, stdin=subprocess.PIPE)
        group.add(child.pid)
        child.communicate()
        assert child.returncode == -9
        assert group.oom()
        group.limit(LIMITS)
        assert not group.oom()
    finally:
        groups.close()
    assert not [folder for folder in groups.folders if os.path.exists(folder)]
