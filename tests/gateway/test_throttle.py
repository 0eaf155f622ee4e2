"""One gate per credential and model: how it closes, halves, opens again, and when it parks."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from sweeper.gateway import Error, Meter, Parked
from sweeper.gateway.failures import LONGEST_WAIT, kind_of, wait_of
from sweeper.gateway.throttle import Pass, Throttle
from sweeper.testing.model_script import Fail, Say, at_first
from tests.gateway.conftest import KEY, agent_at, asking, door_for, gateway_before

SLOTS = 4
BUSY = Fail(429, "rate_limit_error", retry_after="2")


def most_within_a_second(times: list[float]) -> int:
    times = sorted(times)
    return max(sum(1 for at in times if begin <= at < begin + 1) for begin in times)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When each try was let through, epoch seconds; when it arrives is another matter on a busy machine."""
    found: list[float] = []
    enter = Throttle.enter

    async def noting(throttle: Throttle, patience: float, deadline: float) -> Pass | Parked:
        got = await enter(throttle, patience, deadline)
        if isinstance(got, Pass):
            found.append(got.started)
        return got

    monkeypatch.setattr(Throttle, "enter", noting)
    return found


@pytest.mark.anyio
async def test_d02_a_storm_of_refusals_is_waited_out_together(folder: Path, starts: list[float]) -> None:
    script = at_first(SLOTS, BUSY, lambda asked: Say())
    async with gateway_before(script, folder, slots=SLOTS) as (gateway, server, _):

        async def attempt(number: int) -> Meter:
            door = await door_for(gateway, "messages", attempt=str(number))
            async with agent_at(door) as agent:
                answered = await agent.post(*asking("messages"))
                assert answered.status == 200, answered.body
            return await gateway.close(str(number))

        meters = await asyncio.gather(*map(attempt, range(9)))
        assert most_within_a_second(starts) <= SLOTS
        assert server.tally(KEY).statuses[429] == SLOTS
        starts.sort()
        assert starts[SLOTS] - starts[0] >= 2, "nobody else has to find out: who comes later waits as the first do"
        assert server.tally(KEY).calls == 9
        assert all(meter.parked is None and meter.requests == 1 for meter in meters)


@pytest.mark.anyio
@pytest.mark.parametrize("asked", ["3600", "date"])
async def test_d02_a_wait_that_is_longer_than_the_attempt_parks_it(asked: str, folder: Path) -> None:
    now = time.time()
    header = formatdate(now + 3600, usegmt=True) if asked == "date" else asked
    fail = Fail(529, "overloaded_error", retry_after=header)
    async with gateway_before(lambda _: fail, folder) as (gateway, server, budget):
        door, other = await door_for(gateway, "messages"), await door_for(gateway, "messages", attempt="b")
        async with agent_at(door) as agent, agent_at(other) as second:
            answered = await agent.post(*asking("messages"))
            assert answered.status == 400, "final for every agent"
            assert b"parked" in answered.body
            assert (await second.post(*asking("messages"))).status == 400
        meter = await gateway.close("a")
        assert meter.parked is not None
        assert now + 3595 < meter.parked.until < now + 3600 + 400
        assert (meter.last_error, meter.account, meter.micro_usd, budget.spent) == (Error.OVERLOADED, None, 0, 0)
        assert len(server.seen) == 1, "the second one did not have to ask"


@pytest.mark.anyio
async def test_a_wait_beyond_the_deadline_parks(folder: Path) -> None:
    fail = Fail(429, "rate_limit_error", retry_after="40")
    async with gateway_before(lambda _: fail, folder) as (gateway, _, _budget):
        door = await door_for(gateway, "messages", deadline=time.time() + 30)
        async with agent_at(door) as agent:
            assert (await agent.post(*asking("messages"))).status == 400
        assert gateway.meter("a").parked is not None


