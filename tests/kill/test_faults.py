"""What else breaks under a run: the engine's containers, the engine, the ledger's disk and lock, the clock."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from docker.models.containers import Container

from tests.fire.project import Project
from tests.kill.conftest import Killed
from tests.sandbox.engine_proxy import proxied
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.kill]
# Whoever waits for the first end of the first two waits in vain.
STUCK = {"units": {"pkg/m[01].py": [["sleep 600"], ["fix"]]}, "default": ["fix"]}


@pytest.mark.parametrize(
    ("point", "seconds"),
    [
        ("sandbox:run#6:before", 3600),
        ("ledger:land#2:before", -3600),
        pytest.param("sandbox:run#6:before", -3600, marks=pytest.mark.long),
        pytest.param("ledger:land#2:before", 3600, marks=pytest.mark.long),
    ],
)
def test_the_clock_steps_an_hour(killed: Killed, point: str, seconds: int) -> None:
    done = killed.run(KILL_POINTS_CLOCK=f"{seconds}@{point}")
    assert done.returncode == 0, done.stderr
    assert killed.met() == [point]
    killed.check_promises()


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_the_clock_steps_an_hour_between_a_kill_and_the_next_start(killed: Killed, seconds: int) -> None:
    assert killed.run(KILL_POINTS_ONLY="ledger:land#1:before").returncode == -signal.SIGKILL
    point = "ledger:migrate#1:before"
    done = killed.run(KILL_POINTS_CLOCK=f"{seconds}@{point}")
    assert done.returncode == 0, done.stderr
    assert killed.met() == ["ledger:land#1:before", point]
    killed.check_promises()


def test_the_ledger_is_locked_for_ten_seconds(killed: Killed) -> None:
    running = killed.project.start()
    path = killed.project.folder / ".git/sweeper/ledger.sqlite3"
    until(killed.project.attempts, "an attempt")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as other:
        other.execute("BEGIN EXCLUSIVE")
        time.sleep(10)
        assert running.poll() is None
        other.execute("ROLLBACK")
    _, stderr = running.communicate()
    assert running.returncode == 0, stderr
    killed.check_promises()


@pytest.fixture
def small_disk(killed: Killed) -> Iterator[Path]:
    """The ledger's folder on a file system of two megabytes."""
    folder = killed.project.folder / ".git/sweeper"
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_the_ledger_s_disk_is_full(killed: Killed, small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    running = killed.project.start()
    until(killed.project.attempts, "an attempt")
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
    stdout, stderr = running.communicate()
    assert running.returncode not in (0, 1), stdout
    assert "ledger" in stderr
    assert "Traceback" not in stderr
    ballast.unlink()
    done = killed.project.run()
    assert done.code == 0, done.err
    killed.check_promises()


def stuck_project(folder: Path) -> Killed:
    project = Project(folder / "project")
    project.configure(dict(STUCK), top="[limits]\nslots = 2")
    return Killed(project, folder / "points")


def agents_of(project: Project, engine: docker.DockerClient) -> list[Container]:
    labelled = engine.containers.list(filters={"label": "io.sweeper.role=agent"}, ignore_removed=True)
    mine = f"SWEEPER_TEST_PROJECT={project.folder}"
    return [each for each in labelled if mine in each.attrs["Config"]["Env"]]


@pytest.mark.docker
def test_containers_are_killed_under_it(tmp_path: Path, docker_engine: docker.DockerClient) -> None:
    stuck = stuck_project(tmp_path)
    running = stuck.project.start(sandbox="docker")
    until(lambda: len(agents_of(stuck.project, docker_engine)) == 2, "two agents' containers")
    for container in agents_of(stuck.project, docker_engine):
        container.kill()
    _, stderr = running.communicate()
    assert running.returncode == 0, stderr
    stuck.check_promises()


@pytest.mark.docker
def test_the_engine_restarts_in_mid_round(
    tmp_path: Path, docker_engine: docker.DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cuts every connection, takes the containers with it and answers again."""
    stuck = stuck_project(tmp_path)
    with tempfile.TemporaryDirectory(dir="/tmp") as short, proxied(Path(short)) as proxy:
        monkeypatch.setenv("DOCKER_HOST", proxy.url)
        running = stuck.project.start(sandbox="docker")
        until(lambda: len(agents_of(stuck.project, docker_engine)) == 2, "two agents' containers")

        def restart() -> None:
            proxy.go_away()
            for container in agents_of(stuck.project, docker_engine):
                container.kill()
            time.sleep(2)
            proxy.come_back()

        restarting = threading.Thread(target=restart)
        restarting.start()
        _, stderr = running.communicate()
        restarting.join()
    assert running.returncode == 0, stderr
    stuck.check_promises()
