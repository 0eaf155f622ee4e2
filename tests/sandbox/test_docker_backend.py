"""What only the docker backend has: two ways to a workspace, salvage, toolchains as images, its own inner deadline."""

from __future__ import annotations

import dataclasses
import grp
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from anyio.from_thread import BlockingPortal

from sweeper.errors import CheckBroken, ConfigError
from sweeper.sandbox.contract import INPUTS, Snapshot, Toolchain
from sweeper.sandbox.docker import Docker, answers
from sweeper.sandbox.docker.container import Manner, configuration, labels
from tests.conftest import User
from tests.sandbox.conftest import FILES, SMALL, Box, owner
from tests.sandbox.sleeping import unique_seconds, wake
from tests.sandbox.trees import PlainTree
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.docker
ROOT = Path(__file__).parents[2]
Client = docker.DockerClient
_numbers = itertools.count()


@pytest.fixture
def docker_box(box: Box) -> Box:
    if box.factory.name not in ("docker", "remote_engine"):
        pytest.skip("of the docker backend")
    return box


def shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


def toolchain(*commands: str, tools: tuple[str, ...] = ("sh",)) -> Toolchain:
    return Toolchain(tools=tools, setup=tuple(shell(each) for each in commands), key=repr(commands))


def volumes(engine: Client, whose: str) -> list[object]:
    return list(engine.volumes.list(filters={"label": f"io.sweeper.owner={whose}"}))


def test_setup_is_kept_and_the_commits_files_are_not(docker_box: Box) -> None:
    """A tool, a folder of dependencies, and a commit's file that the set-up spoils, removes or hides."""
    tree = PlainTree({**FILES, "lock": b"1\n"}, git=True)
    made = toolchain(
        "printf '#!/bin/sh\\necho linted\\n' > /usr/local/bin/mylint; chmod 755 /usr/local/bin/mylint",
        "mkdir -p node_modules/x; echo dep > node_modules/x/index.js; mkdir -p folder/build; echo o > folder/build/o",
        "echo spoiled >> edit.py; rm gone.py; rm -r folder/a.txt; chmod 777 lock; rm -rf .git",
        tools=("mylint", "sh"),
    )
    snapshot = docker_box.portal.call(docker_box.backend.prepare, tree, made)
    done = docker_box.run(
        "mylint; cat node_modules/x/index.js folder/build/o; cat edit.py gone.py folder/a.txt; ls -d .git; "
        "echo more >> node_modules/x/index.js; echo y > edit.py",
        snapshot=snapshot,
    )
    assert done.stderr == b""
    assert done.stdout == b"linted\ndep\no\nimport os\nx = 1\na\n.git\n"
    expected = {"edit.py": b"y\n", "node_modules/x/index.js": b"dep\nmore\n"}
    assert done.changed == expected


def test_setup_that_fails_says_what_it_said(docker_box: Box) -> None:
    with pytest.raises(CheckBroken, match="no such package") as caught:
        docker_box.portal.call(
            docker_box.backend.prepare, PlainTree(FILES), toolchain("echo no such package >&2; exit 4")
        )
    assert "`setup`" in caught.value.hint
    assert "exit 4" in str(caught.value)


def test_a_toolchain_without_a_definition_is_named(docker_box: Box) -> None:
    with pytest.raises(ConfigError, match="'pyhton'") as caught:
        docker_box.portal.call(docker_box.backend.prepare, PlainTree(FILES), Toolchain(name="pyhton"))
    assert "python" in caught.value.hint


def test_c26_what_the_engine_tells_holds_no_input(docker_box: Box, docker_engine: Client) -> None:
    secret = "sk-test-0123456789"
    spec = docker_box.spec(
        f"cat {INPUTS}/key; cat; sleep 600", inputs={"key": secret.encode()}, stdin=secret.encode() + b"\n"
    )
    future = docker_box.portal.start_task_soon(docker_box.backend.run, spec)
    until(lambda: spec.stdout.exists() and spec.stdout.read_bytes().count(secret.encode()) == 2, "both of its inputs")
    told = json.dumps(docker_engine.api.inspect_container(str(spec.name)))
    future.cancel()
    until(lambda: not docker_engine.api.containers(all=True, filters={"name": str(spec.name)}), "its removal")
    assert str(spec.name) in told
    assert secret not in told


