"""The same teardown on success, failure and cancellation; and what is left when a coordinator is killed."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeper.errors import SandboxFailed
from sweeper.records import Owner
from sweeper.sandbox.bubblewrap import Bubblewrap
from sweeper.sandbox.bubblewrap.namespace import Namespace
from sweeper.sandbox.contract import Clock, Clocks, Handle, Name, Role, Spec
from tests.sandbox.conftest import Box, embedded, owner
from tests.sandbox.sleeping import sleepers, unique_seconds, until_none_sleep, wake
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).parents[2]


def handles(box: Box, whose: str | None = None) -> list[Handle]:
    return [*box.portal.call(box.backend.list, whose)]


def ours(box: Box) -> list[Handle]:
    return [handle for handle in handles(box) if handle.owner.pid == os.getpid() and handle.run == "suite"]


@pytest.mark.parametrize(
    ("end", "code", "number", "clock"),
    [
        ("exit 0", 0, None, None),
        ("exit 1", 1, None, None),
        ("kill -9 $$", None, 9, None),
        ("sleep 600", None, 9, Clock.IDLE),
    ],
)
def test_nothing_is_left(box: Box, end: str, code: int | None, number: int | None, clock: Clock | None) -> None:
    seconds = unique_seconds()
    asleep = "until grep -q sleep /proc/$!/comm; do :; done"
    clocks = Clocks(wall=PATIENCE, first_output=PATIENCE, idle=1)
    done = box.run(f"sleep {seconds} & {asleep}; echo up; {end}", clocks=clocks)
    assert done.stdout == b"up\n", done.stderr
    assert (done.facts.exit_code, done.facts.signal, done.facts.clock) == (code, number, clock)
    until_none_sleep(seconds)
    assert ours(box) == []


def test_cancellation_ends_and_removes(box: Box) -> None:
    seconds = unique_seconds()
    spec = box.spec(f"echo up; sleep {seconds}")
    future = box.begin(spec)
    until(lambda: sleepers(seconds), "who sleeps")
    alive = ours(box)
    future.cancel()
    until(lambda: not ours(box), "its removal")
    assert [(handle.name, handle.running) for handle in alive] == [(str(spec.name), True)]
    until_none_sleep(seconds)
    assert box.run("echo next").stdout == b"next\n"


def test_cancellation_before_the_start(box: Box) -> None:
    """A create that is under way can't be called back: its sandbox appears, and is removed by the same call."""
    begun = [threading.Event() for _ in range(5)]
    over = [threading.Event() for _ in range(5)]

    async def one(spec: Spec, number: int) -> None:
        begun[number].set()
        try:
            await box.backend.run(spec)
        finally:
            over[number].set()

    for number in range(5):
        future = box.portal.start_task_soon(one, box.spec("sleep 600"), number)
        assert begun[number].wait(PATIENCE)
        future.cancel()
    assert [ended.wait(PATIENCE) for ended in over] == [True] * 5
    assert ours(box) == []
    assert box.run("echo next").stdout == b"next\n"


def test_handle_carries_the_labels(box: Box) -> None:
    unit = secrets.token_hex(10)  # on one engine a name is one test's
    name = Name("suite", unit, 3, Role.VERIFIER, 2)
    spec = box.spec("echo up; sleep 600", name=name, fire="fire-1", deadline=4_000_000_000.5)
    future = box.begin(spec)
    (handle,) = ours(box)
    future.cancel()
    until(lambda: not ours(box), "its removal")
    assert (handle.name, handle.run, handle.unit) == (str(name), "suite", unit)
    assert (handle.attempt, handle.role, handle.deadline) == (3, "verifier", 4_000_000_000.5)
    assert isinstance(handle.owner, Owner)
    assert handle.owner.pid == os.getpid()


def test_c08_the_same_name_again(box: Box) -> None:
    name = Name("suite", f"again-{os.getpid()}", 1, Role.AGENT)
    for number in range(2):
        assert box.run(f"echo {number} > x", name=name).changed == {"x": f"{number}\n".encode()}


def test_two_living_sandboxes_never_share_a_name(box: Box) -> None:
    name = Name("suite", f"twin-{os.getpid()}", 1, Role.AGENT)
    seconds = unique_seconds()
    first = box.spec(f"echo up; sleep {seconds}; echo x > first", name=name)
    future = box.begin(first)
    if box.factory.name == "bubblewrap":
        with pytest.raises(SandboxFailed, match="running already") as caught:
            box.run("true", name=name)
        assert caught.value.may_have_run
    assert len(ours(box)) == 1
    wake(seconds)
    assert box.done(first, future.result()).changed == {"first": b"x\n"}
    assert box.run("echo y > again", name=name).changed == {"again": b"y\n"}


@embedded
def test_c24_a_full_disk_of_the_coordinator_fails_the_sandbox(box: Box) -> None:
    with pytest.raises(SandboxFailed, match="No space left") as caught:
        box.run("echo x", stdout=Path("/dev/full"))
    assert not caught.value.retryable
    assert ours(box) == []
    assert box.run("echo next").stdout == b"next\n"


