"""Each protocol, whole and streamed: what comes through, and what the meter says of it."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import time
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from sweeper.gateway import Error, Tokens
from sweeper.gateway.exchange import FINAL
from sweeper.testing.model_script import Asked, Edit, Fail, Hang, Reply, Say, at_first, do, turns
from tests.gateway.conftest import KEY, agent_at, asking, door_for, gateway_before
from tests.waiting import until_true

pytestmark = pytest.mark.anyio
KINDS = ("messages", "chat", "responses", "generate")
# dollars per million tokens: input, cached, written, output
PRICES = {
    "messages": (3.0, 0.3, 3.75, 15.0),
    "chat": (5.0, 0.5, 5.0, 30.0),
    "responses": (5.0, 0.5, 5.0, 30.0),
    "generate": (1.25, 0.125, 1.25, 10.0),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_meter_says_what_the_provider_counted(kind: str, stream: bool, folder: Path) -> None:
    async with gateway_before(lambda asked: Say(tokens=300, chunks=5), folder) as (gateway, server, budget):
        door = await door_for(gateway, kind)
        async with agent_at(door) as agent:
            for results in range(3):
                path, body = asking(kind, stream=stream, text="x" * 4001)
                if results and kind == "messages":  # a turn whose beginning the provider has in its cache
                    result = {"type": "tool_result", "tool_use_id": "t", "content": "y"}
                    body["messages"].append({"role": "user", "content": [result]})
                answered = await agent.post(path, body)
                assert answered.status == 200, answered.body
                assert (b"data: " in answered.body) is stream
        meter = await gateway.close("a")
        tally = server.counted[KEY]
        assert meter.requests == meter.tries == tally.calls == 3
        assert meter.tokens == Tokens(tally.input, tally.cached, tally.written, 0, tally.output)
        assert tally.output == 900
        counts = (tally.input, tally.cached, tally.written, tally.output)
        cost = sum(price * count for price, count in zip(PRICES[kind], counts, strict=True))
        assert cost <= meter.micro_usd <= cost + 3, "each call is rounded up"
        assert meter.estimated_micro_usd == 0
        assert (budget.spent, budget.reserved) == (meter.micro_usd, 0)
        assert meter.refused == {}


async def test_a_stream_is_passed_on_as_it_comes(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(tokens=100, chunks=4, pause=0.1), folder) as (gateway, _, _budget):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            path, body = asking("messages", stream=True)
            headers = {"x-api-key": door.token}
            async with agent.session.post(f"http://localhost{path}", json=body, headers=headers) as answer:
                first = await answer.content.readany()
                assert b"message_start" in first
                assert b"message_stop" not in first
                rest = await answer.content.read()
                assert rest.count(b"content_block_delta") >= 3
                assert b"message_stop" in rest


async def test_chat_streams_are_asked_for_their_usage(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, server, _):
        door = await door_for(gateway, "chat")
        async with agent_at(door) as agent:
            await agent.post(*asking("chat", stream=True))
        assert server.seen[0].body["stream_options"] == {"include_usage": True}
        assert gateway.meter("a").tokens.output > 0


async def test_counting_tokens_costs_nothing(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, _, budget):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            _path, body = asking("messages", limit=None)
            answered = await agent.post("/v1/messages/count_tokens", body)
            assert json.loads(answered.body)["input_tokens"] > 0
        assert (await gateway.close("a")).micro_usd == budget.spent == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_every_form_of_credential_opens_the_door_and_none_leaves(kind: str, folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, server, _):
        door = await door_for(gateway, kind)
        async with agent_at(door) as agent:
            path, body = asking(kind)
            joint = "&" if "?" in path else "?"
            for headers, more in (
                ({"x-api-key": door.token, "authorization": ""}, ""),
                ({"authorization": f"Bearer {door.token}"}, ""),
                ({"x-goog-api-key": door.token, "authorization": ""}, ""),
                ({"authorization": ""}, f"{joint}key={door.token}"),
            ):
                answered = await agent.post(path + more, body, headers=headers)
                assert answered.status == 200
        assert len(server.seen) == 4
        for seen in server.seen:
            assert seen.key == KEY
            assert door.token not in json.dumps([seen.path, seen.headers, seen.body])


FAILURES = [
    (Fail(401, "authentication_error", f"invalid key {KEY}"), 401, Error.AUTH, Error.AUTH),
    (Fail(403, "permission_error", KEY[:10]), 403, Error.AUTH, Error.AUTH),
    (Fail(402, "billing_error"), FINAL, Error.QUOTA, Error.QUOTA),
    (Fail(429, "insufficient_quota", "You exceeded your current quota"), FINAL, Error.QUOTA, Error.QUOTA),
    (Fail(400, "x", "Your credit balance is too low"), FINAL, Error.QUOTA, Error.QUOTA),
    (Fail(404, "not_found_error", "model: nope"), 404, Error.UNKNOWN_MODEL, Error.UNKNOWN_MODEL),
    (Fail(400, "x", "prompt is too long: 250000 tokens > 200000 maximum"), 400, Error.CONTEXT_OVERFLOW, None),
    (Fail(429, "tokens", "Request too large on tokens per min"), FINAL, Error.CONTEXT_OVERFLOW, None),
    (Fail(400, "invalid_request_error", f"bad {KEY}"), 400, Error.BAD_REQUEST, None),
    (Fail(500, "api_error"), 500, Error.SERVER, None),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("fail", "status", "error", "account"), FAILURES)
async def test_failures_are_named_and_cost_nothing(
    kind: str, fail: Fail, status: int, error: Error, account: Error | None, folder: Path
) -> None:
    async with gateway_before(lambda asked: fail, folder) as (gateway, _, budget):
        door = await door_for(gateway, kind)
        async with agent_at(door) as agent:
            answered = await agent.post(*asking(kind))
        assert answered.status == status
        assert "error" in json.loads(answered.body)
        assert KEY[:10].encode() not in answered.body
        assert answered.status != FINAL or b"429" not in answered.body  # some agents go by the body's word
        meter = await gateway.close("a")
        assert (meter.last_error, meter.failing, meter.account) == (error, True, account)
        assert (meter.micro_usd, budget.spent, budget.reserved) == (0, 0, 0)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", KINDS)
async def test_d23_a_refusal_is_known_by_the_providers_own_field(kind: str, stream: bool, folder: Path) -> None:
    refusing = Say("I can't help with that.", stop="refusal")
    talking = Say('I can\'t say "refusal", "content_filter" or "SAFETY".')
    for replies in ((talking, refusing), (refusing, talking)):
        script = functools.partial(lambda replies, asked: replies[asked.number - 1], replies)
        async with gateway_before(script, folder) as (gateway, _, _):
            door = await door_for(gateway, kind)
            async with agent_at(door) as agent:
                for _ in replies:
                    assert (await agent.post(*asking(kind, stream=stream))).status == 200
            assert (await gateway.close("a")).declined is (replies[-1] is refusing)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cut_stream_is_cut_for_the_agent_and_never_costs_less_than_the_truth(kind: str, folder: Path) -> None:
    def script(asked: Asked) -> Reply:
        return Say(tokens=1500, chunks=9, ending="cut") if asked.number == 1 else Say()

    async with gateway_before(script, folder) as (gateway, server, budget):
        door = await door_for(gateway, kind)
        async with agent_at(door) as agent:
            with pytest.raises(Exception, match=r"payload|closed|disconnected|Connection lost"):
                await agent.post(*asking(kind, stream=True))
            assert (await agent.post(*asking(kind, stream=True))).status == 200
        meter = await gateway.close("a")
        tally = server.counted[KEY]
        counts = (tally.input, tally.cached, tally.written, tally.output)
        truth = sum(price * count for price, count in zip(PRICES[kind], counts, strict=True))
        assert meter.micro_usd >= truth
        assert meter.estimated_micro_usd > 0
        assert budget.spent == meter.micro_usd
        assert meter.last_error is Error.CUT
        assert not meter.failing


@pytest.mark.parametrize("reply", [Hang(), Say(tokens=800, chunks=4, ending="stall")])
async def test_closing_the_door_ends_a_call_that_hangs_and_settles_it(reply: Reply, folder: Path) -> None:
    async with gateway_before(lambda asked: reply, folder) as (gateway, server, budget):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            call = asyncio.create_task(agent.post(*asking("messages", stream=True)))
            await until_true(lambda: server.seen, "a call")
            assert budget.reserved > 0
            await asyncio.sleep(0.05)
            meter = await gateway.close("a")
            with pytest.raises(Exception):  # noqa: B017 the agent's end of it
                await call
        assert budget.reserved == 0
        assert meter.micro_usd == budget.spent > 0
        assert meter.estimated_micro_usd > 0
        assert not door.socket.exists()


async def test_an_agent_that_goes_away_is_settled_at_once(folder: Path) -> None:
    async with gateway_before(lambda asked: Hang(), folder) as (gateway, server, budget):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            call = asyncio.create_task(agent.post(*asking("messages")))
            await until_true(lambda: server.seen, "a call")
            call.cancel()
        await until_true(lambda: budget.reserved == 0, "the settling")
        assert gateway.meter("a").estimated_micro_usd == budget.spent > 0


@pytest.mark.parametrize("writing", ["prepare", "write", "write_eof"])
async def test_an_agent_that_goes_away_is_no_failure_of_its_provider(
    writing: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock may end an agent at any moment of an answer, and the class of its end goes by what its provider did."""
    write = getattr(web.StreamResponse, writing)

    async def to_nobody(response: web.StreamResponse, *given: Any) -> Any:
        request = given[0] if writing == "prepare" else response._req
        transport = request.transport if request is not None else None
        assert transport is not None
        if transport.get_extra_info("socket").family == socket.AF_UNIX:  # the agent's, not the provider's
            transport.close()
        return await write(response, *given)

    monkeypatch.setattr(web.StreamResponse, writing, to_nobody)
    async with gateway_before(lambda asked: Say(), folder) as (gateway, _, budget):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            with pytest.raises(aiohttp.ClientError):
                await agent.post(*asking("messages", stream=True))
        meter = await gateway.close("a")
        assert (meter.last_error, meter.failing, budget.reserved) == (None, False, 0)
        assert meter.micro_usd == budget.spent > 0


