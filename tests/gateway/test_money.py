"""Nothing is overspent: attempt, fire and day, however many ask at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.budget import Budget
from sweeper.config.models import LimitsConfig
from sweeper.errors import ConfigError
from sweeper.gateway import Gateway, Meter, Protocol, Provider, Tokens
from sweeper.gateway.limits import clamp, wanted
from sweeper.gateway.prices import PICO, Prices
from sweeper.gateway.routes import Route, find
from sweeper.gateway.spending import ENOUGH, FLOOR, Account, Ask, Hold, NoRoom, Spending
from sweeper.testing.model_script import Asked, Fail, Reply, Say, at_first
from sweeper.testing.model_server import ModelServer
from tests.gateway.conftest import KEY, MODELS, agent_at, asking, door_for, gateway_before

SONNET = Provider("anthropic", "http://127.0.0.1:1", "sk-key-1234567", Protocol.ANTHROPIC)
NO_LIMIT = 10**7


def endless(asked: Asked) -> Reply:
    """As long an answer as the request allows."""
    return Say(tokens=NO_LIMIT) if asked.limit < NO_LIMIT else Say(tokens=64_000)


def truth(server: ModelServer) -> float:
    """Micro-dollars by the server's own count."""
    tally = server.tally(KEY)
    return tally.input * 3 + tally.cached * 0.3 + tally.written * 3.75 + tally.output * 15


@pytest.mark.anyio
async def test_sixteen_attempts_at_once_never_spend_more_than_the_fire_has(folder: Path) -> None:
    async with gateway_before(endless, folder, fire_usd=1.0) as (gateway, server, budget):

        async def attempt(number: int) -> Meter:
            door = await door_for(gateway, "messages", attempt=str(number), micro_usd=2_000_000)
            async with agent_at(door) as agent:
                for turn in range(200):
                    path, body = asking("messages", stream=bool(turn % 2), limit=32_000, text="é" * 900 * (turn + 1))
                    answered = await agent.post(path, body)
                    assert budget.spent + budget.reserved <= 1_000_000
                    if answered.status == 400:
                        assert b"budget is spent" in answered.body
                        break
                    assert answered.status == 200
            return await gateway.close(str(number))

        meters = await asyncio.gather(*map(attempt, range(16)))
        assert 950_000 < truth(server) <= budget.spent <= 1_000_000
        assert {meter.exhausted for meter in meters} == {"limits.usd_per_fire"}
        assert sum(meter.micro_usd for meter in meters) == budget.spent
        assert budget.reserved == 0


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("caps", "limit"),
    [({"micro_usd": 100_000}, "limits.usd_per_attempt"), ({"micro_usd": None, "tokens": 9_000}, "tokens")],
)
async def test_an_attempt_ends_at_its_own_cap(caps: dict[str, Any], limit: str, folder: Path) -> None:
    async with gateway_before(endless, folder) as (gateway, server, _budget):
        door = await door_for(gateway, "messages", attempt="a", **caps)
        async with agent_at(door) as agent:
            answers = [await agent.post(*asking("messages", limit=2000)) for _ in range(6)]
        assert answers[0].status == 200
        assert answers[-1].status == 400
        assert json.loads(answers[-1].body)["error"]["type"] == "invalid_request_error"
        meter = await gateway.close("a")
        assert meter.exhausted == limit
        if caps["micro_usd"]:
            assert 0 < truth(server) <= meter.micro_usd <= 100_000
        else:
            assert sum(meter.tokens) <= 9_000


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["messages", "chat", "responses", "generate"])
@pytest.mark.parametrize("limit", [None, 60_000])
async def test_the_answer_is_cut_to_what_is_left(kind: str, limit: int | None, folder: Path) -> None:
    async with gateway_before(endless, folder) as (gateway, server, _):
        door = await door_for(gateway, kind, micro_usd=60_000)
        async with agent_at(door) as agent:
            assert (await agent.post(*asking(kind, limit=limit))).status == 200
        asked = server.seen[0].asked
        assert asked is not None
        assert FLOOR <= asked.limit < 6_000
        assert gateway.meter("a").micro_usd <= 60_000


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["messages", "responses"])
async def test_a_cut_answer_leaves_room_for_its_retry(kind: str, folder: Path) -> None:
    script = at_first(1, Say(tokens=200, chunks=4, ending="cut"), lambda asked: Say())
    async with gateway_before(script, folder) as (gateway, _, _budget):
        door = await door_for(gateway, kind, micro_usd=500_000)
        async with agent_at(door) as agent:
            path, body = asking(kind, stream=True, limit=32_000, text="x" * 36_000)
            with pytest.raises(aiohttp.ClientError):
                await agent.post(path, body)
            assert (await agent.post(path, body)).status == 200
        assert gateway.meter("a").micro_usd <= 500_000


