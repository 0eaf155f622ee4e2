"""A hostile agent that floods its door: the coordinator keeps its descriptors, and the others their model."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator

import pytest

from sweeper.testing.model_script import Say
from tests.agents.conftest import Sweeping

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DESCRIPTORS = 512
AGENT = """
import json, os, socket, sys, time, urllib.request
name = sys.argv[1]
if name.endswith("m0.py"):
    kept = []
    for _ in range(8):
        if os.fork() == 0:
            for _ in range(200):
                kept.append(socket.socket(socket.AF_UNIX))
                kept[-1].connect("/run/sweeper/gateway.sock")
            print("flooding", flush=True)
            time.sleep(11)
            os._exit(0)
    time.sleep(10)
    sys.exit()
time.sleep(3)
for at in range(3):
    body = json.dumps({"model": os.environ["SWEEPER_MODEL"], "max_tokens": 100,
                       "messages": [{"role": "user", "content": name}]}).encode()
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body, headers)
    assert urllib.request.urlopen(request, timeout=60).status == 200
open(name, "w").write("VALUE = 0\\n")
"""


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """As many as half the systems' usual soft limit, for whatever this test starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_flood_at_one_door_is_that_agent_s_own_trouble(
    sweeping: Callable[..., Sweeping], sandbox: str, few_descriptors: None, request: pytest.FixtureRequest
) -> None:
    if sandbox == "docker":
        request.getfixturevalue("docker_engine")
    sweep = sweeping(lambda asked: Say("done."), files=2)
    sweep.configure(
        {"run": ["python3", "-c", AGENT, "{files}"], "provider": "anthropic", "model": "claude-sonnet-4-5"},
        top="[limits]\nslots = 2",
    )
    ended = sweep.run(sandbox=sandbox)
    assert ended.kinds("pkg/m1.py") == ["fixed"], ended.out + ended.err
    assert len(sweep.server.seen) == 3