def test_c18_large_inputs_arrive_where_no_folder_was(docker_box: Box) -> None:
    data = os.urandom(2 << 20)
    done = docker_box.run(
        f"cat {INPUTS}/large", inputs={"large": data}, limits=dataclasses.replace(SMALL, output=8 << 20)
    )
    assert done.stdout == data


def test_inner_deadline_ends_it_without_a_coordinator(docker_box: Box, docker_engine: Client) -> None:
    """The container as it would be started, and nobody who watches it."""
    spec = docker_box.spec("trap '' TERM INT; sleep 600 & wait", deadline=time.time() + 2)
    marks = labels(spec, owner("nobody"), "token", "")
    body = configuration(spec, spec.snapshot.handle.image, Manner("65532:65532"), [], marks, time.time())
    name = f"sweeper-inner-{os.getpid()}-{next(_numbers)}"
    made = docker_engine.api.create_container_from_config(body, name)  # type: ignore[no-untyped-call]
    try:
        docker_engine.api.start(made["Id"])
        assert docker_engine.api.wait(made["Id"], timeout=PATIENCE)["StatusCode"] == 137
    finally:
        docker_engine.api.remove_container(made["Id"], force=True, v=True)


CHILD = """
import anyio, sys, time
from pathlib import Path
from sweeper.sandbox.contract import Clocks, Limits, Name, Role, Spec
from tests.sandbox.backends import FACTORIES
from tests.sandbox.conftest import FILES, seemingly_alive
from tests.sandbox.trees import PlainTree

async def main(factory, store, owner, script):
    chosen = FACTORIES[factory]
    backend = chosen.make(Path(store), seemingly_alive(owner), 2)
    out = Path(store) / owner
    spec = Spec(Name("salvage", owner, 1, Role.AGENT), await backend.prepare(PlainTree(FILES), chosen.toolchain),
                ("sh", "-c", script), out, out.with_suffix(".err"), limits=Limits(128 << 20, 32, 1, 16 << 20, 1 << 20),
                clocks=Clocks(wall=600), deadline=time.time() + 600, wanted=lambda path: True)
    ran = await backend.run(spec)
    print([(entry.path, entry.data) for entry in ran.layer.entries])
    await backend.aclose()

anyio.run(main, *sys.argv[1:])
"""


@pytest.fixture
def dead(docker_box: Box, store: Path) -> Iterator[str]:
    """The owner of a sandbox whose coordinator was killed after the command had written."""
    whose = f"dead{time.monotonic_ns()}"[-20:]
    script = "echo kept > new; rm gone.py; echo up; sleep 600"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, docker_box.factory.name, str(store), whose, script], cwd=ROOT
    )
    out = store / whose
    try:
        until(lambda: child.poll() is not None or (out.exists() and out.read_bytes()), "what it prints")
        assert child.poll() is None
        child.send_signal(signal.SIGKILL)
        child.wait()
        yield whose
    finally:
        child.kill()
        child.wait()
        for left in (out, out.with_suffix(".err")):
            left.unlink(missing_ok=True)


