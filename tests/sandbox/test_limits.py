"""Limits that really hold, whoever enforces them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal

from sweeper.sandbox.contract import Clock, Clocks, EntryKind, Limits
from tests.conftest import cannot_run
from tests.sandbox.backends import FACTORIES
from tests.sandbox.conftest import MB, SMALL, Box, owner
from tests.waiting import PATIENCE

EAT = "kept = []\nwhile True: kept.append(bytearray(b'x') * (8 << 20))"


def test_oom_of_the_main_process(box: Box) -> None:
    done = box.python(EAT)
    assert done.facts.oom
    assert done.facts.exit_code is None
    assert done.facts.signal == 9


def test_oom_of_a_child(box: Box) -> None:
    """The main process survives it, or is ended by the watchdog: the fact is the same."""
    done = box.run("sh", "-c", f'python3 -c "{EAT}"; code=$?; echo $code; exit $code')
    assert done.facts.oom
    assert done.facts.exit_code not in (0, 1)


def test_oom_in_one_large_piece(box: Box) -> None:
    done = box.python("data = b'x' * (4 << 30)\nprint(len(data))", clocks=Clocks(wall=PATIENCE))
    assert done.facts.oom
    assert done.stdout == b""


def test_oom_of_many_small_processes(box: Box) -> None:
    code = """
import os, time
for _ in range(30):
    if os.fork() == 0:
        kept = b'x' * (20 << 20)
        time.sleep(600)
        os._exit(0)
os.wait()
"""
    assert box.python(code, clocks=Clocks(wall=PATIENCE)).facts.oom


def test_memory_below_the_limit_is_free_to_use(box: Box) -> None:
    done = box.python("data = b'x' * (100 << 20); print(len(data))")
    assert (done.facts.oom, done.facts.exit_code) == (False, 0)


def test_pids(box: Box) -> None:
    code = """
import os, time
n = 0
try:
    while n < 500:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)
        n += 1
except OSError:
    pass
print(n, flush=True)
"""
    done = box.python(code, limits=dataclasses.replace(SMALL, pids=40))
    assert 10 < int(done.stdout) <= 40


def test_fork_bomb_ends_with_its_clock(box: Box) -> None:
    done = box.run("bomb() { bomb | bomb & }; bomb; sleep 600", clocks=Clocks(wall=1.5))
    assert done.facts.clock is Clock.WALL or done.facts.exit_code  # a shell that cannot start `sleep` gives up


def test_disk(box: Box) -> None:
    done = box.python("with open('big', 'wb') as f:\n    while True: f.write(b'x' * (1 << 20))",
                      limits=dataclasses.replace(SMALL, disk=16 * MB))  # fmt: skip
    assert done.facts.disk_full
    entry = done.entries["big"]
    assert entry.kind is EntryKind.TOO_BIG
    assert entry.size <= 17 * MB


@pytest.mark.parametrize("place", ["$HOME", "/tmp", "/dev/shm"])
def test_other_writable_places_are_limited_too(box: Box, place: str) -> None:
    script = f"dd if=/dev/zero of={place}/big bs=1M count=100 2>/dev/null; stat -c %s {place}/big"
    done = box.run(script, limits=dataclasses.replace(SMALL, disk=16 * MB, memory=128 * MB))
    assert MB <= int(done.stdout) <= 64 * MB


def test_cpu(box: Box) -> None:
    """Three busy processes get no more time than the limit; an affinity knows whole processors only."""
    whole = box.portal.call(box.backend.probe).enforced["cpus"] == "affinity"
    code = """
import os, time

began = time.monotonic()
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        while time.monotonic() - began < 1.5:
            pass
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
used = os.times()
print((used.children_user + used.children_system) / (time.monotonic() - began))
"""
    done = box.python(code, limits=dataclasses.replace(SMALL, cpus=1.0 if whole else 0.25))
    assert float(done.stdout) < (1.25 if whole else 0.5)


def test_c12_output_is_capped_with_head_and_tail(box: Box) -> None:
    done = box.run("echo first; head -c 3000000 /dev/zero; echo last")
    assert done.facts.output_truncated
    assert len(done.stdout) <= SMALL.output + 100
    assert done.stdout.startswith(b"first\n")
    assert done.stdout.endswith(b"last\n")
    assert b"bytes left out" in done.stdout
    assert done.facts.exit_code == 0


def test_c12_endless_output_is_ended(box: Box) -> None:
    done = box.run("yes", "x", clocks=Clocks(wall=PATIENCE))
    assert done.facts.output_truncated
    assert (done.facts.exit_code, done.facts.signal, done.facts.clock) == (None, 9, None)
    assert len(done.stdout) <= SMALL.output + 100


def test_output_within_the_cap_is_whole(box: Box) -> None:
    done = box.python("print('x' * 1000000)")
    assert not done.facts.output_truncated
    assert len(done.stdout) == 1_000_001


def test_a_limit_is_for_one_sandbox_only(box: Box) -> None:
    """What one left behind is not charged to the next."""
    for _ in range(8):
        done = box.run("head -c 50000000 /dev/zero > big", limits=Limits(96 * MB, 64, 1, 64 * MB, MB))
        assert (done.facts.exit_code, done.facts.oom, done.facts.disk_full) == (0, False, False)


@pytest.mark.bubblewrap
def test_slots_cost_nothing_until_they_are_used(store: Path, portal: BlockingPortal, tmp_path: Path) -> None:
    """A machine has fewer control groups than somebody may ask slots."""
    factory = FACTORIES["bubblewrap"]
    if why := factory.missing():
        cannot_run(why)
    backend = factory.make(store, owner("wide"), 1_000_000)
    try:
        done = Box(portal, backend, factory, tmp_path).run("echo here")
    finally:
        portal.call(backend.aclose)
    assert done.stdout == b"here\n"
