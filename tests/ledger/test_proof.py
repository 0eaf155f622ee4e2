"""The proof that an owner is alive or dead (F02), clocks that step, and what a file system tells."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sweeper.ledger import filesystem, lease, make_owner
from sweeper.ledger.lease import OwnerLock, Standing, boot_id, is_dead, lock_held, lock_path, since_boot
from sweeper.records import Owner
from tests.ledger.builders import (
    ELSEWHERE,
    HOUR,
)


def standing(owner: Owner, *, expires: float = 0.0, beat: float = 0.0, term: float = 60.0) -> Standing:
    return Standing(owner, term, expires, beat, False)


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


def test_an_owner_is_random_and_provable() -> None:
    one, other = make_owner(), make_owner()
    assert one.id != other.id
    assert replace(one, id="") == replace(other, id="")
    assert lease.started_at(one.pid) == one.started


def test_f02_a_free_lock_proves_death_under_any_host_name(tmp_path: Path) -> None:
    owner = replace(make_owner(), host="the name before")
    lock = OwnerLock(tmp_path, owner.id)
    now = time.time()
    assert not is_dead(standing(owner, expires=now - HOUR), tmp_path, now, shared_clock=False)
    lock.release(remove=False)
    assert lock_held(lock_path(tmp_path, owner.id)) is False
    assert is_dead(standing(owner, expires=now + HOUR, beat=since_boot()), tmp_path, now, shared_clock=False)


def test_f02_a_held_lock_proves_life_whatever_the_lease_says(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path, ELSEWHERE.id)
    assert not is_dead(standing(ELSEWHERE, expires=time.time() - HOUR), tmp_path, time.time(), shared_clock=True)
    assert not is_dead(standing(ELSEWHERE, expires=time.time() - HOUR), tmp_path, time.time(), shared_clock=False)
    lock.release(remove=True)
    assert lock_held(lock.path) is None


def test_another_users_lock_file_that_cannot_be_opened_proves_nothing(
    tmp_path: Path, ended_process: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    OwnerLock(tmp_path, ended_process.id).release(remove=False)
    monkeypatch.setattr(os, "open", refused)
    assert lock_held(lock_path(tmp_path, ended_process.id)) is None
    assert is_dead(standing(ended_process), tmp_path, 0.0, shared_clock=False)


def test_f02_a_free_lock_proves_death_after_a_reboot(tmp_path: Path) -> None:
    OwnerLock(tmp_path, ELSEWHERE.id).release(remove=False)
    assert is_dead(standing(ELSEWHERE, expires=time.time() + HOUR), tmp_path, time.time(), shared_clock=True)


def test_f02_on_a_network_file_system_another_machines_free_lock_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "shared_type", lambda path: "nfs4")
    OwnerLock(tmp_path, ELSEWHERE.id).release(remove=False)
    now = time.time()
    assert not is_dead(standing(ELSEWHERE, expires=now + 1), tmp_path, now, shared_clock=True)
    assert is_dead(standing(ELSEWHERE, expires=now - 1), tmp_path, now, shared_clock=True)
    ours = make_owner()
    OwnerLock(tmp_path, ours.id).release(remove=False)
    assert is_dead(standing(ours, expires=now + HOUR), tmp_path, now, shared_clock=True)


def test_f02_a_reused_process_id_does_not_make_the_dead_live(tmp_path: Path, sleeper: int) -> None:
    dead = replace(make_owner(), pid=sleeper, started=1.0)
    alive_by_lease = standing(dead, expires=time.time() + HOUR, beat=since_boot())
    assert is_dead(alive_by_lease, tmp_path, time.time(), shared_clock=False)
    started = lease.started_at(sleeper)
    assert started is not None
    same = standing(replace(dead, started=started))
    assert not is_dead(same, tmp_path, time.time(), shared_clock=False)


def test_f02_a_process_that_is_gone_is_dead_without_its_lock_file(tmp_path: Path, ended_process: Owner) -> None:
    lasting = standing(ended_process, expires=time.time() + HOUR, beat=since_boot())
    assert is_dead(lasting, tmp_path, time.time(), shared_clock=False)
    assert is_dead(lasting, tmp_path, time.time(), shared_clock=True)


def test_f02_process_ids_mean_nothing_in_another_container(tmp_path: Path, ended_process: Owner) -> None:
    kernel = boot_id().partition(":")[0]
    container = replace(ended_process, boot=f"{kernel}:another namespace")
    now = time.time()
    lasting = standing(container, expires=now + HOUR, beat=since_boot())
    assert not is_dead(lasting, tmp_path, now, shared_clock=False)
    assert is_dead(replace(lasting, beat=since_boot() - HOUR), tmp_path, now, shared_clock=False)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_stepped_clock_proves_nothing_on_one_kernel(tmp_path: Path, step: float) -> None:
    container = replace(make_owner(), boot=f"{boot_id().partition(':')[0]}:another namespace")
    now = time.time() + step
    living = standing(container, expires=time.time() + 60, beat=since_boot())
    assert not is_dead(living, tmp_path, now, shared_clock=False)
    ended = standing(container, expires=time.time() - 1, beat=since_boot() - 61)
    assert is_dead(ended, tmp_path, now, shared_clock=False)


def test_a_zombie_is_dead(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()
        stat = Path(f"/proc/{process.pid}/stat")
        while b") Z " not in stat.read_bytes():
            time.sleep(0.01)
        assert lease.started_at(process.pid) is None


def test_two_who_look_at_once_do_not_take_each_other_for_the_owner(tmp_path: Path) -> None:
    OwnerLock(tmp_path, "x").release(remove=False)
    path = lock_path(tmp_path, "x")
    with path.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert lock_held(path) is False


# --- file systems ---

MOUNTS = rb"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:5 / /mnt/nas rw - nfs4 nas:/export rw,vers=4.2
31 30 0:6 / /mnt/nas/with\040blank rw master:2 - tmpfs tmpfs rw
32 22 0:7 / /shared rw - 9p host rw
33 22 0:8 / /shared rw - virtiofs host rw
34 22 0:9 / /mnt/smb rw - cifs //nas/share rw
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/x", "ext4"),
        ("/mnt/nas", "nfs4"),
        ("/mnt/nas/repo/.git", "nfs4"),
        ("/mnt/nasty", "ext4"),
        ("/mnt/nas/with blank/x", "tmpfs"),
        ("/shared/x", "virtiofs"),
        ("/mnt/smb", "cifs"),
        ("/", "ext4"),
    ],
)
def test_the_type_of_a_path_is_that_of_its_topmost_mount(path: str, expected: str) -> None:
    assert filesystem.type_of(path, MOUNTS) == expected


def test_only_shared_types_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for type, told in [("nfs", True), ("fuse.sshfs", True), ("9p", True), ("ext4", False), ("overlay", False)]:
        listing = tmp_path / "mountinfo"
        listing.write_text(f"22 1 254:0 / / rw - {type} source rw\n")
        monkeypatch.setattr(filesystem, "MOUNTINFO", listing)
        assert filesystem.shared_type(tmp_path) == (type if told else "")
    monkeypatch.setattr(filesystem, "MOUNTINFO", tmp_path / "none")
    assert filesystem.shared_type(tmp_path) == ""