@embedded
def test_holder_that_is_killed_ends_its_sandboxes_and_the_run(box: Box, store: Path) -> None:
    backend = box.factory.make(store, owner("holder"), 2)
    other = Box(box.portal, backend, box.factory, box.folder)
    seconds = unique_seconds()
    spec = other.spec(f"echo up; sleep {seconds}")
    future = other.begin(spec)
    until(lambda: sleepers(seconds), "who sleeps")
    assert isinstance(backend, Bubblewrap)
    backend._confinement.start()._process.kill()
    with pytest.raises(SandboxFailed) as caught:
        future.result()
    assert caught.value.may_have_run
    until_none_sleep(seconds)
    with pytest.raises(SandboxFailed, match="has ended") as caught:
        other.run("true")
    assert not caught.value.retryable
    box.portal.call(backend.aclose)


def test_a_program_that_never_asked_to_die_with_the_coordinator(store: Path, bwrap: Path) -> None:
    """What bwrap is between its start and its first words, made to last."""
    first, second = unique_seconds(), unique_seconds()
    namespace = Namespace(store / "holder")
    for argv in (["/bin/sleep", first], ["/bin/sh", "-c", f"(setsid sleep {second} &) & exec sleep {first}"]):
        namespace.ask({"do": "spawn", "argv": argv})
    until(lambda: (len(sleepers(first)), len(sleepers(second))) == (2, 1), "three that sleep")
    namespace.close()
    assert sleepers(first) == sleepers(second) == []


def test_c16_nothing_piles_up(box: Box) -> None:
    for _ in range(12):
        box.run("echo x > y")
    assert ours(box) == []


def test_c20_what_is_shut_never_fails_the_cleaning(box: Box) -> None:
    done = box.run(
        "mkdir -p a/b; echo x > a/b/c; chmod 0 a/b/c a/b a; mkdir $HOME/h; touch $HOME/h/x; chmod 0 $HOME/h; exit 7"
    )
    assert done.facts.exit_code == 7
    assert box.run("ls $HOME; ls").stdout == b"edit.py\nfolder\ngone.py\n"


@pytest.fixture
def killed(box: Box, store: Path, place: Path) -> Iterator[tuple[str, str]]:
    """A coordinator with three sandboxes, killed. Gives its owner id and what its commands sleep."""
    seconds, whose = unique_seconds(), f"dead{time.monotonic_ns()}"
    command = [sys.executable, "-m", "tests.sandbox.coordinator", box.factory.name, str(store), str(place)]
    argv = [*command, whose, "3", seconds]
    coordinator = subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert coordinator.stdout is not None
        assert coordinator.stdout.readline() == b"ready\n"
        # A shell that has printed is not yet the program that sleeps.
        until(lambda: len(sleepers(seconds)) == 3, "three that sleep")
        coordinator.send_signal(signal.SIGKILL)
        coordinator.wait()
        yield whose, seconds
    finally:
        coordinator.kill()
        coordinator.wait()
        box.portal.call(box.backend.reap, handles(box, whose))
        assert coordinator.stdout is not None
        coordinator.stdout.close()


def test_c01_after_sigkill_of_the_coordinator(box: Box, killed: tuple[str, str]) -> None:
    whose, seconds = killed
    if box.factory.name == "bubblewrap":
        until_none_sleep(seconds)
        grouped = box.portal.call(box.backend.probe).enforced["memory"] == "cgroup"
        assert (groups(whose) != []) == grouped
    left = handles(box, whose)
    assert {handle.owner.id for handle in left} == {whose}
    assert len(left) == 3
    assert box.portal.call(box.backend.reap, left) == 3
    until_none_sleep(seconds)
    assert handles(box, whose) == []
    box.portal.call(box.backend.reap, [])
    assert groups(whose) == []


def groups(whose: str) -> list[str]:
    """An owner's control groups; a walk passes over those of other tests that come to their end meanwhile."""
    return [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if whose in name]


def test_c02_reaping_leaves_the_living_alone(box: Box, killed: tuple[str, str]) -> None:
    whose, _ = killed
    seconds = unique_seconds()
    spec = box.spec(f"echo up; sleep {seconds}; echo survived")
    future = box.begin(spec)
    assert box.portal.call(box.backend.reap, handles(box, whose)) == 3
    assert len(ours(box)) == 1
    wake(seconds)
    assert box.done(spec, future.result()).stdout == b"up\nsurvived\n"


def test_closing_a_backend_leaves_nothing(box: Box, store: Path) -> None:
    whose = owner("second")

    def left() -> list[Path]:
        return [path for path in store.rglob("*") if whose.id in path.name]

    second = box.factory.make(store, whose, 1)
    other = Box(box.portal, second, box.factory, box.folder)
    assert other.run("echo x").stdout == b"x\n"
    assert left() != []
    box.portal.call(second.aclose)
    assert left() == []
    box.portal.call(second.aclose)