def test_c01_salvage_after_sigkill_of_the_coordinator(
    docker_box: Box, docker_engine: Client, dead: str, store: Path
) -> None:
    tree = PlainTree(FILES)
    snapshot = Snapshot(tree.commit, tree.listing)  # a new coordinator has prepared nothing
    (handle,) = docker_box.portal.call(docker_box.backend.list, dead)
    assert (handle.run, handle.running) == ("salvage", True)
    assert volumes(docker_engine, dead) or (store / "docker" / dead).exists()
    layer = docker_box.portal.call(docker_box.backend.salvage, handle, snapshot, lambda path: True)
    assert layer is not None
    assert {entry.path: entry.data for entry in layer.entries} == {b"new": b"kept\n", b"gone.py": None}
    assert docker_box.portal.call(docker_box.backend.list, dead) == []
    assert docker_box.portal.call(docker_box.backend.salvage, handle, snapshot, lambda path: True) is None
    assert volumes(docker_engine, dead) == []
    assert list((store / "docker").glob(f"{dead}*")) == []
    assert dead not in Path("/proc/self/mountinfo").read_text()


def test_c02_what_a_living_coordinator_holds_is_not_tidied(docker_box: Box, store: Path) -> None:
    seconds = unique_seconds()
    spec = docker_box.spec(f"echo up; sleep {seconds}; echo kept > new")
    future = docker_box.begin(spec)
    second = docker_box.factory.make(store, owner("second"), 1)
    assert docker_box.portal.call(second.reap, []) == 0
    docker_box.portal.call(second.aclose)
    wake(seconds)
    assert docker_box.done(spec, future.result()).changed == {"new": b"kept\n"}


def test_a_helper_of_a_dead_coordinator_is_removed(docker_box: Box, docker_engine: Client, store: Path) -> None:
    """A set-up or a look into an image leaves a container that is no sandbox; its owner's lock is free."""
    whose = f"gone{time.monotonic_ns()}"
    (store / "docker" / whose).mkdir(parents=True)
    image = docker_box.snapshot(PlainTree(FILES)).handle.image
    left = docker_engine.containers.create(image, "true", labels={"io.sweeper.owner": whose})
    docker_box.portal.call(docker_box.backend.reap, [])
    with pytest.raises(docker.errors.NotFound):
        left.reload()
    assert not (store / "docker" / whose).exists()


@pytest.mark.root
@pytest.mark.parametrize("twin", [False, True], ids=["nothing there", "something else there"])
def test_c21_an_engine_that_sees_another_disk(
    docker_engine: Client, ordinary_user: User, store: Path, twin: bool
) -> None:
    """The store lies on a mount that the engine does not have, as in a container beside its own: images are used."""
    place = store / f"elsewhere{next(_numbers)}"
    whose = f"c21{twin:d}"  # the two run at once, and each would take the other for dead
    slot = place / "docker" / whose / "1"
    place.mkdir()
    if twin:
        for folder in ("changes", "space/upper-1", "space/work"):
            (slot / folder).mkdir(parents=True)
        (slot / "changes/nonce").write_bytes(b"of another disk")
    script = f'mount -t tmpfs none {place} && exec "$@"'
    child = [sys.executable, "-c", CHILD, "docker", str(place), whose, "echo x > new; rm gone.py"]
    argv = ["unshare", "-m", "sh", "-c", script, "sh", *child]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[(b'gone.py', None), (b'new', b'x\\n')]\n"
    shutil.rmtree(place)


@pytest.mark.root
def test_c20_an_ordinary_user_leaves_nothing_that_only_root_can_delete(ordinary_user: User, store: Path) -> None:
    place = store / f"user{next(_numbers)}"
    place.mkdir()
    os.chown(place, ordinary_user.uid, ordinary_user.gid)
    argv = ordinary_user.runs(sys.executable, "-c", CHILD, "docker", str(place), "c20", "rm gone.py; rm -r folder")
    argv[argv.index("--clear-groups")] = f"--groups={grp.getgrnam('docker').gr_gid}"
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "(b'gone.py', None)" in done.stdout
    assert os.listdir(place / "docker") == []


def test_answers_are_quick_and_no_is_an_answer(portal: BlockingPortal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "/nowhere/docker.sock")
    assert portal.call(answers) is False
    probe = portal.call(Docker(Path("/tmp/unused"), owner("none"), slots=1).probe)
    assert not probe.ok
    assert "DOCKER_HOST" in probe.why
    assert probe.hint
