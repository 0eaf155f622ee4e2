"""A coordinator that is killed while several candidates try: nothing paid for is lost, nothing is paid for twice."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeper.testing.model_script import Asked, Reply, Say, Script
from sweeper.testing.model_server import compose
from sweeper.testing.model_wire import Counted
from tests.agents.conftest import Sweeping
from tests.agents.test_sweeps import _price
from tests.fire.project import COMMAND
from tests.held import Held
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.kill, pytest.mark.timeout(300)]

# It does what its model says: mends the file, breaks it, or nothing.
AGENT = """
import json, os, sys, urllib.request
body = {"model": os.environ["SWEEPER_MODEL"], "max_tokens": 4000}
body["messages"] = [{"role": "user", "content": sys.argv[1]}]
head = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(), head)
said = json.loads(urllib.request.urlopen(request).read())["content"][0]["text"]
print(said)
if said == "fix":
    open(sys.argv[1], "w").write("VALUE = 0\\n")
if said == "wrong":
    open(sys.argv[1], "a").write("import csv\\n")
"""
RUNG: dict[str, Any] = {
    "agent": "command", "provider": "anthropic", "model": "claude-sonnet-4-5", "candidates": 3,
    "run": ["python3", "-c", AGENT, "{files}"],
}  # fmt: skip


def pausing(tmp_path: Path) -> tuple[Held, dict[str, Any]]:
    """A rung whose candidates wait before they ask, once there is a file `pause`, until they are let go."""
    held = Held(tmp_path / "tools")
    (held.folder / "agent.py").write_text(AGENT)
    pause = f"if test -e {held.folder}/pause; then {held.waiting}; fi"
    program = held.program("agent", f'{pause}; exec python3 {held.folder}/agent.py "$@"')
    return held, RUNG | {"run": [program, "{files}"]}


# One candidate after the other: their order is the server's.
ONE_SLOT = "[limits]\nslots = 1\nusd_per_fire = 50"


def start(sweep: Sweeping) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, "run", "--sandbox", "bubblewrap"],
        cwd=sweep.project.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | sweep.environment(),
    )


def kill_when(child: subprocess.Popen[bytes], happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    child.kill()
    child.wait()


def tokens_of(sweep: Sweeping, script: Script) -> list[Counted]:
    """What the server counted, call by call."""
    answered = [seen.asked for seen in sweep.server.seen if seen.asked and seen.status == 200]
    return [compose(asked, reply).counted for asked in answered if isinstance(reply := script(asked), Say)]


def captures(project: Path) -> list[str]:
    return sorted(path.name for path in (project / ".git/refs/sweeper").glob("*/*/*"))


def test_a_later_candidate_of_a_killed_coordinator_is_adopted(
    sweeping: Callable[..., Sweeping], tmp_path: Path
) -> None:
    """The first found nothing, the second had mended it, the third had not asked yet."""
    held, rung = pausing(tmp_path)

    def script(asked: Asked) -> Reply:
        if asked.number == 2:
            (held.folder / "pause").touch()
        return Say("fix" if asked.number == 2 else "nothing")

    sweep = sweeping(script, files=1)
    sweep.configure(rung, top=ONE_SLOT)
    kill_when(start(sweep), lambda: captures(sweep.project.folder))
    held.let_go()
    assert captures(sweep.project.folder) == ["1-1"]
    ended = sweep.run()
    assert ended.code == 0, ended.err
    assert ended.kinds("pkg/m0.py") == ["fixed"]
    assert len(sweep.server.seen) == 2, "what was paid for is not asked again"
    paid = sum(_price("claude-sonnet-4-5", tokens) for tokens in tokens_of(sweep, script))
    assert ended.report["usage"]["micro_usd"] == paid, "the first one's call counts as well"
    assert sweep.project.ledger("SELECT number, state FROM attempt") == [(1, "landed")]


def test_of_several_captures_the_one_that_holds_is_taken(sweeping: Callable[..., Sweeping], tmp_path: Path) -> None:
    held, rung = pausing(tmp_path)

    def script(asked: Asked) -> Reply:
        if asked.number == 2:
            (held.folder / "pause").touch()
        return Say({1: "wrong", 2: "fix"}.get(asked.number, "nothing"))

    sweep = sweeping(script, files=1)
    sweep.configure(rung, top=ONE_SLOT)
    kill_when(start(sweep), lambda: len(captures(sweep.project.folder)) == 2)
    held.let_go()
    ended = sweep.run()
    assert ended.kinds("pkg/m0.py") == ["fixed"]
    assert len(sweep.server.seen) == 2
    assert sweep.project.recount() == 0


def test_what_a_lost_attempt_had_spent_is_counted(sweeping: Callable[..., Sweeping]) -> None:
    """Killed in the third candidate's call: two are known, the third counts with all that it might have used."""

    def script(asked: Asked) -> Reply:
        if asked.number == 3:
            return Say("nothing", wait=600.0)
        return Say("fix" if asked.number > 3 else "nothing")

    sweep = sweeping(script, files=1)
    sweep.configure(RUNG, top=ONE_SLOT)
    kill_when(start(sweep), lambda: len(sweep.server.seen) == 3)
    ended = sweep.run()
    assert ended.code == 0, ended.err
    rows = sweep.project.ledger("SELECT number, state, micro_usd FROM attempt ORDER BY number")
    assert [row[:2] for row in rows] == [(1, "lost"), (2, "landed")]
    each = [_price("claude-sonnet-4-5", tokens) for tokens in tokens_of(sweep, script)]
    assert rows[0][2] >= sum(each[:2]) + 4000 * 15, "a call that was under way counts in full"
    assert ended.report["usage"]["micro_usd"] == rows[0][2] + rows[1][2]