@pytest.mark.anyio
async def test_a_model_without_a_price_needs_a_cap_on_its_tokens(folder: Path) -> None:
    async with gateway_before(endless, folder) as (gateway, _, budget):
        with pytest.raises(ConfigError, match="no price is known for model 'home-made'"):
            await gateway.open("a", provider="anthropic", models=["home-made"], micro_usd=1_000_000)
        with pytest.raises(ConfigError, match="no key for provider 'nobody'"):
            await gateway.open("a", provider="nobody", models=["home-made"], micro_usd=1_000_000)
        door = await gateway.open("a", provider="anthropic", models=["home-made"], micro_usd=None, tokens=5_000)
        async with agent_at(door) as agent:
            path, body = asking("messages", limit=1500)
            assert (await agent.post(path, body | {"model": "home-made"})).status == 200
        meter = await gateway.close("a")
        assert meter.micro_usd == budget.spent == 0
        assert meter.tokens.output == 1500


def test_two_providers_of_one_name_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="same name"):
        Gateway([SONNET, SONNET], Budget(LimitsConfig()), folder=tmp_path)


def test_prices_of_the_list() -> None:
    prices = Prices()
    rates = prices.rates(SONNET, MODELS["anthropic"], 1000)
    assert rates == (3 * PICO, 300_000, 3_750_000, 6 * PICO, 15 * PICO)
    assert rates.cost(Tokens(49_000, 50_000, 1_000, 0, 1_000)) == 180_750
    large = prices.rates(SONNET, MODELS["anthropic"], 200_001)
    assert large is not None
    assert (large.input, large.output) == (6 * PICO, 22_500_000), "beyond 200,000 tokens of input"
    assert prices.rates(SONNET, MODELS["anthropic"], 200_000) == rates
    assert prices.rates(SONNET, "no-such-model", 1000) is None
    unknown = Provider("home", "http://127.0.0.1:9", "sk-key-1234567", Protocol.OPENAI)
    assert prices.rates(unknown, "gpt-5.5", 1000) is None
    gemini = Provider("gemini", "http://127.0.0.1:9", "sk-key-1234567", Protocol.GEMINI)
    assert prices.rates(gemini, MODELS["google"], 1000) == (1_250_000, 125_000, 1_250_000, 1_250_000, 10 * PICO)


MESSAGES = Route("/v1/messages", Protocol.ANTHROPIC, "messages")


def test_thinking_fits_into_a_clamped_answer() -> None:
    body = {"max_tokens": 32_000, "thinking": {"type": "enabled", "budget_tokens": 20_000}}
    clamp(MESSAGES, body, 8_000, "")
    assert body == {"max_tokens": 8_000, "thinking": {"type": "enabled", "budget_tokens": 4_000}}
    clamp(MESSAGES, body, 1_500, "")
    assert body == {"max_tokens": 1_500}


