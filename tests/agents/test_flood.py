"""A hostile agent that floods its door: the coordinator keeps its descriptors, and the others their model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from sweeper.testing.model_script import Asked, Reply, Say
from tests.agents.conftest import Sweeping

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# Half of the systems' usual soft limit, and no more to be had.
FEW = ("sh", "-c", 'ulimit -n 512; exec "$@"', "sh")
AGENT = """
import http.client, json, os, signal, socket, sys, time
near = socket.socket(socket.AF_UNIX)
near.connect("/run/sweeper/gateway.sock")  # before there is a crowd at this door
model = http.client.HTTPConnection("localhost")
model.sock = near
def ask(text):
    body = {"model": os.environ["SWEEPER_MODEL"], "max_tokens": 100, "messages": [{"role": "user", "content": text}]}
    head = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    model.request("POST", "/v1/messages", json.dumps(body), head)
    answer = model.getresponse()
    assert answer.status == 200
    time.sleep(0.1)
    return json.loads(answer.read())["content"][0]["text"]
if sys.argv[1].endswith("m0.py"):
    done, mark = os.pipe()
    for _ in range(8):
        if os.fork() == 0:
            kept = [socket.socket(socket.AF_UNIX) for _ in range(200)]
            for each in kept:
                each.connect("/run/sweeper/gateway.sock")
            os.write(mark, b".")
            signal.pause()
    flood = b""
    while len(flood) < 8:
        flood += os.read(done, 8)
    while ask("flooding") != "over":
        pass
    sys.exit()
while ask("is there a flood?") != "yes":
    pass
for _ in range(3):
    ask("mending")
ask("mended")
open(sys.argv[1], "w").write("VALUE = 0\\n")
"""


@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_flood_at_one_door_is_that_agent_s_own_trouble(
    sweeping: Callable[..., Sweeping], sandbox: str, request: pytest.FixtureRequest
) -> None:
    if sandbox == "docker":
        request.getfixturevalue("docker_engine")
    told: Counter[str] = Counter()

    def script(asked: Asked) -> Reply:
        """Whoever floods goes on until the other is done, who begins when there is a flood."""
        said = asked.text.strip()
        told[said] += 1
        if said == "flooding":
            return Say("over" if told["mended"] else "go on")
        return Say("yes" if told["flooding"] else "no")

    sweep = sweeping(script, files=2)
    sweep.configure(
        {
            "run": ["python3", "-c", AGENT, "{files}"],
            "provider": "anthropic",
            "model": "claude-sonnet-4-5",
            "budget_usd": 20,
        },
        top="[limits]\nslots = 2\nusd_per_fire = 50",
    )
    ended = sweep.run(sandbox=sandbox, before=FEW)
    assert ended.kinds("pkg/m1.py") == ["fixed"], ended.out + ended.err
    assert (told["mending"], told["mended"]) == (3, 1)