class Clock:
    """Time that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def enter(throttle: Throttle) -> Pass:
    got = await throttle.enter(60, 10_000)
    assert isinstance(got, Pass)
    return got


def limit_of(throttle: Throttle) -> int:
    return throttle._limit


@pytest.mark.anyio
async def test_a_burst_of_refusals_halves_once_and_successes_open_slowly() -> None:
    clock = Clock()
    throttle = Throttle(8, clock, lambda wait: 0.5)
    burst = [await enter(throttle) for _ in range(8)]
    clock.now += 0.1
    for one in burst:
        throttle.refused(one, 5)
        throttle.leave(one)
    assert limit_of(throttle) == 4
    assert await throttle.enter(4, 10_000) == Parked(1005.6, "the provider asks to wait"), "5 s asked, 0.5 s of jitter"
    assert await throttle.enter(60, 1005) == Parked(1005.6, "the provider asks to wait"), "beyond the deadline"
    clock.now = 1006
    again = await enter(throttle)
    throttle.refused(again, None)
    throttle.leave(again)
    assert limit_of(throttle) == 2
    sizes = []
    for _ in range(60):
        clock.now += 10
        one = await enter(throttle)
        throttle.succeeded()
        throttle.leave(one)
        sizes.append(limit_of(throttle))
    assert sizes == sorted(sizes)
    assert sizes[2] == 2
    assert sizes[3] == 3
    assert sizes[-1] == 8
    assert sizes.index(8) == 2 * (2 + 3 + 4 + 5 + 6 + 7) - 1


@pytest.mark.anyio
async def test_without_a_word_from_the_provider_waits_double() -> None:
    clock = Clock()
    waits: list[float] = []

    def jitter(wait: float) -> float:
        waits.append(wait)
        return 0.01

    throttle = Throttle(2, clock, jitter)
    for _ in range(9):
        clock.now += 1000
        one = await enter(throttle)
        throttle.refused(one, 0.25)
        throttle.leave(one)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


@pytest.mark.anyio
async def test_a_queue_is_served_in_its_order_and_no_more_run_than_may() -> None:
    throttle = Throttle(2, time.time, lambda wait: 0.01)
    order: list[int] = []
    running = [0, 0]

    async def one(number: int) -> None:
        got = await throttle.enter(60, time.time() + 30)
        assert isinstance(got, Pass)
        order.append(number)
        running[0] += 1
        running[1] = max(running)
        await asyncio.sleep(0.002)
        running[0] -= 1
        throttle.leave(got)

    async with asyncio.TaskGroup() as group:
        for number in range(30):
            group.create_task(one(number))
    assert order == list(range(30))
    assert running == [0, 2]


@pytest.mark.anyio
async def test_a_queue_that_is_too_long_parks() -> None:
    throttle = Throttle(1, time.time, lambda wait: 0.01)
    holder = await throttle.enter(60, time.time() + 60)
    assert isinstance(holder, Pass)
    late = await asyncio.gather(*(throttle.enter(60, time.time() + 0.05) for _ in range(3)))
    assert all(isinstance(one, Parked) for one in late)
    throttle.leave(holder)
    assert isinstance(await throttle.enter(60, time.time() + 60), Pass)


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"retry-after": "5"}, b"", 5.0),
        ({"retry-after": " 1.5 "}, b"", 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, b"", 0.25),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT"}, b"", 60.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:00 GMT"}, b"", 0.0),
        ({"retry-after": "soon"}, b"", None),
        ({"retry-after": "-5"}, b"", None),
        ({"retry-after": "999999999999"}, b"", LONGEST_WAIT),
        ({}, b'{"error":{"details":[{"@type":"x"},{"retryDelay":"35s"}]}}', 35.0),
        ({}, b'{"error":{"details":"retryDelay"}}', None),
        ({}, b"retryDelay", None),
        ({}, b"", None),
    ],
)
def test_how_long_a_provider_asks_to_wait(headers: dict[str, str], body: bytes, wait: float | None) -> None:
    assert wait_of(headers, body, 784111777.0) == wait  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, b"You exceeded your current quota, please check your plan and billing details.", Error.QUOTA),
        (429, b'You exceeded your current quota, ... {"retryDelay": "35s"}', Error.RATE_LIMIT),
        (400, b'{"error":{"message":"API key not valid. Please pass a valid API key."}}', Error.AUTH),
        (400, b"This model's maximum context length is 128000 tokens", Error.CONTEXT_OVERFLOW),
        (404, b"", Error.NO_SUCH_PATH),
        (404, b'{"error":{"message":"The model `m` does not exist"}}', Error.UNKNOWN_MODEL),
        (400, b'{"error":{"message":"m is not a valid model ID","code":400}}', Error.UNKNOWN_MODEL),
        (400, b'{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}', Error.UNKNOWN_MODEL),
        (400, b'{"error":{"message":"model features structured outputs not supported"}}', Error.BAD_REQUEST),
        (400, b"You have reached your specified API usage limits. You will regain access on 2026-12-01", Error.QUOTA),
        (429, b'{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}],"retryDelay":"37s"}', Error.QUOTA),
        (400, b'{"message":"API key expired. Please renew the API key.","reason":"API_KEY_INVALID"}', Error.AUTH),
        (400, b"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", Error.CONTEXT_OVERFLOW),
        (413, b'{"error":{"type":"request_too_large","message":"Request exceeds"}}', Error.CONTEXT_OVERFLOW),
        (429, b"Request too large for m on tokens per min (TPM): Limit 9, Requested 10", Error.CONTEXT_OVERFLOW),
        (403, b'{"error":{"message":"this model requires moderation and your input was flagged"}}', Error.DECLINED),
        (403, b"your organization is disabled", Error.AUTH),
        (408, b"", Error.SERVER),
        (400, b"Output blocked by content filtering policy", Error.DECLINED),
        (400, b'{"error":{"code":"content_filter","message":"management policy"}}', Error.DECLINED),
        (400, b'{"error":{"message":"messages: at least one message is required"}}', Error.BAD_REQUEST),
        (503, b"", Error.OVERLOADED),
        (502, b"\xff", Error.SERVER),
    ],
)
def test_what_a_refusal_means(status: int, body: bytes, kind: Error) -> None:
    assert kind_of(status, body) is kind


@pytest.mark.anyio
async def test_waiting_for_others_to_finish_needs_no_patience() -> None:
    throttle = Throttle(1, time.time, lambda wait: 0.01)
    holder = await throttle.enter(0.01, time.time() + 30)
    assert isinstance(holder, Pass)
    waiting = asyncio.create_task(throttle.enter(0.01, time.time() + 30))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    throttle.leave(holder)
    assert isinstance(await waiting, Pass)
