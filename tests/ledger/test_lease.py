"""Who is alive: F01, F02, F03, and clocks that step."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from sweeper.errors import LedgerFailed, StaleClaim
from sweeper.ledger import filesystem, lease, make_owner, writer
from sweeper.ledger.lease import OwnerLock, Renewal, Standing, boot_id, is_dead, lock_held, lock_path, since_boot
from sweeper.records import Owner, UnitState
from tests.ledger.builders import RUN, Place, all_of, claimed, crash, key, outcome, queued, run_row, until

HOUR = 3600.0
ELSEWHERE = Owner("f" * 32, "other-host", 4242, 10.0, "another-boot:1")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def standing(owner: Owner, *, expires: float = 0.0, beat: float = 0.0, term: float = 60.0) -> Standing:
    return Standing(owner, term, expires, beat, False)


@pytest.fixture
def ended_process() -> Owner:
    """The owner that a process, now gone, made of itself."""
    code = "from sweeper.ledger import make_owner as m; o = m(); print(o.id, o.host, o.pid, o.started, o.boot)"
    id, host, pid, started, boot = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    return Owner(id, host, int(pid), float(started), boot)


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
        import fcntl

        fcntl.flock(looking, fcntl.LOCK_SH)
        assert lock_held(path) is False


# --- the lease, through the ledger ---


@pytest.mark.anyio
async def test_f01_a_slow_unit_keeps_its_claim_by_renewals(place: Place, tmp_path: Path) -> None:
    # The owner as if on another machine: no lock file, no process id helps; the lease alone.
    slow = await place.entered(replace(ELSEWHERE, id="slow"), lease=0.6, locks=tmp_path / "there")
    await slow.create_run(run_row(RUN))
    await slow.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(slow, key(1))
    row = await slow.start(claim, 0, 1)
    watching = await place.entered(locks=tmp_path / "here")
    for _ in range(9):
        await anyio.sleep(0.2)
        assert await watching.stale_claims() == []
        assert not slow.lost
    await slow.land(claim, outcome(key(1), row.number), UnitState.VERIFIED, 1)
    await watching.aclose()
    await slow.aclose()


@pytest.mark.anyio
async def test_f01_the_result_of_a_lost_lease_is_kept_and_not_merged(place: Place, tmp_path: Path) -> None:
    late = await place.entered(replace(ELSEWHERE, id="late"), lease=0.5, locks=tmp_path / "there")
    await late.create_run(run_row(RUN))
    await late.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(late, key(1))
    row = await late.start(claim, 0, 1)
    assert late._renewal is not None
    late._renewal.stop()
    await until(lambda: late.lost)
    watching = await place.entered(locks=tmp_path / "here")
    await anyio.sleep(0.1)
    [stale] = await watching.stale_claims()
    assert (stale.claim.token, stale.owner.host) == (claim.token, "other-host")
    await watching.break_claim(stale)
    with pytest.raises(StaleClaim):
        await late.land(claim, outcome(key(1), row.number), UnitState.VERIFIED, 1)
    assert [row.state for row in await all_of(watching.attempts(unit=key(1)))] == ["started", "stale"]
    assert await all_of(watching.verified(RUN)) == []
    await late.aclose()
    await watching.aclose()


@pytest.mark.anyio
async def test_an_owner_that_came_back_before_the_break_keeps_its_claim(place: Place, tmp_path: Path) -> None:
    paused = await place.entered(replace(ELSEWHERE, id="paused"), lease=0.5, locks=tmp_path / "there")
    await paused.create_run(run_row(RUN))
    await paused.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(paused, key(1))
    assert paused._renewal is not None
    paused._renewal.stop()
    await anyio.sleep(0.6)
    watching = await place.entered(locks=tmp_path / "here")
    [stale] = await watching.stale_claims()
    assert paused._renew().result()
    await watching.break_claim(stale)
    await paused.land(claim, outcome(key(1)), UnitState.VERIFIED, 1)
    await paused.aclose()
    await watching.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("step", [HOUR, -HOUR])
async def test_a_stepped_clock_neither_steals_nor_blocks(
    place: Place, step: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    living, dead = await place.entered(lease=1.0), await place.entered()
    await living.create_run(run_row(RUN))
    await living.open_round(RUN, 1, [queued(1), queued(2)], [], fresh=True)
    await claimed(living, key(1))
    await claimed(dead, key(2))
    crash(dead)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + step)
    await anyio.sleep(0.5)
    assert not living.lost
    watching = await place.entered()
    assert [stale.claim.unit for stale in await watching.stale_claims()] == [key(2)]
    assert await watching.alive(living._owner or ELSEWHERE)
    await watching.aclose()
    await living.aclose()


@pytest.mark.anyio
async def test_alive_tells_of_owners_known_and_unknown(place: Place, ended_process: Owner) -> None:
    ledger, dead = await place.entered(), await place.entered()
    assert ledger._owner is not None
    assert dead._owner is not None
    assert await ledger.alive(ledger._owner)
    assert await ledger.alive(dead._owner)
    crash(dead)
    assert not await ledger.alive(dead._owner)
    assert not await ledger.alive(ended_process)
    assert await ledger.alive(ELSEWHERE)
    await ledger.aclose()
    asking = place.open()
    assert not await asking.alive(ledger._owner)
    await asking.aclose()


# --- F03 ---


def test_f03_a_failed_renewal_is_no_loss_until_the_local_deadline() -> None:
    answers: list[bool | None] = []

    def renew() -> Future[bool]:
        future: Future[bool] = Future()
        answer = answers.pop(0) if answers else True
        if answer is None:
            future.set_exception(LedgerFailed("database is locked"))
        else:
            future.set_result(answer)
        return future

    answers += [None] * 4
    renewal = Renewal(0.9, since_boot(), renew)
    while answers:
        time.sleep(0.01)
        assert not renewal.lost
    renewal.stop()
    answers += [None] * 1000
    renewal = Renewal(0.2, since_boot(), renew)
    time.sleep(0.3)
    assert renewal.lost
    renewal.stop()


def test_f03_the_deadline_counts_from_when_the_renewal_was_sent() -> None:
    sent: list[float] = []

    def renew() -> Future[bool]:
        sent.append(since_boot())
        future: Future[bool] = Future()
        if len(sent) == 1:
            time.sleep(0.2)
            future.set_result(True)
        else:
            future.set_exception(LedgerFailed("gone"))
        return future

    renewal = Renewal(0.6, since_boot(), renew)
    while len(sent) < 2:
        time.sleep(0.01)
    assert since_boot() + renewal.left <= sent[0] + 0.6 + 0.01
    renewal.stop()


@pytest.mark.anyio
async def test_f03_a_locked_ledger_for_a_second_kills_nobody(
    sqlite_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    monkeypatch.setattr(writer, "PATIENCE", 0.2)
    ledger = await sqlite_place.entered(lease=2.4)
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(1)], [], fresh=True)
    claim = await claimed(ledger, key(1))
    blocker = sqlite3.connect(sqlite_place.database, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerFailed, match="database is locked"):
        await ledger.start(claim, 0, 1)
    await anyio.sleep(1.0)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert not ledger.lost
    row = await ledger.start(claim, 0, 1)
    await anyio.sleep(1.2)
    assert not ledger.lost
    await ledger.land(claim, outcome(key(1), row.number), UnitState.VERIFIED, 1)
    await ledger.aclose()


@pytest.mark.anyio
async def test_f03_a_renewal_in_flight_while_a_unit_completes_is_nothing(place: Place) -> None:
    ledger = await place.entered(lease=0.15)
    await ledger.create_run(run_row(RUN))
    await ledger.open_round(RUN, 1, [queued(i) for i in range(40)], [], fresh=True)
    for number in range(40):
        claim = await claimed(ledger, key(number))
        renewal = ledger._renew()
        await ledger.land(claim, outcome(key(number)), UnitState.VERIFIED, 1)
        assert renewal.result()
        assert not ledger.lost
    await ledger.aclose()


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
