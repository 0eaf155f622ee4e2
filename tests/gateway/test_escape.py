"""What an agent may try: nothing leaves, each try is counted, the key is nowhere."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import stat
import sys
import traceback
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import pytest
from aiohttp import web

from sweeper.budget import Budget
from sweeper.config.models import LimitsConfig
from sweeper.gateway import Gateway, Protocol, Provider, Try
from sweeper.gateway.routes import Route, find, upstream
from sweeper.gateway.screen import GONE, kept_there, screen
from sweeper.redact import forms
from sweeper.sandbox.contract import SANDBOX_UID
from sweeper.testing.model_script import Say
from tests.gateway.conftest import KEY, MODELS, agent_at, asking, door_for, gateway_before

TOOLS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "messages": (
        [{"name": "Edit", "input_schema": {}}, {"type": "bash_20250124", "name": "bash"}],
        [{"type": "web_search_20250305", "name": "web_search"}, {"type": "web_fetch_20250910", "name": "web_fetch"},
         {"type": "code_execution_20250825", "name": "code_execution"}, {"type": "mcp_toolset", "name": "x"}],
    ),
    "chat": (
        [{"type": "function", "function": {"name": "edit"}}],
        [{"type": "web_search"}, {"type": "code_interpreter"}],
    ),
    "responses": (
        [{"type": "function", "name": "shell"}, {"type": "custom", "name": "apply_patch"},
         {"type": "shell", "environment": {"type": "local"}}],
        [{"type": "web_search"}, {"type": "web_search_preview_2025_03_11"}, {"type": "file_search"},
         {"type": "code_interpreter", "container": {"type": "auto"}}, {"type": "mcp", "server_url": "http://evil"},
         {"type": "computer_use_preview"}, {"type": "image_generation"}, {"type": "shell"}],
    ),
    "generate": (
        [{"functionDeclarations": [{"name": "edit"}]}],
        [{"google_search": {}}, {"googleSearch": {}}, {"urlContext": {}}, {"code_execution": {}}],
    ),
}  # fmt: skip
REMOTE: dict[str, dict[str, Any]] = {
    "messages": {"messages": [{"role": "user", "content": [
        {"type": "image", "source": {"type": "url", "url": "http://evil/a"}},
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
        {"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": "http://evil"}}]},
        {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
    ]}]},
    "chat": {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "https://evil/a"}},
        {"type": "file", "file": {"file_id": "f"}},
        {"type": "image_url", "image_url": {"url": "http://evil"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]}]},
    "responses": {"input": [
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://evil/a"},
                                     {"type": "input_file", "file_url": "https://evil/a", "file_data": "AAAA"},
                                     {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
        {"type": "item_reference", "id": "msg_of_another"},
    ]},
    "generate": {"contents": [{"role": "user", "parts": [
        {"fileData": {"fileUri": "https://evil/a"}},
        {"functionResponse": {"name": "f", "parts": [{"file_data": {"file_uri": "https://evil"}}]}},
        {"inlineData": {"data": "AAAA"}},
        {"fileData": {"fileUri": "gs://evil"}},
    ]}]},
}  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("kind", TOOLS)
async def test_tools_of_the_provider_and_remote_files_are_stripped(kind: str, folder: Path) -> None:
    own, theirs = TOOLS[kind]
    async with gateway_before(lambda asked: Say(), folder) as (gateway, server, _):
        door = await door_for(gateway, kind)
        async with agent_at(door) as agent:
            path, body = asking(kind, tools=own + theirs, tool_choice={"type": "any"})
            body |= REMOTE[kind]
            if kind == "messages":
                body["mcp_servers"] = [{"type": "url", "url": "http://evil"}]
            answered = await agent.post(path, body)
            assert answered.status == 200, answered.body
        sent = server.seen[0].body
        assert sent["tools"] == own
        assert "tool_choice" not in sent
        assert "evil" not in json.dumps(sent)
        assert json.dumps(sent).count(GONE) == 3
        assert "AAAA" in json.dumps(sent), "what came along stays"
        tools = len(theirs) + (kind == "messages")
        assert gateway.meter("a").refused == {Try.REMOTE: 3, Try.TOOL: tools}


@pytest.mark.anyio
async def test_escapes_are_blocked_and_counted(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, server, budget):
        door, other = await door_for(gateway, "messages"), await door_for(gateway, "messages", attempt="b")
        async with agent_at(door) as agent:
            path, body = asking("messages")
            statuses = [
                (await agent.post(path, body, headers={"authorization": f"Bearer {other.token}"})).status,
                (await agent.post(path, body, headers={"authorization": ""})).status,
                (await agent.post(path, body, headers={"authorization": f"Bearer {KEY}"})).status,
                (await agent.post(path, body | {"model": "claude-opus-4-5"})).status,
                (await agent.post(path, body | {"model": None})).status,
                (await agent.post("/v1/files", body)).status,
                (await agent.post("/v1/messages/batches", body)).status,
                (await agent.post("/v1/messages/../files", body)).status,
                (await agent.post(*asking("responses"))).status,
                (await agent.post(path, body, headers={"host": "evil.example"})).status,
                (await agent.post(path, [body])).status,
            ]
            async with agent.session.get(
                "http://localhost/v1/files", headers={"authorization": f"Bearer {door.token}"}
            ) as got:
                statuses.append(got.status)
        assert statuses == [401, 401, 401, 400, 400, 404, 404, 404, 404, 403, 400, 404]
        assert server.seen == []
        assert gateway.meter("a").refused == {
            Try.TOKEN: 3, Try.MODEL: 2, Try.PATH: 5, Try.HOST: 1, Try.BODY: 1,
        }  # fmt: skip
        assert gateway.meter("b").refused == {}, "a stolen token is the thief's try"
        assert gateway.meter("a").requests == budget.spent == 0


@pytest.mark.anyio
@pytest.mark.parametrize("line", [b"GET http://evil.example/v1/models HTTP/1.1", b"CONNECT evil.example:443 HTTP/1.1"])
async def test_the_gateway_is_no_proxy(line: bytes, folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, _, _budget):
        door = await door_for(gateway, "messages")
        reader, writer = await asyncio.open_unix_connection(str(door.socket))
        writer.write(line + b"\r\nHost: evil.example\r\nAuthorization: Bearer " + door.token.encode() + b"\r\n\r\n")
        answer = await reader.readline()
        assert answer.split()[1] in (b"403", b"400")
        writer.close()
        assert gateway.meter("a").refused.get(Try.HOST, 0) + (b"400" in answer) == 1


@pytest.mark.anyio
async def test_a_websocket_is_answered_426(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, _, _budget):
        door = await door_for(gateway, "responses")
        async with agent_at(door) as agent:
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await agent.session.ws_connect("http://localhost/v1/responses")
        assert refused.value.status == 426
        assert gateway.meter("a").refused == {}


@pytest.mark.anyio
async def test_models_are_listed_without_asking_the_provider(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, server, _):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            url = "http://localhost/v1/models"
            async with agent.session.get(url, headers={"x-api-key": door.token}) as answer:
                assert [one["id"] for one in (await answer.json())["data"]] == [MODELS["anthropic"]]
        assert server.seen == []


@pytest.mark.anyio
async def test_a_closed_door_opens_to_nobody(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, _, _budget):
        door = await door_for(gateway, "messages")
        await gateway.close("a")
        async with agent_at(door) as agent:
            with pytest.raises(aiohttp.ClientError):
                await agent.post(*asking("messages"))
        with pytest.raises(KeyError):
            await gateway.close("a")
        assert os.listdir(folder) == []


@pytest.mark.anyio
async def test_a_socket_is_for_the_sandboxs_user_alone(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, _, _budget):
        door = await door_for(gateway, "messages")
        wanted = SANDBOX_UID if os.geteuid() == 0 else os.geteuid()
        for path, mode in ((door.socket, 0o600), (door.socket.parent, 0o700)):
            status = path.stat()
            assert (stat.S_IMODE(status.st_mode), status.st_uid) == (mode, wanted)


CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


@pytest.mark.anyio
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="takes other users' part")
@pytest.mark.parametrize(("uid", "code"), [(SANDBOX_UID, 0), (SANDBOX_UID - 1, 1)])
async def test_roots_sandboxes_reach_their_socket_and_others_do_not(uid: int, code: int, folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, _, _budget):
        door = await door_for(gateway, "messages")
        argv = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", sys.executable, "-c", CONNECT]
        done = await anyio.run_process([*argv, str(door.socket)], check=False)
        assert done.returncode == code, done.stderr


@pytest.mark.anyio
async def test_the_key_is_in_no_log_error_or_repr(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    heard: list[bytes] = []
    async with gateway_before(lambda asked: Say(f"the key is {asked.key}"[:11]), folder) as (gateway, server, _):
        door = await door_for(gateway, "messages")
        shown = [repr(gateway), repr(vars(gateway)), repr(door), repr(gateway.meter("a"))]
        async with agent_at(door) as agent:
            for stream in (False, True):
                path, body = asking("messages", stream=stream)
                answered = await agent.post(path, body)
                heard += [answered.body, json.dumps(answered.headers).encode()]
            heard.append(await _garbage(door.socket))
            server.keys = frozenset({"another"})
            answered = await agent.post(*asking("messages"))
            heard.append(answered.body)
            assert answered.status == 401
        try:
            await gateway.open("c", provider="nope", models=["x"], micro_usd=1)
        except Exception as error:
            shown += traceback.format_exception(error)
    written = b"".join([*heard, *(text.encode() for text in [*shown, caplog.text])])
    assert len(written) > 2000
    for form in forms(KEY.encode()):
        assert form not in written
    assert base64.b64encode(KEY.encode())[:20] not in written
    assert "Fix it." not in caplog.text, "nothing of a body is logged"


async def _garbage(socket: Path) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(socket))
    writer.write(b"POST /v1/messages HTTP/9\r\nFix it.\r\n\r\n")
    data = await reader.read(4096)
    writer.close()
    return data


@pytest.mark.anyio
async def test_a_redirect_is_not_followed(folder: Path) -> None:
    visits: list[str] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        visits.append(request.path)
        return web.Response(status=307, headers={"location": "/elsewhere"})

    server = web.Server(handle)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    provider = Provider("anthropic", url, KEY, Protocol.ANTHROPIC)
    async with Gateway([provider], Budget(LimitsConfig()), folder=folder) as gateway:
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            assert (await agent.post(*asking("messages"))).status == 502
    listener.close()
    await server.shutdown(0.1)
    assert visits == ["/v1/messages"]


def test_references_to_what_the_provider_keeps_are_named() -> None:
    assert kept_there({"previous_response_id": "resp_1"}) == "previous_response_id"
    assert kept_there({"background": False, "cachedContent": None}) == ""


def test_namespaces_of_tools_are_looked_into() -> None:
    inner = {"type": "function", "name": "edit"}
    search = {"type": "tool_search", "execution": "client"}
    space = {"type": "namespace", "name": "n", "tools": [inner, {"type": "mcp"}]}
    body = {"tools": [search, {"type": "tool_search"}, space]}
    route = find("/v1/responses")
    assert route is not None
    assert screen(route, body) == {Try.TOOL: 2}
    assert body["tools"] == [search, {"type": "namespace", "name": "n", "tools": [inner]}]


def test_options_that_change_the_price_are_dropped() -> None:
    route = find("/v1/chat/completions")
    assert route is not None
    body: dict[str, Any] = {"model": "m", "n": 8, "service_tier": "priority", "messages": []}
    assert screen(route, body) == {}
    assert body == {"model": "m", "messages": []}


@pytest.mark.parametrize(
    "path",
    ["/v1/messages/", "//v1/messages", "/V1/messages", "/v1/responses/resp_1", "/v1beta/models/a/b:generateContent",
     "/v1beta/models/x:batchGenerateContent", "/v1/messages%2Fcount_tokens", "/v1beta/models/..:generateContent"],
)  # fmt: skip
def test_paths_that_are_not_offered(path: str) -> None:
    assert find(path) is None


def test_the_providers_address() -> None:
    chat = Route("/v1/chat/completions", Protocol.OPENAI, "chat")
    for base in ("https://h", "https://h/", "https://h/v1", "https://h/v1/"):
        assert upstream(base, chat) == "https://h/v1/chat/completions"
    assert upstream("https://h/api/paas/v4", chat) == "https://h/api/paas/v4/chat/completions"
