"""A cancelled job: the signals of a runner, at every stage of a unit, to commands that ignore them (case E09)."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from tests.fire.project import COMMAND, Project
from tests.held import Held
from tests.signals import at_once
from tests.waiting import PATIENCE, until

pytestmark = [pytest.mark.slow, pytest.mark.kill]

DEAF = 'trap "" TERM INT HUP; '
FOR_A_WHILE = "sleep 3"  # a container sees no file of the test's
ON_THE_BASE = 'grep -q "^import" "${1:-pkg/m0.py}"'  # nothing is mended there yet
STAGES = ("agent", "verify", "barrier", "gate")
LABEL = "io.sweeper.owner.pid"


class Cancelled:
    """A project whose every command is deaf at one stage, and does not end before it is let go."""

    def __init__(self, project: Project, stage: str, sandbox: str) -> None:
        self.project, self.stage, self.sandbox = project, stage, sandbox
        self.mark = project.folder.parent.name + stage
        self.held = Held(project.folder.parent / "tools")
        agent, unit, test = (self.deaf(name) for name in ("agent", "verify", "gate"))
        more = f"unit_check = {json.dumps(unit)}\n"
        if stage in ("barrier", "gate"):
            more += f"test = {json.dumps(test)}\n"
        project.configure(agent, more=more, top="[limits]\nslots = 2\nverifiers = 2\n")

    def deaf(self, name: str) -> str:
        """A command that works, and at this project's own stage waits first."""
        work = {
            "agent": 'exec ruff check --fix -q "$@"',
            "verify": 'exec ruff check --output-format json "$@"',
            "gate": "exit 0",
        }[name]
        script = work
        if name == self.stage or (name, self.stage) == ("gate", "barrier"):
            slow = FOR_A_WHILE if self.sandbox == "docker" else self.held.waiting
            waiting = shlex.join(["sh", "-c", f"{DEAF}{slow}; {work}", self.mark])
            script = f'exec {waiting} "$@"'
            if self.stage in ("verify", "gate"):  # both are run on the base too, before there is an agent
                script = f"if {ON_THE_BASE}; then {work}; else {script}; fi"
        inline = shlex.join(["sh", "-c", script, "sh"])
        command = inline if self.sandbox == "docker" else self.held.program(name, script)
        return command + ("" if name == "gate" else " {files}")

    def start(self, *before: str) -> subprocess.Popen[str]:
        """In a session of its own, so that a signal can go to all of its process group."""
        words = [*COMMAND, "run", "--json", "--sandbox", self.sandbox]
        return subprocess.Popen(
            [*before, *words], cwd=self.project.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def working(self) -> list[int]:
        """Process ids of commands inside sandboxes that wait at the stage."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].rpartition(b"/")[2] == b"sh" and self.mark.encode() in words:
                found.append(int(entry.name))
        return found

    def wait(self) -> None:
        """Until the stage has begun."""
        until(self.working, f"the stage {self.stage}")

    def owned(self, engine: docker.DockerClient, pid: int) -> list[dict[str, str]]:
        """Labels of the containers of one coordinator."""
        found = engine.containers.list(all=True, filters={"label": f"{LABEL}={pid}"}, ignore_removed=True)
        return [each.labels for each in found]

    def go_on(self) -> None:
        """The next run takes every claim back and drains the rest; nothing is landed twice."""
        self.held.let_go()
        ended = self.project.run(sandbox=self.sandbox)
        assert ended.code == 0, ended.err
        assert self.project.recount() == 0
        assert self.project.ledger("SELECT count(*) FROM unit WHERE state != 'settled'") == [(0,)]
        twice = "SELECT 1 FROM attempt WHERE state = 'landed' GROUP BY unit, round HAVING count(*) > 1"
        assert self.project.ledger(twice) == []
        kinds = self.project.ledger("SELECT DISTINCT kind FROM attempt WHERE state = 'landed'")
        assert kinds == [("fixed",)], "a cancelled attempt was taken for a verdict"
        assert self.working() == []


@pytest.fixture
def started(project: Project) -> Iterator[Callable[..., tuple[Cancelled, subprocess.Popen[str]]]]:
    children: list[subprocess.Popen[str]] = []

    def start(stage: str, sandbox: str = "bubblewrap", *before: str) -> tuple[Cancelled, subprocess.Popen[str]]:
        one = Cancelled(project, stage, sandbox)
        children.append(one.start(*before))
        one.wait()
        return one, children[-1]

    yield start
    for child in children:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()


Start = Callable[..., tuple[Cancelled, subprocess.Popen[str]]]


def cancel(one: Cancelled, running: subprocess.Popen[str], number: int, send: Callable[[int, int], None]) -> None:
    send(running.pid, number)
    try:
        out, err = running.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{one.stage}: it waits for its commands")
    assert running.returncode == (130 if number == signal.SIGINT else 143), err
    assert "sweeper resume" in err
    assert json.loads(out)["exit_code"] == running.returncode
    assert one.working() == []
    assert one.project.ledger("SELECT count(*) FROM unit WHERE state = 'claimed'") == [(0,)]
    assert one.project.ledger("SELECT count(*) FROM dispatcher WHERE owner != ''") == [(0,)]


SOME = {("agent", signal.SIGINT), ("verify", signal.SIGHUP), ("gate", signal.SIGTERM)}
ALL = [
    pytest.param(stage, number, marks=() if (stage, number) in SOME else pytest.mark.long)
    for stage in STAGES
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
]


@pytest.mark.parametrize(("stage", "number"), ALL)
def test_e09_a_signal_to_every_process_of_the_job(started: Start, stage: str, number: int) -> None:
    one, running = started(stage)
    cancel(one, running, number, os.killpg)
    one.go_on()


@pytest.mark.docker
@pytest.mark.parametrize(
    ("stage", "number"),
    [
        pytest.param(*each.values, marks=() if each.values == ("agent", signal.SIGHUP) else pytest.mark.long)
        for each in ALL
    ],
)
def test_e09_a_signal_while_containers_run(
    started: Start, docker_engine: docker.DockerClient, stage: str, number: int
) -> None:
    one, running = started(stage, "docker")
    cancel(one, running, number, os.kill)
    assert one.owned(docker_engine, running.pid) == []
    one.go_on()


@pytest.mark.docker
@pytest.mark.long
def test_e09_what_a_runner_s_second_signal_leaves_has_a_deadline(
    started: Start, docker_engine: docker.DockerClient
) -> None:
    """The first one was not enough: at the second one nothing is cleaned up any more, and the next run does it."""
    one, running = started("agent", "docker")
    at_once(running.pid, signal.SIGINT, signal.SIGTERM)
    out, _ = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out) == (130, "")
    left = one.owned(docker_engine, running.pid)
    assert left
    assert all(time.time() < float(labels["io.sweeper.deadline"]) < time.time() + 3600 for labels in left)
    one.go_on()
    assert one.owned(docker_engine, running.pid) == []


def test_e09_only_the_shell_above_it_is_told_and_then_everything_is_killed(started: Start) -> None:
    one, running = started("agent", "bubblewrap", "bash", "-c", '"$@"; exit $?', "step")
    os.kill(running.pid, signal.SIGINT)
    os.kill(running.pid, signal.SIGTERM)
    running.wait(timeout=PATIENCE)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate(timeout=PATIENCE)
    until(lambda: not one.working(), "the end of every command")
    one.go_on()
