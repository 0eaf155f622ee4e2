"""An agent on an engine that sees none of our files: it reaches its model through the gateway, and nothing else."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from sweeper.attempt.rehearsal import Rehearsed, rehearse
from sweeper.config.models import RungConfig, SweepConfig
from sweeper.gateway import Protocol, Provider
from sweeper.sandbox.docker import Docker
from sweeper.testing.model_script import Say
from sweeper.testing.model_server import ModelServer, serving
from tests.agents.watching import holds
from tests.sandbox.conftest import owner

pytestmark = pytest.mark.docker
KEY = f"sk-real-{secrets.token_hex(20)}-ZYX"

AGENT = """
import json, os, socket, sys, urllib.request
base, token = os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_API_KEY"]
def ask(token, model, text, host=None, path="/v1/messages"):
    body = {"model": model, "max_tokens": 2000, "messages": [{"role": "user", "content": text}]}
    head = {"x-api-key": token, "content-type": "application/json"} | ({"host": host} if host else {})
    try:
        return urllib.request.urlopen(urllib.request.Request(base + path, json.dumps(body).encode(), head)).status
    except OSError as error:
        return error.code if hasattr(error, "code") else str(error)
model = os.environ["SWEEPER_MODEL"]
said = [ask("sk-sweeper-of-another", model, "x"), ask(token, "claude-opus-4-5", "x"),
        ask(token, model, "x", host="api.example.com"), ask(token, model, "x", path="/v1/files")]
for place in (("1.1.1.1", 443), ("172.17.0.1", PORT), ("host.docker.internal", PORT), ("127.0.0.1", PORT)):
    try:
        socket.create_connection(place, 2)
        said.append(place)
    except OSError:
        said.append("no")
interfaces = sorted(name for _, name in socket.if_nameindex())
seen = json.dumps(dict(os.environ)) + str(os.listdir("/run/sweeper"))
if said == [401, 400, 403, 404, "no", "no", "no", "no"] and interfaces == ["lo"]:
    if ask(token, model, seen) == 200:
        text = open(sys.argv[1]).read()
        open(sys.argv[1], "w").write(text.replace("red", "green"))
print(said, interfaces)
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(lambda asked: Say("done."), keys=frozenset({KEY})) as started:
        yield started


def test_an_agent_beside_a_relay_reaches_its_model_alone(server: ModelServer, docker_engine: object) -> None:
    folder = Path(tempfile.mkdtemp(prefix="store-", dir=os.environ["SWEEPER_CACHE"]))
    folder.chmod(0o755)
    port = server.url.rpartition(":")[2]
    rung = RungConfig(
        agent="command",
        run=["python3", "-c", AGENT.replace("PORT", port), "{files}"],
        provider="anthropic",
        model="claude-sonnet-4-5",
    )

    async def main() -> Rehearsed:
        backend = Docker(folder, owner("relayed"), slots=1, shared_paths=False)
        try:
            provider = Provider("anthropic", server.url, KEY, Protocol.ANTHROPIC)
            return await rehearse(backend, SweepConfig(check="true", ladder=[rung]), rung, provider)
        finally:
            await backend.aclose()

    try:
        done = anyio.run(main)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.why == "", done.lines
    (seen,) = server.seen
    assert seen.key == KEY
    assert done.usage.micro_usd > 0
    assert not holds(str(seen.body).encode(), [KEY.encode()])
    assert "gateway.sock" in str(seen.body)