def test_the_names_of_an_answers_limit() -> None:
    chat = find("/v1/chat/completions")
    generate = find("/v1beta/models/gemini-2.5-pro:generateContent")
    assert chat is not None
    assert generate is not None
    old = {"max_tokens": 50}
    clamp(chat, old, 40, "https://api.openai.com/v1")
    assert old == {"max_tokens": 40}
    for base, name in (("https://api.openai.com/v1", "max_completion_tokens"), ("http://h/v1", "max_tokens")):
        unstated: dict[str, int] = {}
        clamp(chat, unstated, 40, base)
        assert unstated == {name: 40}
    both = {"max_tokens": 30, "max_completion_tokens": 20}
    assert wanted(chat, both) == 20
    clamp(chat, both, 10, "")
    assert set(both.values()) == {10}
    snake = {"generation_config": {"max_output_tokens": 77, "temperature": 0}}
    assert wanted(generate, snake) == 77
    clamp(generate, snake, 9, "")
    assert snake == {"generationConfig": {"max_output_tokens": 9, "temperature": 0}}
    assert wanted(MESSAGES, {"max_tokens": True}) == wanted(MESSAGES, {}) == wanted(MESSAGES, {"max_tokens": -1})


@pytest.mark.anyio
async def test_a_call_waits_for_what_others_merely_hold() -> None:
    rates = Prices().rates(SONNET, MODELS["anthropic"], 10)
    budget = Budget(LimitsConfig(usd_per_fire=0.20))
    spending = Spending(budget)
    first = await spending.reserve(Account(None, None), Ask(10, 12_000, rates), 1)
    assert isinstance(first, Hold)
    waiting = asyncio.create_task(spending.reserve(Account(None, None), Ask(10, 12_000, rates), 30))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    first.metered(Tokens(10, output=100), rates)
    second = await waiting
    assert isinstance(second, Hold)
    assert second.output == ENOUGH, "of 13,000 that fit: a retry would need some too"
    third = await spending.reserve(Account(None, None), Ask(10, 12_000, rates), 0.01)
    assert isinstance(third, Hold), "what is left is enough for a short answer"
    assert FLOOR <= third.output < ENOUGH
    fourth = await spending.reserve(Account(None, None), Ask(10, 12_000, rates), 0.01)
    assert fourth == NoRoom("limits.usd_per_fire")


calls = st.lists(
    st.tuples(st.integers(0, 60_000), st.integers(1, 64_000), st.floats(0, 1), st.sampled_from(["ok", "cut", "no"])),
    max_size=30,
)


@given(calls, st.integers(0, 600_000), st.integers(0, 1_000_000))
def test_held_and_spent_never_pass_a_cap(asks: list[tuple[int, int, float, str]], cap: int, fire: int) -> None:
    rates = Prices().rates(SONNET, MODELS["anthropic"], 10)
    budget = Budget(LimitsConfig(usd_per_fire=fire / 1e6, usd_per_day=0.8))
    account, spending, held = Account(cap, None), Spending(budget), []
    for size, output, share, end in asks:
        got = asyncio.run(spending.reserve(account, Ask(size, output, rates), -1))
        if isinstance(got, Hold):
            assert got.output == output or got.output >= FLOOR
            held.append((got, share, end))
        assert account.spent + account.held_micro_usd <= cap
        assert budget.spent + budget.reserved <= min(fire, 800_000)
        if len(held) > 2:
            hold, share, end = held.pop(0)
            tokens = Tokens(int(hold.input * share), output=int(hold.output * share))
            if end == "ok":
                hold.metered(tokens, rates)
            elif end == "cut":
                hold.unknown(None)
            else:
                hold.free()
            assert hold.settled
    assert account.spent == budget.spent <= min(cap, fire)


@pytest.mark.anyio
@pytest.mark.parametrize(("status", "counted"), [(500, False), (504, True), (529, False)])
async def test_what_timed_out_on_the_way_may_have_been_answered(status: int, counted: bool, folder: Path) -> None:
    refusing = Fail(status, "api_error", "no", retry_after="3600")
    async with gateway_before(lambda asked: refusing, folder) as (gateway, _, budget):
        door = await door_for(gateway, "messages")
        async with agent_at(door) as agent:
            await agent.post(*asking("messages"))
        meter = gateway.meter("a")
    assert (meter.micro_usd > 0) is counted
    assert meter.micro_usd == meter.estimated_micro_usd == budget.spent