async def test_the_deadline_ends_a_call(folder: Path) -> None:
    async with gateway_before(lambda asked: Hang(), folder) as (gateway, _, budget):
        door = await door_for(gateway, "messages", deadline=time.time() + 3)
        async with agent_at(door) as agent:
            with pytest.raises(Exception, match=r"closed|disconnected|Connection lost"):
                await agent.post(*asking("messages"))
        assert budget.reserved == 0


async def test_a_provider_that_is_not_there(folder: Path) -> None:
    async with gateway_before(lambda asked: Say(), folder) as (gateway, server, budget):
        door = await door_for(gateway, "messages")
        await server.stop()
        async with agent_at(door) as agent:
            answered = await agent.post(*asking("messages"))
        assert answered.status == 502
        meter = await gateway.close("a")
        assert (meter.last_error, meter.micro_usd, budget.spent) == (Error.UNREACHABLE, 0, 0)


async def test_a_tool_call_for_each_protocol(folder: Path) -> None:
    script = turns(do(Edit("a.py", "old", "new")), Say("Done."))
    schema = {
        "type": "object",
        "properties": {n: {"type": "string"} for n in ("file_path", "old_string", "new_string")},
    }
    offered = {
        "messages": [{"name": "Edit", "input_schema": schema}],
        "chat": [{"type": "function", "function": {"name": "Edit", "parameters": schema}}],
        "responses": [{"type": "custom", "name": "apply_patch"}],
        "generate": [{"functionDeclarations": [{"name": "replace", "parametersJsonSchema": schema}]}],
    }
    async with gateway_before(script, folder) as (gateway, _, _budget):
        for kind, tools in offered.items():
            door = await door_for(gateway, kind, attempt=kind)
            async with agent_at(door) as agent:
                answered = await agent.post(*asking(kind, tools=tools))
                assert answered.status == 200
                assert (b"*** Update File: a.py" if kind == "responses" else b"old_string") in answered.body


async def test_a_first_refusal_is_overcome_unseen_by_the_agent(folder: Path) -> None:
    script = at_first(1, Fail(529, "overloaded_error", retry_after="0"), lambda asked: Say())
    async with gateway_before(script, folder, jitter=lambda wait: 0.01) as (gateway, _, _budget):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            assert (await agent.post(*asking("messages"))).status == 200
        meter = await gateway.close("a")
        assert (meter.requests, meter.tries, meter.last_error) == (1, 2, Error.OVERLOADED)
