"""Answers of status 200 that are none, or only half of one: named for what they are, and never counted too low."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from sweeper.budget import Budget
from sweeper.config.models import LimitsConfig
from sweeper.gateway import Error, Gateway, Meter, Protocol, Provider
from sweeper.testing.model_requests import said_of
from sweeper.testing.model_script import Asked, Fail, Page, Reply, Say
from sweeper.testing.model_server import ModelServer
from sweeper.testing.model_wire import Answer, Counted, events
from tests.gateway.conftest import KEY, MODELS, agent_at, asking, door_for, gateway_before

pytestmark = pytest.mark.anyio
KINDS = ("messages", "chat", "responses", "generate")
PRICES = {"messages": (3.0, 0.3, 3.75, 15.0), "generate": (1.25, 0.125, 1.25, 10.0)}
OPENAI = (5.0, 0.5, 5.0, 30.0)


def truth(kind: str, server: ModelServer) -> float:
    """Micro-dollars that the server counted."""
    tally = server.counted[KEY]
    counts = (tally.input, tally.cached, tally.written, tally.output)
    return sum(price * count for price, count in zip(PRICES.get(kind, OPENAI), counts, strict=True))


async def asked(kind: str, reply: Reply, folder: Path, *, stream: bool = True) -> tuple[Meter, int, float]:
    """One call's meter, status (0: it was cut) and cost by the server's count."""
    async with gateway_before(lambda asked: reply, folder) as (gateway, server, budget):
        door = await door_for(gateway, kind)
        async with agent_at(door) as agent:
            try:
                status = (await agent.post(*asking(kind, stream=stream))).status
            except aiohttp.ClientError:
                status = 0
        meter = await gateway.close("a")
        assert (budget.spent, budget.reserved) == (meter.micro_usd, 0)
        return meter, status, truth(kind, server)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_that_ends_too_early_is_cut(kind: str, folder: Path) -> None:
    meter, status, cost = await asked(kind, Say(tokens=1500, chunks=9, ending="early"), folder)
    assert (status, meter.last_error, meter.failing) == (0, Error.CUT, True)
    assert meter.micro_usd >= cost
    assert meter.estimated_micro_usd > 0


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_without_a_count_costs_all_that_it_may_have(kind: str, stream: bool, folder: Path) -> None:
    meter, status, cost = await asked(kind, Say(tokens=1500, usage=False), folder, stream=stream)
    assert (status, meter.last_error) == (200, None)
    assert meter.micro_usd == meter.estimated_micro_usd >= cost > 0


@pytest.mark.parametrize("usage", [{"prompt_tokens": 0, "completion_tokens": 0}, {}, None, 3])
async def test_a_count_of_nothing_is_no_count(usage: object, folder: Path) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}
    page = Page(json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}), "application/json")
    meter, status, _ = await asked("chat", page, folder, stream=False)
    assert (status, meter.last_error) == (200, None)
    assert meter.micro_usd == meter.estimated_micro_usd > 0


@pytest.mark.parametrize("kind", KINDS)
async def test_an_error_in_mid_stream(kind: str, folder: Path) -> None:
    meter, _, cost = await asked(kind, Say(tokens=1500, chunks=9, ending="error"), folder)
    assert (meter.last_error, meter.failing) == (Error.OVERLOADED, True)
    assert meter.micro_usd >= cost
    assert meter.estimated_micro_usd > 0


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("word", "error", "account"),
    [
        ("overloaded_error", Error.OVERLOADED, None),
        ("rate_limit_exceeded", Error.RATE_LIMIT, None),
        ("insufficient_quota", Error.QUOTA, Error.QUOTA),
        ("context_length_exceeded", Error.CONTEXT_OVERFLOW, None),
        ("invalid_prompt", Error.BAD_REQUEST, None),
        ("content_filter", Error.DECLINED, None),
        ("server_error", Error.SERVER, None),
    ],
)
async def test_an_error_in_the_place_of_an_answer_is_a_refusal_and_costs_nothing(
    kind: str, stream: bool, word: str, error: Error, account: Error | None, folder: Path
) -> None:
    meter, status, _ = await asked(kind, Say("", ending="error", kind=word), folder, stream=stream)
    assert status == 200
    assert (meter.last_error, meter.failing, meter.account) == (error, True, account)
    assert meter.declined is (error is Error.DECLINED)
    assert meter.micro_usd == 0


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", KINDS)
async def test_the_page_of_a_proxy_is_no_answer(kind: str, stream: bool, folder: Path) -> None:
    meter, status, _ = await asked(kind, Page(), folder, stream=stream)
    assert (status, meter.last_error, meter.failing) == (502, Error.UNREACHABLE, True)
    assert meter.micro_usd == meter.estimated_micro_usd > 0, "what stands in between may have asked the provider"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stream_under_another_name_is_counted(kind: str, folder: Path) -> None:
    answer = Answer("m", ("Fixed ", "it."), (), "end", Counted(70, 20, 0, 9))
    body = b"".join(events(kind, answer, with_usage=True)).decode()
    meter, _, _ = await asked(kind, Page(body, "text/plain"), folder)
    assert (meter.last_error, meter.estimated_micro_usd) == (None, 0)
    assert (meter.tokens.total_input, meter.tokens.output) == (90, 9)


async def test_overload_in_a_stream_closes_the_gate_for_everybody(folder: Path) -> None:
    def script(asked: Asked) -> Reply:
        return Say("", ending="error") if asked.number == 1 else Say()

    async with gateway_before(script, folder, jitter=lambda wait: 30.0) as (gateway, server, _):
        first = await door_for(gateway, "messages", "a")
        second = await door_for(gateway, "messages", "b", patience=5.0)
        async with agent_at(first) as agent, agent_at(second) as other:
            await agent.post(*asking("messages", stream=True))
            answered = await other.post(*asking("messages"))
        assert b"parked" in answered.body
        assert len(server.seen) == 1


@pytest.mark.parametrize(("replies", "account"), [("xooo", None), ("ooooox", Error.AUTH), ("oxo", None)])
async def test_an_account_is_refused_by_its_last_word(replies: str, account: Error | None, folder: Path) -> None:
    """A key that is revoked in mid-run; and one request of many that a firewall didn't like."""

    def script(asked: Asked) -> Reply:
        return Say() if replies[asked.number - 1] == "o" else Fail(401, "authentication_error")

    async with gateway_before(script, folder) as (gateway, server, _):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            for _ in replies:
                await agent.post(*asking("messages"))
        meter = await gateway.close("a")
        assert meter.account is account
        assert truth("messages", server) <= meter.micro_usd <= truth("messages", server) + len(replies)


async def test_a_provider_that_counts_no_tokens_is_not_refused(folder: Path) -> None:
    async def nowhere(request: web.Request) -> web.Response:
        said_of("messages", await request.json())
        return web.json_response({"error": "no such path"}, status=404)

    app = web.Application()
    app.router.add_post("/{path:.*}", nowhere)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = "http://{}:{}".format(*runner.addresses[0][:2])
    gateway = Gateway(
        [Provider("anthropic", address, KEY, Protocol.ANTHROPIC)], Budget(LimitsConfig()), folder=folder, slots=4
    )
    async with gateway:
        door = await gateway.open("a", provider="anthropic", models=[MODELS["anthropic"]], micro_usd=5_000_000)
        async with agent_at(door) as agent:
            _, body = asking("messages")
            await agent.post("/v1/messages/count_tokens", body)
            assert gateway.meter("a").account is None
            await agent.post("/v1/messages", body)
            assert gateway.meter("a").account is Error.NO_SUCH_PATH
    await runner.cleanup()
